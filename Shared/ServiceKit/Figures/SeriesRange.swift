import ObjectStore
import ParseProtocol

/// The time range of a graph and its steps, from a function's parameters `from`, `to` and `interval`. Days are those of
/// the shop's time zone.
package struct SeriesRange: Sendable {
    /// The steps of a graph.
    package enum Interval: String, Sendable {
        case hour, day
        /// Hours per step.
        package var hours: Int64 { self == .hour ? 1 : 24 }
    }

    /// The requested step.
    package let interval: Interval
    /// The numbers of the intervals: hours or days since 1970.
    package let buckets: Range<Int64>
    /// First hour, at which the first interval begins.
    package let fromHour: Int64
    /// The hour after the last interval.
    package let toHour: Int64
    /// The day of the first hour.
    package let fromDay: Int64
    /// The day after the last one.
    package let toDay: Int64
    private let zone: ShopZone

    /// Limit of points per graph: almost three years of days, six weeks of hours.
    package static let pointsMax: Int64 = 1000

    /// Defaults: `to` is now, and `from` is 30 days (interval `day`) or one day (`hour`) before it. The intervals that
    /// contain the two ends are included completely.
    /// - Parameters:
    ///   - only: the interval of a function that offers no choice.
    ///   - zone: decides where days begin.
    /// - Throws: `.validationError` (142) for an invalid time or interval, an empty range, or too many points.
    package init(_ parameters: JSON, only: Interval? = nil, zone: ShopZone, now: Timestamp = .now) throws {
        if let only {
            interval = only
        } else {
            switch parameters["interval"] {
            case nil, .null?: interval = .day
            case .string(let text)?:
                guard let interval = Interval(rawValue: text) else { fallthrough }
                self.interval = interval
            default: throw ParseError(.validationError, "interval must be hour or day.")
            }
        }
        let to = try Self.moment("to", parameters) ?? now
        let standard = Duration.seconds(interval == .hour ? 86_400 : 30 * 86_400)
        let from = try Self.moment("from", parameters) ?? to.advanced(by: .zero - standard)
        guard from < to else { throw ParseError(.validationError, "from must be before to.") }
        guard from.milliseconds >= 0 else { throw ParseError(.validationError, "from must be after 1970.") }
        let last = Timestamp(milliseconds: to.milliseconds - 1)
        self.zone = zone
        fromDay = zone.day(of: from)
        toDay = max(fromDay, zone.day(of: last)) + 1
        if interval == .hour {
            fromHour = zone.hour(of: from)
            toHour = zone.hour(of: last) + 1
        } else {
            fromHour = zone.hours(ofDay: fromDay).lowerBound
            toHour = max(fromHour, zone.hours(ofDay: toDay).lowerBound)
        }
        buckets = interval == .hour ? fromHour..<toHour : fromDay..<toDay
        guard Int64(buckets.count) <= Self.pointsMax else {
            throw ParseError(
                .validationError, "from and to must be at most \(Self.pointsMax) intervals of one \(interval) apart.")
        }
    }

    private static func moment(_ name: String, _ parameters: JSON) throws -> Timestamp? {
        guard let value = parameters[name], !value.isNull else { return nil }
        guard let moment = (value.wireType == "Date" ? value["iso"] : value)?.stringValue.flatMap(Timestamp.init(iso:))
        else { throw ParseError(.validationError, "\(name) must be a Date.") }
        return moment
    }

    /// The beginning of an interval.
    package func moment(of bucket: Int64) -> Timestamp {
        interval == .hour ? zone.start(ofHour: bucket) : zone.start(ofDay: bucket)
    }

    /// A value for every interval, 0 where nothing was counted.
    package func points(_ values: [Int64: Int64]) -> JSON {
        .array(buckets.map { ["at": moment(of: $0).wire, "value": .int(values[$0] ?? 0)] })
    }

    /// SQL for the interval of the column `hour`, times the interval's hours. It has no division
    /// (docs/internals/sql.md). Summer time moves an hour to another day, so the offset depends on the hour.
    package var firstHour: String {
        guard interval == .day else { return "hour" }
        let offsets = zone.offsets(during: fromHour..<toHour)
        // An offset ends where the next one begins.
        let cases = zip(offsets, offsets.dropFirst()).map { "WHEN hour < \($1.from) THEN \($0.hours) " }.joined()
        let last = "\(offsets.last?.hours ?? 0)"
        let local = cases.isEmpty ? "(hour + \(last))" : "(hour + CASE \(cases)ELSE \(last) END)"
        return "\(local) - \(local) % 24"
    }

    /// The totals by interval number, from rows of `bucket`, which is `firstHour`, and `total`.
    /// - Throws: `StoreError` for rows that have other columns.
    package func values(byFirstHour rows: [SQLRow]) throws -> [Int64: Int64] {
        Dictionary(
            try rows.map { try ($0.int("bucket") / interval.hours, $0.int("total")) },
            uniquingKeysWith: { _, last in last })
    }

    /// The totals by bucket, from rows of `bucket` and `total`.
    /// - Throws: `StoreError` for rows that have other columns.
    package static func values(_ rows: [SQLRow]) throws -> [Int64: Int64] {
        Dictionary(try rows.map { try ($0.int("bucket"), $0.int("total")) }, uniquingKeysWith: { _, last in last })
    }
}
