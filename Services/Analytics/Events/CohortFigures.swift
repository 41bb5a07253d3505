import ObjectStore
import ParseProtocol
import ServiceKit

/// Retention cohorts: users or devices whose first visit fell into the same day or week, and how many of them returned
/// in each later one. Parsed from the parameters of a function.
package struct CohortFigures: Sendable {
    private enum Interval: String {
        case day, week

        /// The number of the period that contains a day.
        func period(of day: Int64) -> Int64 { self == .day ? day : Visits.week(of: day) }
        func firstDay(of period: Int64) -> Int64 { self == .day ? period : Visits.day(ofWeek: period) }
        /// SQL for the first day of the period that contains `firstDay`, and for the bits of `Visits`.
        var cohort: String { self == .day ? "firstDay" : "firstDay - (firstDay + 3) % 7" }
        var bits: String { self == .day ? "days" : "weeks" }
    }

    private let kind: ActiveIds.Kind
    private let interval: Interval
    /// Maximum later periods that are counted.
    private let periods: Int64
    /// The periods of the first visits; the last one may be incomplete.
    private let cohorts: Range<Int64>
    private let now: Int64
    private let zone: ShopZone

    /// Maximum cohorts of an answer.
    package static let cohortsMax: Int64 = 62

    /// - Throws: `.validationError` (142) for an invalid kind, interval or number of periods, for more cohorts than an
    ///   answer may have, and for cohorts whose returns are no longer stored.
    package init(_ parameters: JSON, zone: ShopZone = .utc, now: Timestamp = .now) throws {
        self.zone = zone
        kind = try Self.kind(parameters["kind"])
        switch parameters["interval"] ?? .null {
        case .null, "week": interval = .week
        case "day": interval = .day
        default: throw ParseError(.validationError, "interval must be day or week.")
        }
        periods = try Self.periods(parameters["periods"])
        let range = try SeriesRange(parameters, only: .day, zone: zone, now: now)
        let today = zone.day(of: now)
        self.now = interval.period(of: today)
        guard range.fromDay >= today - ActiveIds.daysKept else {
            throw ParseError(
                .validationError, "from must be at most \(ActiveIds.daysKept) days ago: ids expire then.")
        }
        let first = interval.period(of: range.fromDay)
        cohorts = first..<max(first, min(interval.period(of: range.toDay - 1), self.now) + 1)
        guard Int64(cohorts.count) <= Self.cohortsMax else {
            throw ParseError(
                .validationError, "from and to must be at most \(Self.cohortsMax) of one \(interval) apart.")
        }
    }

    private static func kind(_ value: JSON?) throws -> ActiveIds.Kind {
        switch value ?? .null {
        case .null, "installations": return .installations
        case "users": return .users
        default: throw ParseError(.validationError, "kind must be installations or users.")
        }
    }

    private static func periods(_ value: JSON?) throws -> Int64 {
        guard let value, !value.isNull else { return 12 }
        guard let count = value.intValue, (1...Visits.laterMax).contains(count) else {
            throw ParseError(.validationError, "periods must be a whole number from 1 to \(Visits.laterMax).")
        }
        return count
    }

    /// Every cohort of the range, including empty ones, oldest first.
    package func all(_ reader: StoreReader) throws -> JSON {
        let sums = (1...periods).map { "sum((\(interval.bits) >> \($0)) & 1) AS p\($0)" }.joined(separator: ", ")
        let rows = try reader.rows(
            """
            SELECT \(interval.cohort) AS cohort, count(*) AS size, \(sums) FROM visits
            WHERE kind = ? AND firstDay >= ? AND firstDay < ? GROUP BY 1
            """,
            [
                .int(kind.rawValue), .int(interval.firstDay(of: cohorts.lowerBound)),
                .int(interval.firstDay(of: cohorts.upperBound)),
            ])
        let byCohort = Dictionary(
            try rows.map { (interval.period(of: try $0.int("cohort")), $0) }, uniquingKeysWith: { first, _ in first })
        var answer: JSON = [
            "kind": kind == .users ? "users" : "installations", "interval": .string(interval.rawValue),
            "cohorts": .array(try cohorts.map { try cohort($0, byCohort[$0]) }),
            "complete": .bool(try VisitLog.hasRoom(kind, reader)),
        ]
        answer["since"] = try reader.rows(
            "SELECT min(firstDay) AS day FROM visits WHERE kind = ?", [.int(kind.rawValue)]
        ).first?["day"].intValue.map(moment)
        return answer
    }

    /// - Parameter row: nil when the cohort is empty.
    private func cohort(_ period: Int64, _ row: SQLRow?) throws -> JSON {
        let begun = max(0, min(periods, now - period))
        return [
            "at": moment(interval.firstDay(of: period)), "size": .int(try row?.int("size") ?? 0),
            "returned": .array(try (0..<begun).map { .int(try row?.int("p\($0 + 1)") ?? 0) }),
        ]
    }

    private func moment(_ day: Int64) -> JSON { zone.start(ofDay: day).wire }
}
