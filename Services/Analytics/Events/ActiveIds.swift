import ObjectStore
import ParseProtocol
import ServiceKit

/// The ids of active users and devices by day: exact sets for about a year, daily counts for longer.
package enum ActiveIds {
    enum Kind: Int64, CaseIterable {
        case users = 0
        case installations = 1
    }

    /// Maximum different ids per day and kind. Clients choose installation ids; beyond this limit a day's figure no
    /// longer grows.
    private static let idsMax: Int64 = 1_000_000
    /// Days for which sets are kept, a year and a month: enough to compare with the same week of last year.
    static let daysKept: Int64 = 400

    static func add(_ id: String, _ kind: Kind, day: Int64, in transaction: StoreTransaction) throws {
        let isNew =
            try transaction.execute(
                """
                INSERT INTO activeIds(kind, day, id) SELECT ?1, ?2, ?3
                WHERE coalesce((SELECT count FROM activeDays WHERE kind = ?1 AND day = ?2), 0) < ?4
                ON CONFLICT(kind, day, id) DO NOTHING
                """,
                [.int(kind.rawValue), .int(day), .text(id), .int(idsMax)]) > 0
        guard isNew else { return }
        _ = try transaction.execute(
            """
            INSERT INTO activeDays(kind, day, count) VALUES (?, ?, 1) ON CONFLICT(kind, day) \
            DO UPDATE SET count = activeDays.count + 1
            """,
            [.int(kind.rawValue), .int(day)])
        try VisitLog.add(id, kind, day: day, in: transaction)
    }

    /// Replaces a deleted account's id with a random name: past figures stay, and no longer identify the user.
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        let name = "deleted:\(Names.random(20))"
        _ = try transaction.execute(
            """
            UPDATE activeIds SET id = ?1 WHERE kind = ?2 AND id = ?3
            AND day IN (SELECT day FROM activeDays WHERE kind = ?2)
            """,
            [.text(name), .int(Kind.users.rawValue), .text(userId)])
        try VisitLog.forget(userId, as: name, in: transaction)
    }

    /// Ids per day.
    static func days(_ kind: Kind, _ range: SeriesRange, _ reader: StoreReader) throws -> [Int64: Int64] {
        try SeriesRange.values(
            try reader.rows(
                "SELECT day AS bucket, count AS total FROM activeDays WHERE kind = ? AND day >= ? AND day < ?",
                [.int(kind.rawValue), .int(range.fromDay), .int(range.toDay)]))
    }

    /// Periods within which an id counts once.
    enum Period {
        /// Starts on Monday; 1 January 1970 was a Thursday.
        case week
        /// The first day of the calendar month.
        case month
        /// The whole range.
        case range

        fileprivate func firstDay(_ dialect: Dialect) -> String {
            switch self {
            case .week: "day - (day + 3) % 7"
            case .month: dialect.startOfMonth(of: "day")
            case .range: "0"
            }
        }
    }

    /// Different ids per period, by the period's first day.
    static func unique(
        _ kind: Kind, per period: Period, _ range: SeriesRange, _ reader: StoreReader
    ) throws -> [Int64: Int64] {
        try SeriesRange.values(
            try reader.rows(
                """
                SELECT \(period.firstDay(reader.dialect)) AS bucket, count(DISTINCT id) AS total FROM activeIds
                WHERE kind = ? AND day >= ? AND day < ? GROUP BY 1
                """,
                [.int(kind.rawValue), .int(range.fromDay), .int(range.toDay)]))
    }
}
