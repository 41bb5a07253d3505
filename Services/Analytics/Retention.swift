import ObjectStore
import ParseProtocol
import ServiceKit

/// Removes expired data, one day's worth at a time, so that no write waits for it.
package struct Retention: Sendable {
    let store: ClassStore
    /// Maximum size of the file in bytes, beyond which the oldest events are removed.
    let logBytesMax: Int

    static let pause = Duration.seconds(3600)
    /// Roll-ups of events and sales are kept for five years.
    private static let rollUpDays: Int64 = 5 * 366
    /// Requests have many lines per hour and are kept for two years.
    private static let requestDays: Int64 = 2 * 366
    /// Names are limited per day, and events may arrive thirty days late.
    private static let cardinalityDays: Int64 = 40

    /// Removes one day's worth, or part of the excess.
    /// - Returns: whether more may remain.
    func removeSome() async throws -> Bool {
        if try await store.write(for: nil, { try Self.removeOldest($0) }) { return true }
        let today = Hour(of: .now).day
        let stale = try await store.read(for: nil) { try VisitLog.stale(today: today, $0) }
        if !stale.isEmpty {
            try await store.write(for: nil) { try VisitLog.remove(stale, today: today, in: $0) }
            return true
        }
        return try await store.write(for: nil) { [logBytesMax] in try EventLog.shrink(to: logBytesMax, in: $0) }
    }

    /// Removes the oldest expired day of each table; true when it found any.
    package static func removeOldest(_ transaction: StoreTransaction) throws -> Bool {
        let today = Hour(of: transaction.now).day
        var removed = 0
        for kind in ActiveIds.Kind.allCases {
            removed += try transaction.execute(
                """
                DELETE FROM activeIds WHERE kind = ?1 AND day < ?2 AND day = (SELECT min(day) FROM activeIds \
                WHERE kind = ?1)
                """,
                [.int(kind.rawValue), .int(today - ActiveIds.daysKept)])
        }
        removed += try transaction.execute(
            "DELETE FROM cardinality WHERE day < ? AND day = (SELECT min(day) FROM cardinality)",
            [.int(today - cardinalityDays)])
        removed += try transaction.execute(
            "DELETE FROM requestHours WHERE hour < ? AND hour = (SELECT min(hour) FROM requestHours)",
            [.int((today - requestDays) * 24)])
        removed += try PushTaps.removeOld(transaction)
        for (table, column, oldest) in [
            ("eventHours", "hour", (today - rollUpDays) * 24), ("dimensionDays", "day", today - rollUpDays),
            ("salesHours", "hour", (today - rollUpDays) * 24),
            ("pushOpens", "lastAt", (today - ActiveIds.daysKept) * 24 * Hour.milliseconds),
            ("requestReports", "seenAt", (today - cardinalityDays) * 24 * Hour.milliseconds),
        ] {
            _ = try transaction.execute("DELETE FROM \(table) WHERE \(column) < ?", [.int(oldest)])
        }
        return removed > 0
    }
}
