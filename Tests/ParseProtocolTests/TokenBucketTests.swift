import ParseProtocol
import Testing

/// The single rule of token buckets, for any clock.
@Suite struct TokenBucketTests {
    @Test(arguments: [(1, 1), (3, 60), (4, 86_400_000), (7, 100), (1000, 1000), (1 << 30, 1 << 40)] as [(Int, Int64)])
    func aBucketfulIsThereAtOnceAndComesBackInItsWindow(_ count: Int, _ window: Int64) {
        let bucket = TokenBucket(count: count, window: window)
        let start: Int64 = 1_700_000_000_000
        #expect(bucket.wait(fullAt: 0, tokens: count, at: start) == 0)
        let empty = bucket.fullAt(taking: count, from: 0, at: start)
        #expect(empty <= start + window)
        #expect(bucket.wait(fullAt: empty, at: start) > 0)
        #expect(bucket.wait(fullAt: empty, at: start + window) == 0)
        #expect(bucket.wait(fullAt: empty, tokens: .max, at: start + window) == 0, "More than all is all.")
        let pause = bucket.wait(fullAt: empty, at: start)
        #expect(bucket.wait(fullAt: empty, at: start + pause) == 0)
        #expect(bucket.wait(fullAt: empty, at: start + pause - 1) == 1)
    }

    @Test func whatIsKeptForOthersIsNotTaken() {
        let bucket = TokenBucket(count: 5, window: 50)
        var full: Int64 = 0
        var taken = 0
        while bucket.wait(fullAt: full, keeping: 2, at: 7) == 0, taken < 10 {
            full = bucket.fullAt(from: full, at: 7)
            taken += 1
        }
        #expect(taken == 3)
        #expect(bucket.wait(fullAt: full, tokens: 2, at: 7) == 0)
        #expect(bucket.wait(fullAt: 0, keeping: .max, at: 7) == 0, "One is never kept.")
    }

    /// A stored time may come from a clock that was set back, or from a rule with a larger bucket.
    @Test(arguments: [Int64.max, 1 << 60, 10_000]) func aMomentTooFarAwayIsAnEmptyBucket(_ full: Int64) {
        let bucket = TokenBucket(count: 5, window: 50)
        #expect(bucket.wait(fullAt: full, at: 0) == 10)
        #expect(bucket.wait(fullAt: full, at: -1_000_000) == 10)
        #expect(bucket.fullAt(from: full, at: 0) == 60)
    }

    /// Milliseconds in a table and nanoseconds in memory lead to the same decision.
    @Test func theUnitOfTimeDoesNotMatter() {
        let (fine, coarse) = (
            TokenBucket(count: 12, window: 86_400_000_000_000), TokenBucket(count: 12, window: 86_400_000)
        )
        var (fineFull, coarseFull, now, random) = (Int64(0), Int64(0), Int64(1_000_000), UInt64(7))
        var admitted = 0
        for _ in 0..<2000 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            now += Int64(random >> 40) % 9_000_000
            let isAdmitted = fine.wait(fullAt: fineFull, at: now * 1_000_000) == 0
            #expect(isAdmitted == (coarse.wait(fullAt: coarseFull, at: now) == 0))
            guard isAdmitted else { continue }
            admitted += 1
            fineFull = fine.fullAt(from: fineFull, at: now * 1_000_000)
            coarseFull = coarse.fullAt(from: coarseFull, at: now)
        }
        #expect(admitted > 200)
        #expect(admitted < 1900)
    }
}
