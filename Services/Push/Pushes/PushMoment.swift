import Foundation
import ParseProtocol

/// The time at which a push is sent: one moment everywhere, or a local time on each device.
package enum PushMoment: Sendable, Hashable {
    case absolute(Timestamp)
    /// The time on each device's own clock, in milliseconds since 1970 as if that clock were in UTC.
    case wallClock(Timestamp)

    /// Decodes the formats of the SDKs: ISO 8601 text with a zone, text without one (each device's local time), a Date,
    /// or seconds since 1970. Nil for anything else.
    package init?(_ value: JSON) {
        switch value {
        case .string(let text):
            guard let (moment, hasZone) = Timestamp.reading(iso: text) else { return nil }
            self = hasZone ? .absolute(moment) : .wallClock(moment)
        case .int, .double:
            guard let seconds = value.doubleValue, seconds > 0, seconds < Self.secondsMax else { return nil }
            self = .absolute(Timestamp(milliseconds: Int64(seconds * 1000)))
        case .object where value.wireType == "Date":
            guard let time = value["iso"]?.stringValue.flatMap(Timestamp.init(iso:)) else { return nil }
            self = .absolute(time)
        default: return nil
        }
    }

    /// The year 2100. Larger values are milliseconds that were mistaken for seconds.
    private static let secondsMax: Double = 4_102_444_800

    /// The first moment at which the local time is reached in any time zone.
    package var earliest: Timestamp {
        switch self {
        case .absolute(let time): time
        case .wallClock(let time): time.advanced(by: .zero - Self.eastMax)
        }
    }

    /// Kiritimati's clocks are 14 hours ahead of UTC.
    private static let eastMax = Duration.seconds(14 * 3600)

    /// The moment for a device in this time zone, and the zone's UTC offset in minutes then. A missing or unknown zone
    /// counts as UTC.
    package func time(inZone name: String?) -> (at: Timestamp, offsetMinutes: Int) {
        switch self {
        case .absolute(let time): return (time, 0)
        case .wallClock(let wall):
            guard let name, name.utf8.count <= 64, let zone = TimeZone(identifier: name) else { return (wall, 0) }
            let date = Date(timeIntervalSince1970: Double(wall.milliseconds) / 1000)
            // The first lookup treats the local time as UTC. The second one is also right near a change of
            // daylight-saving time.
            let guess = zone.secondsFromGMT(for: date)
            let seconds = zone.secondsFromGMT(for: date.addingTimeInterval(-Double(guess)))
            return (wall.advanced(by: .seconds(-seconds)), seconds / 60)
        }
    }
}
