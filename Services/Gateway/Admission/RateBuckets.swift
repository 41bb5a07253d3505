/// One rule's token buckets: each key has `count` tokens, which come back evenly over the window. Pure: time is an argument, so that tests
/// need no clock.
///
/// A bucket is one number, the moment at which it is full again (the generic cell rate algorithm); a full bucket is not stored.
package struct RateBuckets: Sendable {
    /// Nanoseconds until one token comes back.
    private let interval: Int64
    /// Nanoseconds until all of them do.
    private let depth: Int64
    /// Keys are hashes with a seed that nobody outside knows, so that a long token costs no more memory than a short one.
    private var fullAt: [Int: Int64] = [:]

    /// About 1 MB a rule. A flood of addresses makes room by dropping those that are nearest to being full, which lose least.
    package static let keysMax = 32_768

    package init(count: Int, window: Duration) {
        let (seconds, attoseconds) = window.components
        let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        interval = max(1, nanoseconds / Int64(max(1, count)))
        depth = interval * Int64(max(1, count))
    }

    package var keyCount: Int { fullAt.count }

    /// Nanoseconds until the key has a token; 0 when it has one.
    package func wait(for key: Int, at now: Int64) -> Int64 {
        guard let full = fullAt[key], full > now else { return 0 }
        return max(0, full - now + interval - depth)
    }

    /// Takes a token. `wait` must have been 0.
    package mutating func take(from key: Int, at now: Int64) {
        if fullAt[key] == nil, fullAt.count >= Self.keysMax { makeRoom(at: now) }
        fullAt[key] = max(now, fullAt[key] ?? now) + interval
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
