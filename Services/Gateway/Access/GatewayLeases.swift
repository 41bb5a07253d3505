import MessageBus
import Messages

/// The leases under which a gateway believes what it keeps of services, where there are several gateways.
struct GatewayLeases: Sendable {
    /// Of the sessions, which `users` knows.
    let sessions = KnowledgeLease()
    /// Of webhooks and cloud code, which the catalog knows.
    let hooks = KnowledgeLease()

    var all: [LeasedKnowledge] {
        [
            LeasedKnowledge(service: "users", lease: sessions, all: .with { $0.everything = true }),
            LeasedKnowledge(service: "catalog", lease: hooks, all: .with { $0.hooks = true }),
        ]
    }
}
