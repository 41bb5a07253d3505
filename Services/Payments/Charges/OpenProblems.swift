import Logging
import ObjectStore
import ParseProtocol

/// The reasons for which charges and refunds are still undecided: the operator sees each beside its charge or refund.
/// Removed when it is decided.
enum OpenProblems {
    /// Enough for a reason and the provider's request id.
    private static let textMax = 300

    /// Notes that an attempt decided nothing. That the note itself cannot be stored only costs the note.
    static func note(_ operationId: String, _ error: any Error, in store: ClassStore, _ logger: Logger) async {
        do {
            try await store.write {
                _ = try $0.execute(
                    """
                    INSERT INTO openProblems(operationId, attempts, problem, changedAt) VALUES (?, 1, ?, ?)
                    ON CONFLICT(operationId) DO UPDATE SET attempts = openProblems.attempts + 1,
                    problem = excluded.problem,
                    changedAt = excluded.changedAt
                    """,
                    [
                        .text(operationId), .text(String("\(error)".prefix(textMax))), .int($0.now.milliseconds),
                    ])
            }
        } catch {
            logger.error("A problem could not be noted.", metadata: ["error": "\(error)"])
        }
    }

    static func clear(_ operationId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM openProblems WHERE operationId = ?", [.text(operationId)])
    }
}
