import ParseProtocol

/// An hour of UTC, the finest grain of a roll-up.
package struct Hour: Hashable, Sendable {
    /// Hours since 1970.
    package let number: Int64

    /// The length of one.
    package static let milliseconds: Int64 = 3_600_000

    /// That many hours after 1970 began.
    package init(number: Int64) { self.number = number }

    /// The hour that a moment is in.
    package init(of moment: Timestamp) {
        // Rounds down, before 1970 as well.
        let milliseconds = moment.milliseconds
        let (quotient, remainder) = milliseconds.quotientAndRemainder(dividingBy: Self.milliseconds)
        number = remainder < 0 ? quotient - 1 : quotient
    }

    /// Days since 1970. Roll-ups hold nothing older.
    package var day: Int64 { number / 24 }
}
