import ObjectStore
import ParseProtocol
import ServiceKit

/// Removes expired counts, some at a time, so that no report waits for it.
package enum CrashRetention {
    static let pause = Duration.seconds(3600)
    /// Rows removed in one transaction.
    private static let removedAtOnce: Int64 = 5000

    /// - Returns: whether more may remain.
    package static func removeSome(in transaction: StoreTransaction) throws -> Bool {
        let today = Hour(of: transaction.now).day
        // West of Greenwich the shop's day may be the one before.
        let forgotten = today - AppSession.daysKnown - 1
        var removed = 0
        for (table, key, oldest) in [
            ("sessionMarks", "day, mark", forgotten), ("issueDays", "issueId, day", today - CrashDays.daysKept),
            ("releaseDays", "projectId, day, release", today - CrashDays.daysKept),
        ] {
            removed += try transaction.execute(
                "DELETE FROM \(table) WHERE (\(key)) IN (SELECT \(key) FROM \(table) WHERE day < ? LIMIT ?)",
                [.int(oldest), .int(removedAtOnce)])
        }
        _ = try transaction.execute("DELETE FROM sessionMarkDays WHERE day < ?", [.int(forgotten)])
        return removed > 0
    }
}
