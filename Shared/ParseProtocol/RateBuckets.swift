/// One rule's token buckets: each key has `count` tokens, which come back evenly over the window. Rate limits of the gateway and quotas
/// of the services are made of them. Pure: time is an argument, so that tests need no clock.
///
/// A bucket is one number, the moment at which it is full again (the generic cell rate algorithm); a full bucket is not stored.
package struct RateBuckets: Sendable {
    private let count: Int64
    /// Nanoseconds until one token comes back.
    private let interval: Int64
    /// Nanoseconds until all of them do.
    private let depth: Int64
    /// Keys are hashes with a seed that nobody outside knows, so that a long token costs no more memory than a short one.
    private var fullAt: [Int: Int64] = [:]

    /// About 1 MB a rule. A flood of addresses makes room by dropping those that are nearest to being full, which lose least.
    package static let keysMax = 32_768

    /// - Parameters:
    ///   - count: tokens of a key, 1 or more; of bytes there may be some thousand millions.
    ///   - window: the time in which all of them come back, up to some days.
    package init(count: Int, window: Duration) {
        let (seconds, attoseconds) = window.components
        let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        self.count = Int64(max(1, count))
        interval = max(1, nanoseconds / self.count)
        // Whole intervals, so that exactly as many tokens as the rule says fit; of bytes an interval may be less than a nanosecond.
        depth = nanoseconds / self.count >= 1 ? interval * self.count : max(1, nanoseconds)
    }

    package var keyCount: Int { fullAt.count }

    /// Nanoseconds until the key has a token; 0 when it has one.
    package func wait(for key: Int, at now: Int64) -> Int64 { wait(for: key, tokens: 1, at: now) }

    /// Nanoseconds until the key has so many tokens; 0 when it has them. More than a bucketful is a bucketful.
    package func wait(for key: Int, tokens: Int, at now: Int64) -> Int64 {
        guard let full = fullAt[key], full > now else { return 0 }
        return max(0, full - now + cost(tokens) - depth)
    }

    /// Takes tokens. `wait` must have been 0.
    package mutating func take(from key: Int, tokens: Int = 1, at now: Int64) {
        if fullAt[key] == nil, fullAt.count >= Self.keysMax { makeRoom(at: now) }
        fullAt[key] = max(now, fullAt[key] ?? now) + cost(tokens)
    }

    /// Nanoseconds in which so many tokens come back.
    private func cost(_ tokens: Int) -> Int64 {
        guard tokens != 1 else { return interval }
        let tokens = min(max(0, Int64(tokens)), count)
        // The product of both is past 64 bits where bytes are counted over days.
        let product = tokens.multipliedFullWidth(by: depth)
        return count.dividingFullWidth(product).quotient
    }

    private mutating func makeRoom(at now: Int64) {
        fullAt = fullAt.filter { $0.value > now }
        guard fullAt.count > Self.keysMax / 4 * 3 else { return }
        // A quarter at once, so that the sorting is paid for by the many keys that fit afterwards.
        let moments = fullAt.values.sorted()
        let last = moments[moments.count / 4]
        fullAt = fullAt.filter { $0.value > last }
    }
}
