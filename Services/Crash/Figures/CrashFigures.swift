import ObjectStore
import ParseProtocol
import ServiceKit

/// Daily crash counts for operators.
package struct CrashFigures: Sendable {
    private let range: SeriesRange
    private let projectId: Int64?
    private let release: String?

    /// Maximum versions in an answer: those with the most sessions.
    private static let releasesMax: Int64 = 50

    /// - Throws: `.validationError` (142) for an invalid range of days, project or version.
    package init(_ parameters: JSON, zone: ShopZone = .utc, now: Timestamp = .now) throws {
        range = try SeriesRange(parameters, only: .day, zone: zone, now: now)
        projectId = try parameters.textParameter("projectId").map { Int64($0) ?? 0 }
        release = try parameters.textParameter("release", bytesMax: 2000)
    }

    /// Daily reports, and how many of them were fatal; for one issue, or for all.
    package func trend(issueId: Int64?, _ reader: StoreReader) throws -> JSON {
        let columns = ["reports", "crashes"]
        guard let issueId else { return ["points": try points(columns, reader)] }
        let rows = try reader.rows(
            "SELECT day, reports, crashes FROM issueDays WHERE issueId = ? AND day >= ? AND day < ?",
            [.int(issueId), .int(range.fromDay), .int(range.toDay)])
        return ["points": try points(columns, rows)]
    }

    /// Sessions and devices per day and version, and how many of each had a crash.
    package func crashFree(_ reader: StoreReader) throws -> JSON {
        let columns = ["sessions", "crashedSessions", "devices", "crashedDevices"]
        let (condition, arguments) = condition
        let rows = try reader.rows(
            """
            SELECT release, \(Self.sums(columns)) FROM releaseDays WHERE \(condition)
            GROUP BY release HAVING sum(sessions) > 0 ORDER BY sum(sessions) DESC, release LIMIT ?
            """,
            arguments + [.int(Self.releasesMax)])
        let releases = try rows.map { row -> JSON in
            var figures = try Self.figures(columns, row)
            figures["release"] = .string(try row.text("release"))
            return .object(figures)
        }
        return ["points": try points(columns, reader), "releases": .array(releases)]
    }

    // MARK: - Rows

    private var condition: (sql: String, arguments: [SQLValue]) {
        var terms = ["day >= ?", "day < ?"]
        var arguments: [SQLValue] = [.int(range.fromDay), .int(range.toDay)]
        if let projectId {
            terms.append("projectId = ?")
            arguments.append(.int(projectId))
        }
        if let release {
            terms.append("release = ?")
            arguments.append(.text(release))
        }
        return (terms.joined(separator: " AND "), arguments)
    }

    private static func sums(_ columns: [String]) -> String {
        columns.map { "sum(\($0)) AS \($0)" }.joined(separator: ", ")
    }

    private func points(_ columns: [String], _ reader: StoreReader) throws -> JSON {
        let (condition, arguments) = condition
        return try points(
            columns,
            reader.rows(
                "SELECT day, \(Self.sums(columns)) FROM releaseDays WHERE \(condition) GROUP BY day", arguments))
    }

    /// One point per day, including days without counts.
    private func points(_ columns: [String], _ rows: [SQLRow]) throws -> JSON {
        let byDay = Dictionary(try rows.map { (try $0.int("day"), $0) }, uniquingKeysWith: { first, _ in first })
        return .array(
            try range.buckets.map { day in
                var point = try Self.figures(columns, byDay[day])
                point["at"] = range.moment(of: day).wire
                return .object(point)
            })
    }

    private static func figures(_ columns: [String], _ row: SQLRow?) throws -> [String: JSON] {
        Dictionary(uniqueKeysWithValues: try columns.map { ($0, .int(try row?.int($0) ?? 0)) })
    }
}
