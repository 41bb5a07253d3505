import CloudService
import Testing

/// How much a cloud code process may write to the log.
@Suite struct LogRateLimitTests {
    /// How many of `count` lines are logged at this time.
    private func logged(_ count: Int, bytes: Int = 1, of allowance: inout LogRateLimit, now: Int64) -> Int {
        var logged = 0
        for _ in 0..<count where allowance.admits(bytes, now: now) { logged += 1 }
        return logged
    }

    @Test func linesAreBoundedAtOnceAndBySecond() {
        var allowance = LogRateLimit()
        #expect(logged(3000, of: &allowance, now: 7) == LogRateLimit.linesMax)
        #expect(logged(3000, of: &allowance, now: 1007) == LogRateLimit.linesPerSecond)
        #expect(logged(3000, of: &allowance, now: 1_000_000) == LogRateLimit.linesMax)
    }

    @Test func bytesAreBoundedAtOnceAndBySecond() {
        var allowance = LogRateLimit()
        let kibibytes = LogRateLimit.bytesMax >> 10
        #expect(logged(kibibytes + 10, bytes: 1024, of: &allowance, now: 7) < kibibytes + 1)
        var large = LogRateLimit()
        #expect(logged(20, bytes: LogRateLimit.bytesMax / 8, of: &large, now: 7) == 8)
        #expect(logged(20, bytes: LogRateLimit.bytesPerSecond, of: &large, now: 1008) == 1)
        var whole = LogRateLimit()
        #expect(logged(2, bytes: 10 * LogRateLimit.bytesMax, of: &whole, now: 7) == 1, "More than a bucketful is one.")
    }

    @Test func whatIsDroppedIsSaidOnceAfterAWhileOrAtTheEnd() {
        var allowance = LogRateLimit()
        _ = logged(LogRateLimit.linesMax, of: &allowance, now: 7)
        #expect(!allowance.hasDropped)
        #expect(logged(3, bytes: 5, of: &allowance, now: 7) == 0)
        #expect(allowance.hasDropped)
        let early = allowance.takeDropped(now: 6 + LogRateLimit.pause)
        #expect(early == nil)
        let dropped = allowance.takeDropped(now: 7 + LogRateLimit.pause)
        #expect(dropped == .init(lines: 3, bytes: 15))
        let again = allowance.takeDropped(now: 8 + LogRateLimit.pause, isEnd: true)
        #expect(again == nil)
        _ = logged(2000, of: &allowance, now: 8 + LogRateLimit.pause)
        let last = allowance.takeDropped(now: 8 + LogRateLimit.pause, isEnd: true)
        #expect(last != nil)
    }
}
