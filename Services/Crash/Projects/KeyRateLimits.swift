import ParseProtocol
import ServiceKit
import Synchronization

/// Rate limits of keys: each key has a bucket of one minute's reports, which refills evenly. In memory: each writing
/// process has its own buckets, and a restart fills them.
final class KeyRateLimits: Sendable {
    private let buckets: Mutex<RateBuckets>

    init(perMinute: Int) { buckets = Mutex(RateBuckets(count: perMinute, window: .seconds(60))) }

    /// - Throws: `ReportRefusal.tooMany`.
    func take(_ key: String) throws {
        let (now, key) = (Quotas.nanoseconds(), key.hashValue)
        let wait = buckets.withLock { buckets in
            let wait = buckets.wait(for: key, at: now)
            if wait == 0 { buckets.take(from: key, at: now) }
            return wait
        }
        if wait > 0 { throw ReportRefusal.tooMany(seconds: Int(wait / 1_000_000_000) + 1) }
    }
}
