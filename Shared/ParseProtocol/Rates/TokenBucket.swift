/// The arithmetic of a token bucket: a burst of `count` tokens, which refill evenly over a window (the generic cell
/// rate algorithm). A bucket is one number, the time at which it is full again. Its owner stores that number:
/// `RateBuckets` in memory, the mail rate limits in a table.
///
/// Times and the window are whole ticks of one clock: nanoseconds of a monotonic clock, or milliseconds of the wall
/// clock.
package struct TokenBucket: Sendable, Equatable {
    private let count: Int64
    /// Ticks until one token refills.
    private let interval: Int64
    /// Ticks until all tokens refill.
    private let depth: Int64

    /// - Parameters:
    ///   - count: tokens, 1 or more; for bytes up to several thousand million.
    ///   - window: the ticks in which all tokens refill, 1 or more.
    package init(count: Int, window: Int64) {
        let window = max(1, window)
        self.count = Int64(max(1, count))
        interval = max(1, window / self.count)
        // A multiple of the interval, so that exactly `count` tokens fit. For bytes, an interval may be less than a
        // tick.
        depth = window / self.count >= 1 ? interval * self.count : window
    }

    /// Ticks until the bucket has this many tokens; 0 when it has them. More than the bucket's size counts as its size.
    /// - Parameters:
    ///   - fullAt: the bucket. A time further ahead than a whole refill, as after a clock was set back, counts as an
    ///     empty bucket.
    ///   - kept: tokens that remain reserved for others, at most all but one.
    package func wait(fullAt: Int64, tokens: Int = 1, keeping kept: Int = 0, at now: Int64) -> Int64 {
        max(0, missing(fullAt, now) + cost(tokens) + cost(min(max(0, kept), Int(count) - 1)) - depth)
    }

    /// The used part of the tokens, from 0 to 1.
    package func usedShare(fullAt: Int64, at now: Int64) -> Double { Double(missing(fullAt, now)) / Double(depth) }

    /// The bucket after taking tokens; `wait` must have been 0.
    package func fullAt(taking tokens: Int = 1, from fullAt: Int64, at now: Int64) -> Int64 {
        now + missing(fullAt, now) + cost(tokens)
    }

    /// Ticks until the bucket is full.
    private func missing(_ fullAt: Int64, _ now: Int64) -> Int64 {
        guard fullAt > now else { return 0 }
        let (ticks, overflow) = fullAt.subtractingReportingOverflow(now)
        return overflow ? depth : min(ticks, depth)
    }

    /// Ticks in which this many tokens refill.
    private func cost(_ tokens: Int) -> Int64 {
        guard tokens > 1 else { return tokens == 1 ? interval : 0 }
        let tokens = min(Int64(tokens), count)
        // The product exceeds 64 bits where bytes are counted over days.
        let product = tokens.multipliedFullWidth(by: depth)
        return count.dividingFullWidth(product).quotient
    }
}
