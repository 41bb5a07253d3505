/// The rule of a token bucket: `count` tokens at once, which come back evenly over a window (the generic cell rate
/// algorithm). The one home of its arithmetic; a bucket itself is one number, the moment at which it is full again, and
/// whoever has buckets keeps those numbers: `RateBuckets` in memory, the mails' allowances in a table.
///
/// Moments and the window are whole ticks of one clock: nanoseconds of one that nobody sets, or milliseconds of the
/// wall clock.
package struct TokenBucket: Sendable, Equatable {
    private let count: Int64
    /// Ticks until one token comes back.
    private let interval: Int64
    /// Ticks until all of them do.
    private let depth: Int64

    /// - Parameters:
    ///   - count: tokens, 1 or more; of bytes there may be some thousand millions.
    ///   - window: the ticks in which all of them come back, 1 or more.
    package init(count: Int, window: Int64) {
        let window = max(1, window)
        self.count = Int64(max(1, count))
        interval = max(1, window / self.count)
        // Whole intervals, so that exactly as many tokens as the rule says fit; of bytes an interval may be less than a
        // tick.
        depth = window / self.count >= 1 ? interval * self.count : window
    }

    /// Ticks until there are so many tokens; 0 when there are. More than a bucketful is a bucketful.
    /// - Parameters:
    ///   - fullAt: the bucket. A moment further away than a bucketful takes, as after a clock was set back, counts as
    ///     an empty bucket.
    ///   - kept: tokens that stay for others, at most all but one.
    package func wait(fullAt: Int64, tokens: Int = 1, keeping kept: Int = 0, at now: Int64) -> Int64 {
        max(0, missing(fullAt, now) + cost(tokens) + cost(min(max(0, kept), Int(count) - 1)) - depth)
    }

    /// The bucket after tokens were taken, for which `wait` must have been 0.
    package func fullAt(taking tokens: Int = 1, from fullAt: Int64, at now: Int64) -> Int64 {
        now + missing(fullAt, now) + cost(tokens)
    }

    /// Ticks until the bucket is full.
    private func missing(_ fullAt: Int64, _ now: Int64) -> Int64 {
        guard fullAt > now else { return 0 }
        let (ticks, overflow) = fullAt.subtractingReportingOverflow(now)
        return overflow ? depth : min(ticks, depth)
    }

    /// Ticks in which so many tokens come back.
    private func cost(_ tokens: Int) -> Int64 {
        guard tokens > 1 else { return tokens == 1 ? interval : 0 }
        let tokens = min(Int64(tokens), count)
        // The product of both is past 64 bits where bytes are counted over days.
        let product = tokens.multipliedFullWidth(by: depth)
        return count.dividingFullWidth(product).quotient
    }
}
