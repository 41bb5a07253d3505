/// One rule's token buckets, by key. The gateway's rate limits and the services' quotas use them. Does no I/O: time is
/// an argument, in nanoseconds, so that tests need no clock.
///
/// A full bucket is not stored.
package struct RateBuckets: Sendable {
    private let bucket: TokenBucket
    /// The keys are seeded hashes, so that a long token uses no more memory than a short one and collisions cannot be
    /// chosen.
    private var fullAt: [Int: Int64] = [:]

    /// About 1 MB per rule. A flood of addresses evicts the buckets that are closest to full, which lose the least.
    package static let keysMax = 32_768

    /// - Parameters:
    ///   - count: tokens per key, 1 or more; for bytes up to several thousand million.
    ///   - window: the time in which all tokens refill, up to some days.
    package init(count: Int, window: Duration) {
        let (seconds, attoseconds) = window.components
        bucket = TokenBucket(count: count, window: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    package var keyCount: Int { fullAt.count }

    /// Nanoseconds until the key has a token; 0 when it has one.
    package func wait(for key: Int, at now: Int64) -> Int64 { wait(for: key, tokens: 1, at: now) }

    /// Nanoseconds until the key has this many tokens; 0 when it has them. More than the bucket's size counts as its
    /// size.
    package func wait(for key: Int, tokens: Int, at now: Int64) -> Int64 {
        guard let full = fullAt[key] else { return 0 }
        return bucket.wait(fullAt: full, tokens: tokens, at: now)
    }

    /// The used part of the key's tokens, from 0 to 1.
    package func usedShare(of key: Int, at now: Int64) -> Double {
        fullAt[key].map { bucket.usedShare(fullAt: $0, at: now) } ?? 0
    }

    /// Takes tokens. `wait` must have been 0.
    package mutating func take(from key: Int, tokens: Int = 1, at now: Int64) {
        if fullAt[key] == nil, fullAt.count >= Self.keysMax { makeRoom(at: now) }
        fullAt[key] = bucket.fullAt(taking: tokens, from: fullAt[key] ?? now, at: now)
    }

    private mutating func makeRoom(at now: Int64) {
        fullAt = fullAt.filter { $0.value > now }
        guard fullAt.count > Self.keysMax / 4 * 3 else { return }
        // Evicts a quarter at once, so that one sort makes room for many keys.
        let moments = fullAt.values.sorted()
        let last = moments[moments.count / 4]
        fullAt = fullAt.filter { $0.value > last }
    }
}
