import Foundation
import ParseProtocol

/// The time at which a push is sent: one moment everywhere, or a time that each device's own clock shows.
package enum PushMoment: Sendable, Hashable {
    case absolute(Timestamp)
    /// The time on each device's own clock, as milliseconds since 1970 as if that clock were in UTC.
    case wallClock(Timestamp)

    /// Reads what the SDKs send: ISO 8601 text with `Z` or an offset, text without a zone (each device's own time), a
    /// Date, or seconds since 1970. Nil for anything else.
    package init?(_ value: JSON) {
        switch value {
        case .string(let text): self.init(text: text)
        case .int, .double:
            guard let seconds = value.doubleValue, seconds > 0, seconds < Self.secondsMax else { return nil }
            self = .absolute(Timestamp(milliseconds: Int64(seconds * 1000)))
        case .object where value.wireType == "Date":
            guard let text = value["iso"]?.stringValue, case .absolute(let time)? = PushMoment(text: text) else {
                return nil
            }
            self = .absolute(time)
        default: return nil
        }
    }

    /// The year 2100. Later ones are milliseconds that somebody took for seconds.
    private static let secondsMax: Double = 4_102_444_800

    private init?(text: String) {
        guard text.utf8.count <= 40 else { return nil }
        if let time = Timestamp(iso: text) {
            self = .absolute(time)
        } else if let time = Timestamp(iso: text + "Z") {
            self = .wallClock(time)
        } else {
            // `+02:00`, `+0200` or `+02` behind the time of day, where a minus sign is no part of the date.
            guard let sign = text.lastIndex(where: { $0 == "+" || $0 == "-" }),
                let time = Timestamp(iso: text[..<sign] + "Z"),
                let offset = Self.minutes(text[text.index(after: sign)...])
            else { return nil }
            let east = text[sign] == "+" ? offset : -offset
            self = .absolute(time.advanced(by: .seconds(-60 * east)))
        }
    }

    private static func minutes(_ text: Substring) -> Int64? {
        let digits = text.filter { $0 != ":" }
        guard [2, 4].contains(digits.utf8.count), digits.utf8.allSatisfy({ (48...57).contains($0) }),
            let hours = Int64(digits.prefix(2)), hours <= 18,
            let minutes = digits.count == 2 ? 0 : Int64(digits.suffix(2)), minutes < 60
        else { return nil }
        return hours * 60 + minutes
    }

    /// The first moment at which it is that time anywhere.
    package var earliest: Timestamp {
        switch self {
        case .absolute(let time): time
        case .wallClock(let time): time.advanced(by: .zero - Self.eastMax)
        }
    }

    /// Kiritimati's clocks are 14 hours ahead of UTC.
    private static let eastMax = Duration.seconds(14 * 3600)

    /// The moment for a device in this time zone, and the zone's distance from UTC in minutes then. A zone that is
    /// missing or unknown counts as UTC.
    package func time(inZone name: String?) -> (at: Timestamp, offsetMinutes: Int) {
        switch self {
        case .absolute(let time): return (time, 0)
        case .wallClock(let wall):
            guard let name, name.utf8.count <= 64, let zone = TimeZone(identifier: name) else { return (wall, 0) }
            let date = Date(timeIntervalSince1970: Double(wall.milliseconds) / 1000)
            // The offset at that wall time: a day's change of clocks is found by looking twice.
            let guess = zone.secondsFromGMT(for: date)
            let seconds = zone.secondsFromGMT(for: date.addingTimeInterval(-Double(guess)))
            return (wall.advanced(by: .seconds(-seconds)), seconds / 60)
        }
    }
}
