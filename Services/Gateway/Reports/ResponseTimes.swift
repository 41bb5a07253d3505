import Foundation
import ParseProtocol
import Synchronization

/// Counts responses since the start by duration, in one row for each kind of response. A reader takes two samples to
/// get the rate and the percentiles of the time between; nothing is reset. Recording takes one lock, which threads
/// hardly ever share, and no memory after a thread's first response of its kind.
package final class ResponseTimes: Sendable {
    /// A response that shows what a bucket of `exported` counts.
    package struct Exemplar: Sendable {
        /// The id of its request, by which logs find it.
        package let trace: String
        package let seconds: Double
        /// When it was answered.
        package let at: Timestamp
        fileprivate let taken: ContinuousClock.Instant
    }

    /// The counts of one kind of response.
    package struct Row: Sendable {
        /// In the order of `bounds` plus one; empty before the first response.
        package fileprivate(set) var buckets: [UInt64] = []
        /// The sum of all durations.
        package fileprivate(set) var microseconds = 0.0
        /// In the order of `exported` plus one; empty without exemplars.
        package fileprivate(set) var exemplars: [Exemplar?] = []
        /// When each of them may be replaced: to read it from the exemplar would copy that one for each response.
        private var exemplarsDue: [ContinuousClock.Instant] = []

        package var count: UInt64 { buckets.reduce(0, +) }

        /// A row without responses.
        package init() {}

        package mutating func add(_ other: Row) {
            guard !other.buckets.isEmpty else { return }
            if buckets.isEmpty { buckets = ResponseTimes.noBuckets }
            for index in buckets.indices { buckets[index] += other.buckets[index] }
            microseconds += other.microseconds
            guard !other.exemplars.isEmpty else { return }
            if exemplars.isEmpty { exemplars = ResponseTimes.noExemplars }
            for (index, exemplar) in other.exemplars.enumerated() {
                guard let exemplar else { continue }
                if let present = exemplars[index], present.taken > exemplar.taken { continue }
                exemplars[index] = exemplar
            }
        }

        fileprivate mutating func record(_ microseconds: Double, _ trace: String?, now: ContinuousClock.Instant) {
            if buckets.isEmpty { buckets = ResponseTimes.noBuckets }
            let bucket = ResponseTimes.bucket(microseconds)
            buckets[bucket] += 1
            self.microseconds += microseconds
            guard let trace else { return }
            if exemplarsDue.isEmpty { (exemplars, exemplarsDue) = (ResponseTimes.noExemplars, ResponseTimes.allDue) }
            let index = ResponseTimes.exportedIndex(ofBucket: bucket)
            guard now >= exemplarsDue[index] else { return }
            exemplarsDue[index] = now + ResponseTimes.exemplarsEvery
            exemplars[index] = Exemplar(trace: trace, seconds: microseconds / 1_000_000, at: .now, taken: now)
        }
    }

    private final class Shard: Sendable {
        /// Empty before the first response: most shards belong to no thread, and a row takes 32 bytes without
        /// responses.
        let rows = Mutex<[Row]>([])
    }

    /// Upper ends of the buckets in microseconds, four for each doubling from 50 µs to 30 s: percentiles are exact to a
    /// fifth. One more bucket counts slower responses.
    package static let bounds: [Int64] = (0..<78).map { Int64((50 * pow(2, Double($0) / 4)).rounded()) }

    /// The indexes in `bounds` that monitoring gets: each doubling from 200 µs to 13 s.
    package static let exported: [Int] = Array(stride(from: 8, through: 72, by: 4))

    fileprivate static let noBuckets = [UInt64](repeating: 0, count: bounds.count + 1)
    fileprivate static let noExemplars = [Exemplar?](repeating: nil, count: exported.count + 1)
    /// Reading the wall clock for each response would take longer than counting it.
    fileprivate static let exemplarsEvery = Duration.seconds(5)
    /// Lies before the first response.
    fileprivate static let allDue = [ContinuousClock.Instant](
        repeating: .now.advanced(by: .seconds(-3600)), count: exported.count + 1)

    private let shards = (0..<8).map { _ in Shard() }
    private let count: Int

    /// - Parameter rows: the number of kinds.
    package init(rows: Int) { count = rows }

    /// - Parameter trace: the id of the request; nil for a response that is never an exemplar.
    package func record(
        _ row: Int, since start: ContinuousClock.Instant, trace: String? = nil, now: ContinuousClock.Instant = .now
    ) {
        record(row, microseconds: (now - start) / .microseconds(1), trace: trace, now: now)
    }

    package func record(_ row: Int, microseconds: Double, trace: String? = nil, now: ContinuousClock.Instant = .now) {
        shards[Self.shardOfThisThread].rows.withLock { rows in
            if rows.isEmpty { rows = [Row](repeating: Row(), count: count) }
            guard rows.indices.contains(row) else { return }
            rows[row].record(microseconds, trace, now: now)
        }
    }

    fileprivate static func bucket(_ microseconds: Double) -> Int {
        guard microseconds > 50 else { return 0 }
        return min(bounds.count, Int((log2(microseconds / 50) * 4).rounded(.up)))
    }

    /// The bucket of `exported`, plus one, that contains a bucket of `bounds`.
    package static func exportedIndex(ofBucket bucket: Int) -> Int { min(max(0, (bucket + 3) / 4 - 2), exported.count) }

    /// The counts of all threads.
    package var rows: [Row] {
        var sums = [Row](repeating: Row(), count: count)
        for shard in shards {
            // Added under the lock: a copy would make the next recording copy the counts.
            shard.rows.withLock { rows in
                for index in rows.indices { sums[index].add(rows[index]) }
            }
        }
        return sums
    }

    private static var shardOfThisThread: Int {
        // Thread structures are far apart in memory, so the low bits carry no information.
        Int(truncatingIfNeeded: (UInt(pthread_self()) >> 12) % 8)
    }

    /// Rows as operators get them: `buckets` are counts, in the order of `bounds` plus one.
    /// - Parameters:
    ///   - refused: of these rows, those of the caller's errors.
    ///   - failed: those of Satchel's errors.
    static func json(_ all: [Row], refused: [Row], failed: [Row]) -> JSON {
        var sum = Row()
        for row in all { sum.add(row) }
        let buckets = sum.buckets.isEmpty ? noBuckets : sum.buckets
        func count(_ rows: [Row]) -> JSON { .int(Int64(clamping: rows.reduce(0) { $0 + $1.count })) }
        return [
            "buckets": .array(buckets.map { .int(Int64(clamping: $0)) }), "refused": count(refused),
            "failed": count(failed),
        ]
    }
}
