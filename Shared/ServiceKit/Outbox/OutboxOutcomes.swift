import ObjectStore
import ParseProtocol
import Synchronization

/// Stores the outcomes of outbox messages. Outcomes of deliveries to several services are grouped in one commit.
///
/// A message counts as delivered once its receiver acknowledges it. Until the outcome is stored, the message might be
/// sent again, and the receiver recognises the repetition. So delaying the commit to collect more outcomes is safe.
final class OutboxOutcomes: Sendable {
    /// The outcome of a message.
    enum Outcome: Sendable, Equatable {
        case delivered
        case again(after: Duration, problem: String, isRefusal: Bool)
        /// Not sent, and the lease is released (`RowClaim`): due at its former time.
        case givenBack(dueAt: Int64)
    }

    private struct Page {
        var outcomes: [(id: Int64, outcome: Outcome)] = []
        var waiters: [CheckedContinuation<Void, any Error>] = []
    }

    private struct State {
        var page = Page()
        var isStoring = false
    }

    private let store: ClassStore
    private let parked: ParkedMessages
    private let state = Mutex(State())
    private let urgency = WakeUp()

    /// Time for collecting outcomes. The receivers of one order's messages respond within some milliseconds of each
    /// other. In 20 ms a busy shop makes several orders, whose messages then travel and are removed together.
    private static let gathering = Duration.milliseconds(20)

    init(store: ClassStore, parked: ParkedMessages) {
        self.store = store
        self.parked = parked
    }

    /// Stores the outcomes, and returns when they are committed.
    /// - Parameter isUrgent: true when a task waits for the delivery; then the commit is not delayed.
    /// - Throws: errors of the store; then no outcome was stored.
    func note(_ outcomes: [(id: Int64, outcome: Outcome)], isUrgent: Bool) async throws {
        try await withCheckedThrowingContinuation { (waiter: CheckedContinuation<Void, any Error>) in
            let begins = state.withLock { state -> Bool in
                state.page.outcomes += outcomes
                state.page.waiters.append(waiter)
                defer { state.isStoring = true }
                return !state.isStoring
            }
            if isUrgent { urgency.ring() }
            if begins { Task { await storePages() } }
        }
    }

    private func storePages() async {
        while true {
            await urgency.wait(atMost: Self.gathering)
            let page = state.withLock { state -> Page in
                defer { state.page = Page() }
                return state.page
            }
            let result = await commit(page.outcomes)
            for waiter in page.waiters { waiter.resume(with: result) }
            let isDone = state.withLock { state -> Bool in
                state.isStoring = !state.page.waiters.isEmpty
                return !state.isStoring
            }
            if isDone { return }
        }
    }

    private func commit(_ outcomes: [(id: Int64, outcome: Outcome)]) async -> Result<Void, any Error> {
        do {
            try await store.write(for: nil, seldomFails: true) { [parked] transaction in
                for (id, outcome) in outcomes {
                    switch outcome {
                    case .delivered:
                        _ = try transaction.execute("DELETE FROM outbox WHERE id = ?", [.int(id)])
                    case .again(let after, let problem, let isRefusal):
                        let dueAt = transaction.now.advanced(by: after).milliseconds
                        let refusals = try transaction.rows(
                            """
                            UPDATE outbox SET attempts = attempts + 1, refusals = refusals + ?, dueAt = ?, \
                            lastProblem = ? WHERE id = ? RETURNING refusals
                            """, [.int(isRefusal ? 1 : 0), .int(dueAt), .text(problem), .int(id)]
                        ).first?.int("refusals")
                        if isRefusal, refusals ?? 0 >= ParkedMessages.refusalsMax {
                            try parked.park(id, problem, in: transaction)
                        }
                    case .givenBack(let dueAt):
                        _ = try transaction.execute(
                            "UPDATE outbox SET dueAt = ? WHERE id = ?", [.int(dueAt), .int(id)])
                    }
                }
            }
            return .success(())
        } catch {
            return .failure(error)
        }
    }
}
