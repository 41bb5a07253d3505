/// The days and weeks with a visit of one user or device, from its first day on. Each is one bit, so four numbers are
/// enough, and a day counts once however often it is reported.
package struct Visits: Equatable, Sendable {
    /// Later days and weeks that can be stored: the bits of a number except its sign and the first one.
    package static let laterMax: Int64 = 62

    /// The first day, since 1970.
    package private(set) var firstDay: Int64
    /// The newest day.
    package private(set) var lastDay: Int64
    /// Bit 0 is the first day, bit 1 the day after it.
    package private(set) var days: Int64
    /// Bit 0 is the week of the first day, bit 1 the week after it.
    package private(set) var weeks: Int64

    /// A first visit.
    package init(on day: Int64) { self.init(firstDay: day, lastDay: day, days: 1, weeks: 1) }

    /// A stored record.
    init(firstDay: Int64, lastDay: Int64, days: Int64, weeks: Int64) {
        (self.firstDay, self.lastDay, self.days, self.weeks) = (firstDay, lastDay, days, weeks)
    }

    /// The number of a day's week, starting on Monday; 1 January 1970 was a Thursday.
    package static func week(of day: Int64) -> Int64 { (day + 3) / 7 }

    /// The Monday of a week.
    package static func day(ofWeek week: Int64) -> Int64 { week * 7 - 3 }

    /// Adds a day with a visit. If a late report precedes the first day, all bits are shifted.
    package mutating func add(_ day: Int64) {
        let weeksLater = Self.week(of: day) - Self.week(of: firstDay)
        if day < firstDay {
            days = Self.moved(days, by: firstDay - day) | 1
            weeks = Self.moved(weeks, by: -weeksLater) | 1
            firstDay = day
        } else {
            days |= Self.bit(day - firstDay)
            weeks |= Self.bit(weeksLater)
            lastDay = max(lastDay, day)
        }
    }

    private static func bit(_ place: Int64) -> Int64 { place <= laterMax ? 1 << place : 0 }

    /// Drops the bits beyond the last one.
    private static func moved(_ bits: Int64, by places: Int64) -> Int64 { (bits << places) & .max }
}
