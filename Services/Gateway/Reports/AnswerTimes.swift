import Foundation
import ParseProtocol
import Synchronization

/// Counts responses since the start by duration and outcome. A reader takes two samples to get the rate and the
/// percentiles of the time between; nothing is reset. Recording takes one lock, which threads hardly ever share.
final class AnswerTimes: Sendable {
    enum End: Sendable {
        case done
        /// The caller's error: 4xx.
        case refused
        /// Satchel's error: 5xx.
        case failed

        init(status: Int) { self = status >= 500 ? .failed : status >= 400 ? .refused : .done }

        /// A service's error.
        init(_ error: ParseError) {
            switch error.code {
            case .internalServerError, .serviceUnavailable, .timeout: self = .failed
            default: self = .refused
            }
        }
    }

    private struct Counts {
        var buckets: [UInt64]
        var refused: UInt64 = 0
        var failed: UInt64 = 0
    }

    private final class Shard: Sendable {
        let counts = Mutex(Counts(buckets: [UInt64](repeating: 0, count: AnswerTimes.bounds.count + 1)))
    }

    /// Upper ends of the buckets in microseconds, four for each doubling from 50 µs to 30 s: percentiles are exact to a
    /// fifth. One more bucket counts slower responses.
    static let bounds: [Int64] = (0..<78).map { Int64((50 * pow(2, Double($0) / 4)).rounded()) }

    private let shards = (0..<8).map { _ in Shard() }

    func record(_ end: End, since start: ContinuousClock.Instant) {
        record(end, microseconds: (ContinuousClock.now - start) / .microseconds(1))
    }

    func record(_ end: End, microseconds: Double) {
        let bucket = Self.bucket(microseconds)
        shards[Self.shardOfThisThread].counts.withLock { counts in
            counts.buckets[bucket] += 1
            switch end {
            case .done: break
            case .refused: counts.refused += 1
            case .failed: counts.failed += 1
            }
        }
    }

    private static func bucket(_ microseconds: Double) -> Int {
        guard microseconds > 50 else { return 0 }
        return min(bounds.count, Int((log2(microseconds / 50) * 4).rounded(.up)))
    }

    /// `buckets` are counts, in the order of `bounds` plus one.
    var json: JSON {
        var buckets = [UInt64](repeating: 0, count: Self.bounds.count + 1)
        var (refused, failed): (UInt64, UInt64) = (0, 0)
        for shard in shards {
            let counts = shard.counts.withLock { $0 }
            for index in buckets.indices { buckets[index] += counts.buckets[index] }
            refused += counts.refused
            failed += counts.failed
        }
        return [
            "buckets": .array(buckets.map { .int(Int64(clamping: $0)) }), "refused": .int(Int64(clamping: refused)),
            "failed": .int(Int64(clamping: failed)),
        ]
    }

    private static var shardOfThisThread: Int {
        // Thread structures are far apart in memory, so the low bits carry no information.
        Int(truncatingIfNeeded: (UInt(pthread_self()) >> 12) % 8)
    }
}

/// The services' response times as the gateway measures them: they include the bus and the wait for a lane.
struct ServiceTimes: Sendable {
    private let times: [String: AnswerTimes]

    init() { times = Dictionary(uniqueKeysWithValues: ServiceDirectory.services.map { ($0, AnswerTimes()) }) }

    subscript(service: String) -> AnswerTimes? { times[service] }
}
