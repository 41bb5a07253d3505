import MessageBus
import Messages
import ParseProtocol
import Synchronization

/// The gateway's cache of the catalog's webhooks and cloud code definitions.
///
/// A change invalidates it: the catalog's reply to the client that made the change, as it passes the broker
/// (`Forget.hooks`), and with several gateways the catalog's message to the others before that. Each gateway then
/// trusts its cache only under a lease (docs/guides/gateways.md). Without a valid lease the gateway asks the catalog
/// each time.
final class HookCache: Sendable {
    private struct State {
        var table: HookTable?
        /// The last `table` that was cached; also set while a change is in progress.
        var last: HookTable?
        /// Counts invalidations; a reply that was in flight during one may be stale and is not cached.
        var generation = 0
    }

    private let lease: CacheLease
    private let state = Mutex(State())

    init(lease: CacheLease = .endless) { self.lease = lease }

    /// The current table; nil before the first reply, during a change, and without a lease.
    var cached: HookTable? { find().table }

    /// The last table that was cached; nil only before the first reply.
    var last: HookTable? { state.withLock { $0.last } }

    /// The table, or the generation to pass to `keep`.
    func find() -> (table: HookTable?, generation: Int) {
        state.withLock { (lease.isValid ? $0.table : nil, $0.generation) }
    }

    func keep(_ table: HookTable, generation: Int) {
        state.withLock { state in
            guard state.generation == generation else { return }
            state.table = table
            state.last = table
        }
    }

    /// Called after a change, whether it succeeded or its outcome is unknown.
    func forget() {
        state.withLock { state in
            state.table = nil
            state.generation += 1
        }
    }
}

/// The webhooks and the cloud code. Until the table is cached, no request runs that one of them may affect: a gateway
/// that has just started must not skip a hook.
struct HookRegistry: Sendable {
    let cache: HookCache
    let services: ServiceClient
    var unused: UnusedFunctionsLog?

    /// The current table, if it is cached.
    var cached: HookTable? { cache.cached }

    /// The last table that was cached; nil only before the first reply.
    var last: HookTable? { cache.last }

    /// - Parameter context: of the request that needs the table.
    /// - Throws: `.serviceUnavailable` (2) while the catalog cannot be reached.
    func table(in context: CallContext) async throws(ParseError) -> HookTable {
        let (cached, generation) = cache.find()
        if let cached { return cached }
        let reply = try await services.read(HookCalls.list, HooksRequest(), for: .init(), in: context)
        let message = try reply.message
        let table = HookTable(message.hooks, code: message.code)
        cache.keep(table, generation: generation)
        unused?.note(table)
        return table
    }

    func forget() { cache.forget() }
}
