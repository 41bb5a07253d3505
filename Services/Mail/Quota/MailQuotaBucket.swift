import MessageBus
import ParseProtocol

/// A daily quota of mails: a token bucket that refills evenly. No I/O; `MailQuotas` stores it.
package struct MailQuotaBucket: Sendable, Equatable {
    /// Mails per day; also the burst.
    package let perDay: Int
    /// Unix time in milliseconds at which the bucket is full again.
    package private(set) var fullAt: Int64

    package static let day = Duration.seconds(86_400)

    /// - Parameters:
    ///   - perDay: 1 to 10,000,000.
    ///   - fullAt: the stored value; 0 for a full bucket.
    package init(perDay: Int, fullAt: Int64 = 0) {
        self.perDay = min(max(perDay, 1), 10_000_000)
        self.fullAt = fullAt
    }

    /// Takes one mail from the quota.
    /// - Parameters:
    ///   - now: Unix time in milliseconds.
    ///   - reserved: mails of the quota reserved for other purposes.
    /// - Returns: false when the quota is used up; then nothing is taken.
    package mutating func take(at now: Int64, reserving reserved: Int = 0) -> Bool {
        let bucket = TokenBucket(count: perDay, window: Self.day.milliseconds)
        guard bucket.wait(fullAt: fullAt, keeping: reserved, at: now) == 0 else { return false }
        fullAt = bucket.fullAt(from: fullAt, at: now)
        return true
    }
}
