import Foundation

/// A moment in milliseconds since 1970 (UTC): the resolution of Parse dates.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z; negative before.
    public var milliseconds: Int64

    /// The moment so many milliseconds after 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// The host's time of day (CLOCK_REALTIME), which an operator or NTP may set.
    public static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// Reads ISO 8601 with or without a fraction, in UTC (`2022-01-01T12:23:45.678Z`), of the years 1 to 9999; nil for
    /// anything else. Past the third decimal a fraction is cut off.
    public init?(iso text: String) {
        var text = text
        guard let milliseconds = text.withUTF8(Timestamp.parse) else { return nil }
        self.milliseconds = milliseconds
    }

    /// The form every Parse client expects: exactly three decimals and `Z`.
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

    /// The Date hash of the wire, `{"__type":"Date","iso":…}`.
    public var wire: JSON { ["__type": "Date", "iso": .string(iso)] }

    /// The day in UTC, by the Gregorian calendar.
    package var date: (year: Int64, month: Int64, day: Int64) {
        let moment = min(max(milliseconds, Timestamp.earliest), Timestamp.latest)
        return Timestamp.date((moment - 86_399_999 * (moment < 0 ? 1 : 0)) / 86_400_000)
    }

    /// The moment `duration` later, or earlier for a negative one; less than a millisecond is cut off.
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

// In whole numbers: Foundation's ISO 8601 style goes through a floating-point date and loses a millisecond.
extension Timestamp {
    private static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard (20...30).contains(bytes.count), bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[10] == UInt8(ascii: "T"), bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            bytes[bytes.count - 1] == UInt8(ascii: "Z"),
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]), let day = number(bytes[8..<10]),
            let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
            year >= 1, (1...12).contains(month), day >= 1, hour < 24, minute < 60, second < 60
        else { return nil }
        let days = days(year, month, day)
        guard date(days) == (year, month, day) else { return nil }  // 30 February, for example.
        var milliseconds: Int64 = 0
        if bytes.count > 20 {
            let fraction = bytes[20..<(bytes.count - 1)]
            guard bytes[19] == UInt8(ascii: "."), !fraction.isEmpty, number(fraction) != nil else { return nil }
            for index in 0..<3 {
                let digit = index < fraction.count ? fraction[fraction.startIndex + index] - UInt8(ascii: "0") : 0
                milliseconds = milliseconds * 10 + Int64(digit)
            }
        }
        return ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + milliseconds
    }

    private static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> Int64? {
        var value: Int64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        return value
    }

    /// Days since 1970 of a date, and back, in the Gregorian calendar with years that begin in March
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
