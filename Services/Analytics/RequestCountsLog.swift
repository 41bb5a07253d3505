import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// API requests per hour by target, verb, client and outcome, as counted by the gateway.
package enum RequestCountsLog {
    /// Maximum lines of a message, twice what the gateway sends.
    private static let linesMax = 50_000
    /// Maximum different targets per hour. The gateway folds unknown class names, so only many gateways together reach
    /// this.
    private static let targetsMax: Int64 = 1000
    /// Keeps sums over years within 64 bits.
    private static let countMax: UInt64 = 1_000_000_000_000

    /// Adds a gateway's counts, once per report number. Gateways count per hour of UTC; such an hour counts as the one
    /// that contains its middle.
    package static func add(
        _ report: RequestCounts, zone: ShopZone = .utc, in transaction: StoreTransaction
    ) throws {
        guard report.counts.count <= linesMax, let sequence = Int64(exactly: report.sequence) else {
            throw ParseError(.invalidJSON, "The counts of requests cannot be read.")
        }
        let isNew =
            try transaction.execute(
                """
                INSERT INTO requestReports(gateway, sequence, seenAt) VALUES (?1, ?2, ?3) ON CONFLICT(gateway)
                DO UPDATE SET sequence = ?2, seenAt = ?3 WHERE requestReports.sequence < ?2
                """,
                [.text(report.gateway), .int(sequence), .int(transaction.now.milliseconds)]) > 0
        guard isNew else { return }
        let latest = Hour(of: transaction.now).number
        for line in report.counts {
            let middle = min(max(0, line.hour), latest) * Hour.milliseconds + Hour.milliseconds / 2
            let hour = Hour(number: zone.hour(of: Timestamp(milliseconds: middle)))
            _ = try transaction.execute(
                """
                INSERT INTO requestHours(hour, target, verb, deviceType, sdk, statusClass, count) \
                VALUES (?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT(hour, target, verb, deviceType, sdk, statusClass) \
                DO UPDATE SET count = requestHours.count + excluded.count
                """,
                [
                    .int(hour.number), .text(try admitted(line.target, hour, in: transaction)), .text(line.verb),
                    .text(line.deviceType), .text(line.sdk), .int(Int64(line.statusClass)),
                    .int(Int64(min(line.count, countMax))),
                ])
        }
    }

    private static func admitted(_ target: String, _ hour: Hour, in transaction: StoreTransaction) throws -> String {
        let isKnown =
            try !transaction.rows(
                "SELECT 1 FROM requestHours WHERE hour = ? AND target = ? LIMIT 1", [.int(hour.number), .text(target)]
            ).isEmpty
        if isKnown { return target }
        return try Cardinality.admits(
            "targets of hour \(hour.number)", day: hour.day, maximum: targetsMax, in: transaction)
            ? target : Cardinality.other
    }

    /// The properties by which requests can be grouped, and the column of each.
    enum Grouping: String, CaseIterable {
        case className = "class"
        case verb, deviceType, sdk

        var column: String { self == .className ? "target" : rawValue }
    }

    /// Requests per group, the most frequent first, with the number of failures.
    static func groups(
        by grouping: Grouping, _ range: SeriesRange, limit: Int64, _ reader: StoreReader
    ) throws -> [JSON] {
        try reader.rows(
            """
            SELECT \(grouping.column) AS name, sum(count) AS total,
            sum(CASE WHEN statusClass >= 4 THEN count ELSE 0 END) AS failed
            FROM requestHours WHERE hour >= ? AND hour < ? GROUP BY 1 ORDER BY total DESC, name LIMIT ?
            """,
            [.int(range.fromHour), .int(range.toHour), .int(limit)]
        ).map { row in
            try .object([
                grouping.rawValue: .string(row.text("name")), "count": .int(row.int("total")),
                "failed": .int(row.int("failed")),
            ])
        }
    }

    static func series(_ range: SeriesRange, _ reader: StoreReader) throws -> [Int64: Int64] {
        try range.values(
            byFirstHour: try reader.rows(
                """
                SELECT \(range.firstHour) AS bucket, sum(count) AS total FROM requestHours \
                WHERE hour >= ? AND hour < ? \
                GROUP BY 1
                """,
                [.int(range.fromHour), .int(range.toHour)]))
    }
}
