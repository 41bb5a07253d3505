import Foundation

/// The shop's time zone: decides where a day begins in figures, lists and mails.
///
/// Figures are summed per hour. A counted hour begins when the clocks of the zone show a whole hour, so that every day
/// consists of whole hours: in Kathmandu, 45 minutes before an hour of UTC. Lord Howe Island, whose summer time is half
/// an hour, has days that begin half an hour early in sums per hour.
package struct ShopZone: Sendable {
    /// The zone's name of the IANA database.
    package let name: String
    /// Nil for UTC.
    private let zone: TimeZone?
    /// Milliseconds from the beginning of a counted hour to the one of UTC, less than an hour.
    private let shift: Int64

    /// The zone of a shop whose operator has set none.
    package static let utc = ShopZone()

    private static let hourMilliseconds: Int64 = 3_600_000
    private static let dayMilliseconds = 24 * hourMilliseconds

    private init() {
        name = "UTC"
        zone = nil
        shift = 0
    }

    /// - Parameter name: `UTC`, or a region and a place of the IANA database, such as `Europe/Berlin`. Nil for anything
    ///   else: abbreviations have several meanings, and browsers do not know all of them.
    package init?(_ name: String) {
        if name == "UTC" {
            self = .utc
            return
        }
        guard name.contains("/"), name.utf8.count <= 64, let zone = TimeZone(identifier: name) else { return nil }
        self.name = name
        self.zone = zone
        let january = Date(timeIntervalSince1970: 1_767_225_600)
        let standard = zone.secondsFromGMT(for: january) - Int(zone.daylightSavingTimeOffset(for: january))
        shift = Self.modulo(Int64(standard) * 1000, Self.hourMilliseconds)
    }

    /// Milliseconds by which the zone's clocks are ahead of UTC.
    private func offset(_ milliseconds: Int64) -> Int64 {
        guard let zone else { return 0 }
        return Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(milliseconds) / 1000))) * 1000
    }

    // MARK: - Days

    /// The day that contains a moment, as days since 1970.
    package func day(of moment: Timestamp) -> Int64 {
        Self.quotient(moment.milliseconds + offset(moment.milliseconds), Self.dayMilliseconds)
    }

    /// The first moment of a day. It is later than midnight where the clocks are set forward then.
    package func start(ofDay day: Int64) -> Timestamp {
        let midnight = day * Self.dayMilliseconds
        let (before, after) = (offset(midnight - Self.dayMilliseconds), offset(midnight + Self.dayMilliseconds))
        let candidates = [midnight - before, midnight - after].filter { offset($0) == midnight - $0 }
        // None where the clocks skip midnight: the old offset leads to the moment of the change.
        return Timestamp(milliseconds: candidates.min() ?? midnight - before)
    }

    /// The date of a moment, such as `2026-11-29`.
    package func date(of moment: Timestamp) -> String {
        String(Timestamp(milliseconds: moment.milliseconds + offset(moment.milliseconds)).iso.prefix(10))
    }

    // MARK: - Hours

    /// The counted hour that contains a moment. In a zone with whole hours it is the number of hours since 1970 in UTC.
    package func hour(of moment: Timestamp) -> Int64 {
        Self.quotient(moment.milliseconds + shift, Self.hourMilliseconds)
    }

    /// The beginning of a counted hour.
    package func start(ofHour hour: Int64) -> Timestamp {
        Timestamp(milliseconds: hour * Self.hourMilliseconds - shift)
    }

    /// The counted hours of a day: 24, or 23 or 25 when the clocks change.
    package func hours(ofDay day: Int64) -> Range<Int64> {
        let first = hour(of: start(ofDay: day))
        return first..<max(first, hour(of: start(ofDay: day + 1)))
    }

    /// The distance to UTC in whole hours during counted hours, and the hour from which on it applies.
    package func offsets(during hours: Range<Int64>) -> [(from: Int64, hours: Int64)] {
        var found = [(from: hours.lowerBound, hours: wholeOffset(hours.lowerBound))]
        var hour = hours.lowerBound
        while hour < hours.upperBound {
            let next = min(hour + 24, hours.upperBound)
            if let last = found.last?.hours, wholeOffset(next) != last,
                let change = (hour...next).first(where: { wholeOffset($0) != last }), change < hours.upperBound
            {
                found.append((from: change, hours: wholeOffset(change)))
                hour = change
            } else {
                hour = next
            }
        }
        return found
    }

    private func wholeOffset(_ hour: Int64) -> Int64 {
        let half = Self.hourMilliseconds / 2
        return Self.quotient(offset(start(ofHour: hour).milliseconds) - shift + half, Self.hourMilliseconds)
    }

    // Rounds down, for negative numbers as well.
    private static func quotient(_ number: Int64, _ divisor: Int64) -> Int64 {
        (number - modulo(number, divisor)) / divisor
    }

    private static func modulo(_ number: Int64, _ divisor: Int64) -> Int64 {
        let rest = number % divisor
        return rest < 0 ? rest + divisor : rest
    }
}
