import ParseProtocol
import ServiceKit
import Synchronization

/// The rates at which keys may send: each has a minute's share at once, which comes back evenly. In memory: one process
/// writes, and a restart gives everybody a full share.
final class KeyRates: Sendable {
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
