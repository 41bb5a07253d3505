import MessageBus
import Messages
import ParseProtocol
import Synchronization

/// The gateway's copy of what the catalog keeps about webhooks and cloud code, for as long as it holds.
///
/// A change forgets it: the catalog's reply to whoever made it, as it passes the broker (`Forget.hooks`), and where
/// there are several gateways, what the catalog tells the others before. Then each believes what is here under a lease
/// alone (docs/gateways.md): without one, the catalog is asked each time.
final class HookCache: Sendable {
    private struct State {
        var table: HookTable?
        /// The last `table` there was, kept while a change is being made.
        var last: HookTable?
        /// Counts the forgettings; what was under way meanwhile may be old and is not kept.
        var generation = 0
    }

    private let lease: KnowledgeLease
    private let state = Mutex(State())

    init(lease: KnowledgeLease = .endless) { self.lease = lease }

    /// The table as far as it is known; nil before the first answer, while a change is being made, and without a lease.
    var known: HookTable? { find().table }

    /// The table that was known last; nil before the first answer only.
    var last: HookTable? { state.withLock { $0.last } }

    /// The table, or the generation to give to `keep`.
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

    /// After a change, whether it succeeded or nobody knows.
    func forget() {
        state.withLock { state in
            state.table = nil
            state.generation += 1
        }
    }
}

/// The webhooks and the cloud code there are. Until they are known nothing that one of them may have a say in is done:
/// a gateway that has just started must not skip one.
struct HookRegistry: Sendable {
    let cache: HookCache
    let services: ServiceClient

    /// The table as far as it is known without asking.
    var known: HookTable? { cache.known }

    /// The table that was known last; nil before the first answer only.
    var last: HookTable? { cache.last }

    /// - Throws: `.serviceUnavailable` (2) while nobody can be asked.
    func table() async throws(ParseError) -> HookTable {
        let (known, generation) = cache.find()
        if let known { return known }
        let reply = try await services.read(HookCalls.list, HooksRequest(), for: .init(), trace: RequestIds.next())
        let message = try reply.message
        let table = HookTable(message.hooks, code: message.code)
        cache.keep(table, generation: generation)
        return table
    }

    func forget() { cache.forget() }
}
