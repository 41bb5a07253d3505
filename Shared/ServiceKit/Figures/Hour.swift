import ParseProtocol

/// A counted hour, the finest granularity of a roll-up; an hour of UTC, unless the shop's zone has none (`ShopZone`).
package struct Hour: Hashable, Sendable {
    /// Hours since 1970.
    package let number: Int64

    /// The length of an hour.
    package static let milliseconds: Int64 = 3_600_000

    /// The hour that begins `number` hours after 1970-01-01.
    package init(number: Int64) { self.number = number }

    /// The hour that contains a moment.
    package init(of moment: Timestamp) {
        // Rounds down, before 1970 as well.
        let milliseconds = moment.milliseconds
        let (quotient, remainder) = milliseconds.quotientAndRemainder(dividingBy: Self.milliseconds)
        number = remainder < 0 ? quotient - 1 : quotient
    }

    /// Days since 1970 in UTC. Roll-ups contain no earlier times.
    package var day: Int64 { number / 24 }
}
