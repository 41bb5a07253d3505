import Foundation

/// A time in milliseconds since 1970 (UTC): the resolution of Parse dates.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z; negative before.
    public var milliseconds: Int64

    /// The time `milliseconds` after 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// The host's wall clock (CLOCK_REALTIME), which an operator or NTP may set.
    public static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// Parses ISO 8601 of the years 1 to 9999: a date (`2022-01-01`), or a date and a time with or without seconds and
    /// fraction (`2022-01-01T12:23:45.678Z`), in the zone `Z`, `+01:00`, `+0100` or `+01`; UTC if it has no zone.
    /// Decimals after the third are cut off. Nil for anything else.
    public init?(iso text: String) {
        guard let (moment, _) = Timestamp.reading(iso: text) else { return nil }
        self = moment
    }

    /// As `init(iso:)`, and whether the text has a zone.
    package static func reading(iso text: String) -> (moment: Timestamp, hasZone: Bool)? {
        var text = text
        return text.withUTF8(Timestamp.parse)
    }

    /// The form that every Parse client expects: exactly three decimals and `Z`.
    public var iso: String {
        let milliseconds = min(max(milliseconds, Timestamp.earliest), Timestamp.latest)
        let days = (milliseconds - 86_399_999 * (milliseconds < 0 ? 1 : 0)) / 86_400_000
        let (year, month, day) = Timestamp.date(days)
        var rest = milliseconds - days * 86_400_000
        return String(unsafeUninitializedCapacity: 24) { bytes in
            func put(_ value: Int64, _ position: Int, _ digits: Int) {
                var value = value
                for offset in stride(from: digits - 1, through: 0, by: -1) {
                    bytes[position + offset] = UInt8(ascii: "0") + UInt8(value % 10)
                    value /= 10
                }
            }
            put(year, 0, 4)
            bytes[4] = UInt8(ascii: "-")
            put(month, 5, 2)
            bytes[7] = UInt8(ascii: "-")
            put(day, 8, 2)
            bytes[10] = UInt8(ascii: "T")
            put(rest / 3_600_000, 11, 2)
            bytes[13] = UInt8(ascii: ":")
            rest %= 3_600_000
            put(rest / 60_000, 14, 2)
            bytes[16] = UInt8(ascii: ":")
            rest %= 60_000
            put(rest / 1000, 17, 2)
            bytes[19] = UInt8(ascii: ".")
            put(rest % 1000, 20, 3)
            bytes[23] = UInt8(ascii: "Z")
            return 24
        }
    }

    /// The wire form of a Date, `{"__type":"Date","iso":…}`.
    public var wire: JSON { ["__type": "Date", "iso": .string(iso)] }

    /// The day in UTC, by the Gregorian calendar.
    package var date: (year: Int64, month: Int64, day: Int64) {
        let moment = min(max(milliseconds, Timestamp.earliest), Timestamp.latest)
        return Timestamp.date((moment - 86_399_999 * (moment < 0 ? 1 : 0)) / 86_400_000)
    }

    /// The time after `duration`, or before it for a negative one; fractions of a millisecond are cut off.
    public func advanced(by duration: Duration) -> Timestamp {
        Timestamp(
            milliseconds: milliseconds + duration.components.seconds * 1000
                + duration.components.attoseconds / 1_000_000_000_000_000)
    }

    /// Whether `a` is before `b`.
    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }

    private static let earliest: Int64 = -62_135_596_800_000
    private static let latest: Int64 = 253_402_300_799_999
}

// MARK: - Calendar

// In integers: Foundation's ISO 8601 style uses a floating-point date and loses a millisecond.
extension Timestamp {
    private static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> (moment: Timestamp, hasZone: Bool)? {
        var rest = bytes[...]
        guard bytes.count <= 40, let year = number(4, &rest), take("-", &rest), let month = number(2, &rest),
            take("-", &rest), let day = number(2, &rest), year >= 1, (1...12).contains(month), day >= 1
        else { return nil }
        let days = days(year, month, day)
        guard date(days) == (year, month, day) else { return nil }  // 30 February, for example.
        let midnight = days * 86_400_000
        if rest.isEmpty { return (Timestamp(milliseconds: midnight), false) }
        guard take("T", &rest), let time = timeOfDay(&rest) else { return nil }
        let hasZone = !rest.isEmpty
        guard let offset = hasZone ? zoneOffset(&rest) : 0, rest.isEmpty else { return nil }
        let milliseconds = midnight + time - offset
        guard (earliest...latest).contains(milliseconds) else { return nil }
        return (Timestamp(milliseconds: milliseconds), hasZone)
    }

    /// Milliseconds since midnight of `12:23`, `12:23:45` or `12:23:45.678`.
    private static func timeOfDay(_ rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> Int64? {
        guard let hour = number(2, &rest), take(":", &rest), let minute = number(2, &rest), hour < 24, minute < 60
        else { return nil }
        var time = (hour * 60 + minute) * 60_000
        guard take(":", &rest) else { return time }
        guard let second = number(2, &rest), second < 60 else { return nil }
        time += second * 1000
        guard take(".", &rest) else { return time }
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard (1...9).contains(digits.count) else { return nil }
        rest = rest.dropFirst(digits.count)
        var unit: Int64 = 100
        for digit in digits.prefix(3) {
            time += Int64(digit - UInt8(ascii: "0")) * unit
            unit /= 10
        }
        return time
    }

    /// The offset from UTC in milliseconds, of `Z`, `+01:00`, `+0100` or `+01`.
    private static func zoneOffset(_ rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> Int64? {
        if take("Z", &rest) { return 0 }
        let isEast = take("+", &rest)
        guard isEast || take("-", &rest), let hours = number(2, &rest), hours < 24 else { return nil }
        var minutes: Int64 = 0
        if take(":", &rest) || !rest.isEmpty {
            guard let number = number(2, &rest), number < 60 else { return nil }
            minutes = number
        }
        return (hours * 60 + minutes) * (isEast ? 60_000 : -60_000)
    }

    private static func take(_ sign: Unicode.Scalar, _ rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        guard rest.first == UInt8(ascii: sign) else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// The number in exactly this many digits.
    private static func number(_ count: Int, _ rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> Int64? {
        let digits = rest.prefix(count)
        guard digits.count == count else { return nil }
        var value: Int64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        rest = rest.dropFirst(count)
        return value
    }

    /// Converts a date to days since 1970, and back, in the Gregorian calendar with years that begin in March
    /// (https://howardhinnant.github.io/date_algorithms.html); for years from 1 on.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = year / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func date(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
