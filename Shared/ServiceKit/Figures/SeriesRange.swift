import ObjectStore
import ParseProtocol

/// The stretch of time of a graph and its steps, from the parameters `from`, `to` and `interval` of a function.
package struct SeriesRange: Sendable {
    /// The steps of a graph.
    package enum Interval: String, Sendable {
        case hour, day
        /// Hours that a step has.
        package var hours: Int64 { self == .hour ? 1 : 24 }
    }

    /// The steps that were asked for.
    package let interval: Interval
    /// First hour, a multiple of the interval.
    package let fromHour: Int64
    /// The hour after the last, a multiple of the interval.
    package let toHour: Int64

    /// Points of a graph: almost three years of days, six weeks of hours.
    package static let pointsMax: Int64 = 1000

    /// `to` is now and `from` thirty days or one day before it, unless they are given; both ends' intervals are
    /// included whole.
    /// - Parameter only: the interval that a function has, when it has no choice.
    /// - Throws: `.validationError` (142) for what is not a time or an interval, an empty stretch, or too many points.
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

    /// The day that the stretch begins on.
    package var fromDay: Int64 { fromHour / 24 }
    /// The day after the last.
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

    /// Rows of `bucket`, which is the first hour of an interval, and `total`, by the number of the interval. SQL says
    /// `hour - hour % ?` and does not divide, since not every engine gives a whole number then
    /// (docs/postgresql-engines.md).
    /// - Throws: `StoreError` for rows that have other columns.
    package func values(byFirstHour rows: [SQLRow]) throws -> [Int64: Int64] {
        Dictionary(
            try rows.map { try ($0.int("bucket") / interval.hours, $0.int("total")) },
            uniquingKeysWith: { _, last in last })
    }

    /// Rows of `bucket` and `total`.
    /// - Throws: `StoreError` for rows that have other columns.
    package static func values(_ rows: [SQLRow]) throws -> [Int64: Int64] {
        Dictionary(try rows.map { try ($0.int("bucket"), $0.int("total")) }, uniquingKeysWith: { _, last in last })
    }
}
