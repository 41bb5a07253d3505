/// One rule's token buckets, by key. Rate limits of the gateway and quotas of the services are made of them. Pure: time
/// is an argument, in nanoseconds, so that tests need no clock.
///
/// A full bucket is not stored.
package struct RateBuckets: Sendable {
    private let bucket: TokenBucket
    /// Keys are hashes with a seed that nobody outside knows, so that a long token costs no more memory than a short
    /// one.
    private var fullAt: [Int: Int64] = [:]

    /// About 1 MB a rule. A flood of addresses makes room by dropping those that are nearest to being full, which lose
    /// least.
    package static let keysMax = 32_768

    /// - Parameters:
    ///   - count: tokens of a key, 1 or more; of bytes there may be some thousand millions.
    ///   - window: the time in which all of them come back, up to some days.
    package init(count: Int, window: Duration) {
        let (seconds, attoseconds) = window.components
        bucket = TokenBucket(count: count, window: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    package var keyCount: Int { fullAt.count }

    /// Nanoseconds until the key has a token; 0 when it has one.
    package func wait(for key: Int, at now: Int64) -> Int64 { wait(for: key, tokens: 1, at: now) }

    /// Nanoseconds until the key has so many tokens; 0 when it has them. More than a bucketful is a bucketful.
    package func wait(for key: Int, tokens: Int, at now: Int64) -> Int64 {
        guard let full = fullAt[key] else { return 0 }
        return bucket.wait(fullAt: full, tokens: tokens, at: now)
    }

    /// Takes tokens. `wait` must have been 0.
    package mutating func take(from key: Int, tokens: Int = 1, at now: Int64) {
        if fullAt[key] == nil, fullAt.count >= Self.keysMax { makeRoom(at: now) }
        fullAt[key] = bucket.fullAt(taking: tokens, from: fullAt[key] ?? now, at: now)
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
