import Messages
import ParseProtocol
import Synchronization

/// The gateway's copy of the webhooks that `catalog` keeps. Until it is there nothing that a webhook may have a say in
/// is done: a gateway that has just started must not skip one.
final class HookRegistry: Sendable {
    private struct State {
        var table: HookTable?
        /// The last `table` there was, kept while a change is being made.
        var last: HookTable?
        /// Counts the forgettings; what was under way meanwhile may be old and is not kept.
        var generation = 0
    }

    private let services: ServiceClient
    private let state = Mutex(State())

    init(services: ServiceClient) { self.services = services }

    /// The table as far as it is known without asking; nil before the first answer and while a change is being made.
    var known: HookTable? { state.withLock { $0.table } }

    /// The table that was known last; nil before the first answer only.
    var last: HookTable? { state.withLock { $0.last } }

    /// - Throws: `.serviceUnavailable` (2) while nobody can be asked.
    func table() async throws(ParseError) -> HookTable {
        let (known, generation) = state.withLock { ($0.table, $0.generation) }
        if let known { return known }
        let reply = try await services.read(HookCalls.list, HooksRequest(), for: .init(), trace: RequestIds.next())
        let table = HookTable(try reply.message.hooks)
        state.withLock { state in
            guard state.generation == generation else { return }
            state.table = table
            state.last = table
        }
        return table
    }

    /// After a change, whether it succeeded or nobody knows.
    func forget() {
        state.withLock { state in
            state.table = nil
            state.generation += 1
        }
    }
}
