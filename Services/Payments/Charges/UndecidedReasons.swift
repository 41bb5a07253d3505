import Logging
import ObjectStore
import ParseProtocol

/// Why charges and refunds are still undecided. Operators see the reason beside the charge or refund. A decision
/// removes it.
enum UndecidedReasons {
    /// Enough for a reason and the provider's request id.
    private static let textMax = 300

    /// Records the reason of an attempt without a decision, unless another attempt or an event decided the operation
    /// meanwhile. A charge that the provider made after it was abandoned is always recorded. A failure to store the
    /// reason is only logged.
    static func note(
        _ operationId: String, _ error: any Error, in store: ClassStore, for share: WorkShare?, _ logger: Logger
    ) async {
        do {
            try await store.write(for: share) {
                let isUndecided =
                    try error is ChargeLedger.LateCharge
                    || !$0.rows(
                        """
                        SELECT 1 AS found FROM charges WHERE operationId = ?1 AND state = 'created'
                        UNION ALL SELECT 1 AS found FROM refunds WHERE operationId = ?1 AND state = 'created'
                        """, [.text(operationId)]
                    ).isEmpty
                guard isUndecided else { return }
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
                // It no longer waits for its customer alone.
                _ = try $0.execute(
                    "UPDATE charges SET awaitsAction = 0 WHERE operationId = ? AND awaitsAction = 1",
                    [.text(operationId)])
            }
        } catch {
            logger.error("The reason of an undecided payment could not be stored.", metadata: ["error": "\(error)"])
        }
    }

    static func clear(_ operationId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM openProblems WHERE operationId = ?", [.text(operationId)])
    }
}
