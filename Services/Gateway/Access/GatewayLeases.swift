import MessageBus
import Messages

/// The leases under which a gateway trusts its caches of other services' data, where there are several gateways.
struct GatewayLeases: Sendable {
    /// Covers sessions, which `users` owns.
    let sessions = CacheLease()
    /// Covers webhooks and cloud code, which the catalog owns.
    let hooks = CacheLease()

    var all: [LeasedCache] {
        [
            LeasedCache(service: "users", lease: sessions, all: .with { $0.everything = true }),
            LeasedCache(service: "catalog", lease: hooks, all: .with { $0.hooks = true }),
        ]
    }
}
