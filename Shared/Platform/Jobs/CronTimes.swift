import ParseProtocol

/// The times of a cron line, in UTC: minute, hour, day of the month, month and day of the week. Each field is `*`, a
/// number, a range `a-b`, a step `/n` after `*` or a range, or a list of these separated by commas.
///
/// Months and days of the week may be the first three letters of their English names; Sunday is 0 and 7. If both kinds
/// of days are given, one match is enough, as in Debian's crontab(5).
package struct CronTimes: Hashable, Sendable {
    /// The matching numbers, as bits.
    private let minutes: UInt64
    private let hours: UInt64
    private let days: UInt64
    private let months: UInt64
    private let weekdays: UInt64
    /// Whether a match of one kind of day is enough.
    private let isEitherDay: Bool

    /// There are at most eight years from one 29 February to the next.
    private static let daysMax: Int64 = 8 * 366 + 1
    private static let dayMilliseconds: Int64 = 86_400_000
    private static let bytesMax = 256

    /// - Throws: `.validationError` (142) for an invalid cron line, or a day that never occurs.
    package init(_ line: String) throws(ParseError) {
        let fields = line.prefix(Self.bytesMax + 1).split(separator: " ")
        guard fields.count == 5, line.utf8.count <= Self.bytesMax else { throw Self.invalid }
        minutes = try Self.bits(fields[0], 0...59)
        hours = try Self.bits(fields[1], 0...23)
        days = try Self.bits(fields[2], 1...31)
        months = try Self.bits(fields[3], 1...12, names: "janfebmaraprmayjunjulaugsepoctnovdec")
        let week = try Self.bits(fields[4], 0...7, names: "sunmontuewedthufrisat")
        weekdays = (week | week >> 7) & 0x7F
        isEitherDay = !fields[2].hasPrefix("*") && !fields[4].hasPrefix("*")
        guard first(from: Timestamp(milliseconds: 0)) != nil else { throw Self.invalid }
    }

    private static var invalid: ParseError {
        ParseError(.validationError, "cron must be five fields such as 30 4 * * 1-5, with a day that exists.")
    }

    /// The first matching time at or after a moment; nil when there is none within eight years.
    package func first(from moment: Timestamp) -> Timestamp? {
        // Times are whole minutes; a minute that has begun is in the past.
        let start = Self.roundedUp(moment.milliseconds, to: 60_000)
        let firstDay = Self.roundedDown(start, to: Self.dayMilliseconds)
        for number in 0..<Self.daysMax {
            let day = firstDay + number * Self.dayMilliseconds
            guard fits(Timestamp(milliseconds: day)) else { continue }
            let earliest = max(0, (start - day) / 60_000)
            for minute in earliest..<1440 where Self.has(hours, minute / 60) && Self.has(minutes, minute % 60) {
                return Timestamp(milliseconds: day + minute * 60_000)
            }
        }
        return nil
    }

    private func fits(_ day: Timestamp) -> Bool {
        let date = day.date
        guard Self.has(months, date.month) else { return false }
        // 1 January 1970 was a Thursday.
        let number = Self.roundedDown(day.milliseconds, to: Self.dayMilliseconds) / Self.dayMilliseconds
        let isWeekday = Self.has(weekdays, (number % 7 + 11) % 7)
        let isDay = Self.has(days, date.day)
        return isEitherDay ? isDay || isWeekday : isDay && isWeekday
    }

    private static func has(_ bits: UInt64, _ number: Int64) -> Bool { bits >> UInt64(number) & 1 == 1 }

    private static func roundedDown(_ value: Int64, to unit: Int64) -> Int64 {
        let rest = value % unit
        return value - (rest < 0 ? rest + unit : rest)
    }

    private static func roundedUp(_ value: Int64, to unit: Int64) -> Int64 {
        let down = roundedDown(value, to: unit)
        return down == value ? value : down + unit
    }

    // MARK: Reading

    private static func bits(
        _ field: Substring, _ range: ClosedRange<Int>, names: String = ""
    ) throws(ParseError) -> UInt64 {
        var bits: UInt64 = 0
        for part in field.split(separator: ",", omittingEmptySubsequences: false) {
            let pieces = part.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            var (numbers, isOne) = (range, false)
            if pieces[0] != "*" {
                let ends = pieces[0].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
                guard let first = number(ends[0], range, names), let last = number(ends[ends.count - 1], range, names),
                    first <= last
                else { throw invalid }
                (numbers, isOne) = (first...last, ends.count == 1)
            }
            var step = 1
            if pieces.count == 2 {
                // A step requires `*` or a range.
                guard !isOne, let size = number(pieces[1], 1...range.upperBound, "") else { throw invalid }
                step = size
            }
            for value in stride(from: numbers.lowerBound, through: numbers.upperBound, by: step) {
                bits |= 1 << UInt64(value)
            }
        }
        return bits
    }

    private static func number(_ text: Substring, _ range: ClosedRange<Int>, _ names: String) -> Int? {
        if (1...2).contains(text.utf8.count),
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        {
            return Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
        guard text.utf8.count == 3, let found = names.firstRange(of: text.lowercased()) else { return nil }
        let offset = names.distance(from: names.startIndex, to: found.lowerBound)
        return offset % 3 == 0 ? range.lowerBound + offset / 3 : nil
    }
}
