import ObjectStore
import ParseProtocol
import Synchronization

/// The book of what became of the outbox's messages: outcomes of deliveries to several services are stored together,
/// in one commit.
///
/// A message is delivered once its receiver has said so; until that is stored here it might be sent again, which the
/// receiver recognises. So nothing is lost by waiting a moment for others' outcomes.
final class OutboxBook: Sendable {
    /// The outcome of a message.
    enum Outcome: Sendable, Equatable {
        case delivered
        case again(after: Duration, problem: String)
        /// Not sent, and nobody's now (`RowClaim`): due as it was.
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
    private let state = Mutex(State())
    private let urgency = WakeUp()

    /// The services that hear of one order answer within some milliseconds of each other; in twenty a busy shop makes
    /// some orders more, which then travel and are struck off together.
    private static let gathering = Duration.milliseconds(20)

    init(store: ClassStore) { self.store = store }

    /// Stores the outcomes, and returns when that is committed.
    /// - Parameter isUrgent: somebody waits for it, so that it does not wait for others.
    /// - Throws: what the store throws; then nothing of it was kept.
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
            try await store.write { transaction in
                for (id, outcome) in outcomes {
                    switch outcome {
                    case .delivered:
                        _ = try transaction.execute("DELETE FROM outbox WHERE id = ?", [.int(id)])
                    case .again(let after, let problem):
                        _ = try transaction.execute(
                            "UPDATE outbox SET attempts = attempts + 1, dueAt = ?, lastProblem = ? WHERE id = ?",
                            [.int(transaction.now.advanced(by: after).milliseconds), .text(problem), .int(id)])
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
