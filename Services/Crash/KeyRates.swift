import ParseProtocol
import Synchronization

/// How much a key may send: a bucket that fills evenly and holds a minute's share. No I/O.
package struct RateBucket: Sendable {
    private let perMinute: Int
    private var available: Double
    private var filledAt: Timestamp

    package init(perMinute: Int, now: Timestamp) {
        self.perMinute = perMinute
        available = Double(perMinute)
        filledAt = now
    }

    /// Takes one.
    /// - Returns: nil when there was one, else the seconds until there is, 1 to 60.
    package mutating func take(now: Timestamp) -> Int? {
        let passed = min(max(0, Double(now.milliseconds - filledAt.milliseconds) / 60_000), 1)
        available = min(Double(perMinute), available + passed * Double(perMinute))
        filledAt = now
        guard available < 1 else {
            available -= 1
            return nil
        }
        return min(60, max(1, Int((60 / Double(perMinute) * (1 - available)).rounded(.up))))
    }
}

/// The buckets of all keys. In memory: one process writes, and a restart gives everybody a full bucket.
final class KeyRates: Sendable {
    private let perMinute: Int
    /// Only known keys get here, so operators bound how many there are.
    private let buckets = Mutex<[String: RateBucket]>([:])

    init(perMinute: Int) { self.perMinute = perMinute }

    /// - Throws: `ReportRefusal.tooMany`.
    func take(_ key: String) throws {
        let now = Timestamp.now
        let seconds = buckets.withLock {
            $0[key, default: RateBucket(perMinute: perMinute, now: now)].take(now: now)
        }
        if let seconds { throw ReportRefusal.tooMany(seconds: seconds) }
    }
}
