import ParseProtocol

/// A day's allowance of mails, a token bucket that comes back evenly. Only decides; `MailQuotas` stores it.
package struct MailAllowance: Sendable, Equatable {
    /// Mails at once, and in a day.
    package let perDay: Int
    /// Unix time in milliseconds at which everything that was taken is given back.
    package private(set) var fullAt: Int64

    private static let dayMilliseconds: Int64 = 86_400_000

    /// - Parameters:
    ///   - perDay: 1 to 10,000,000.
    ///   - fullAt: as it was stored; 0 for an allowance that nothing was taken of.
    package init(perDay: Int, fullAt: Int64 = 0) {
        self.perDay = min(max(perDay, 1), 10_000_000)
        self.fullAt = fullAt
    }

    /// Takes one mail of it.
    /// - Parameters:
    ///   - now: Unix time in milliseconds.
    ///   - kept: so many mails of the allowance are kept for others.
    /// - Returns: false when there is none; then nothing is taken.
    package mutating func take(at now: Int64, keeping kept: Int = 0) -> Bool {
        let bucket = TokenBucket(count: perDay, window: Self.dayMilliseconds)
        guard bucket.wait(fullAt: fullAt, keeping: kept, at: now) == 0 else { return false }
        fullAt = bucket.fullAt(from: fullAt, at: now)
        return true
    }
}
