import ObjectStore
import ParseProtocol

/// The time range of a graph and its steps, from a function's parameters `from`, `to` and `interval`.
package struct SeriesRange: Sendable {
    /// The steps of a graph.
    package enum Interval: String, Sendable {
        case hour, day
        /// Hours per step.
        package var hours: Int64 { self == .hour ? 1 : 24 }
    }

    /// The requested step.
    package let interval: Interval
    /// First hour, a multiple of the interval.
    package let fromHour: Int64
    /// The hour after the last, a multiple of the interval.
    package let toHour: Int64

    /// Limit of points per graph: almost three years of days, six weeks of hours.
    package static let pointsMax: Int64 = 1000

    /// Defaults: `to` is now, and `from` is 30 days (interval `day`) or one day (`hour`) before it. The intervals that
    /// contain the two ends are included completely.
    /// - Parameter only: the interval of a function that offers no choice.
    /// - Throws: `.validationError` (142) for an invalid time or interval, an empty range, or too many points.
    package init(_ parameters: JSON, only: Interval? = nil, now: Timestamp = .now) throws {
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
        let step = interval.hours
        fromHour = Hour(of: from).number / step * step
        toHour = (Hour(of: Timestamp(milliseconds: to.milliseconds - 1)).number / step + 1) * step
        guard (toHour - fromHour) / step <= Self.pointsMax else {
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

    /// The day of the first hour.
    package var fromDay: Int64 { fromHour / 24 }
    /// The day after the last one.
    package var toDay: Int64 { (toHour + 23) / 24 }

    /// The numbers of the intervals: hours or days since 1970.
    package var buckets: Range<Int64> { (fromHour / interval.hours)..<(toHour / interval.hours) }

    /// The beginning of an interval.
    package func moment(of bucket: Int64) -> Timestamp {
        Timestamp(milliseconds: bucket * interval.hours * Hour.milliseconds)
    }

    /// A value for every interval, 0 where nothing was counted.
    package func points(_ values: [Int64: Int64]) -> JSON {
        .array(buckets.map { ["at": moment(of: $0).wire, "value": .int(values[$0] ?? 0)] })
    }

    /// The totals by interval number, from rows of `bucket`, the first hour of an interval, and `total`. The SQL uses
    /// `hour - hour % ?` instead of a division (docs/internals/sql.md).
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
