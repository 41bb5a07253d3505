import CloudService
import Testing

/// What a process of cloud code may write into the log.
@Suite struct LogAllowanceTests {
    /// The lines that are logged of so many at this moment.
    private func logged(_ count: Int, bytes: Int = 1, of allowance: inout LogAllowance, now: Int64) -> Int {
        var logged = 0
        for _ in 0..<count where allowance.admits(bytes, now: now) { logged += 1 }
        return logged
    }

    @Test func linesAreBoundedAtOnceAndBySecond() {
        var allowance = LogAllowance()
        #expect(logged(3000, of: &allowance, now: 7) == LogAllowance.linesMax)
        #expect(logged(3000, of: &allowance, now: 1007) == LogAllowance.linesPerSecond)
        #expect(logged(3000, of: &allowance, now: 1_000_000) == LogAllowance.linesMax)
    }

    @Test func bytesAreBoundedAtOnceAndBySecond() {
        var allowance = LogAllowance()
        let kibibytes = LogAllowance.bytesMax >> 10
        #expect(logged(kibibytes + 10, bytes: 1024, of: &allowance, now: 7) < kibibytes + 1)
        var large = LogAllowance()
        #expect(logged(20, bytes: LogAllowance.bytesMax / 8, of: &large, now: 7) == 8)
        #expect(logged(20, bytes: LogAllowance.bytesPerSecond, of: &large, now: 1008) == 1)
        var whole = LogAllowance()
        #expect(logged(2, bytes: 10 * LogAllowance.bytesMax, of: &whole, now: 7) == 1, "More than a bucketful is one.")
    }

    @Test func whatIsDroppedIsSaidOnceAfterAWhileOrAtTheEnd() {
        var allowance = LogAllowance()
        _ = logged(LogAllowance.linesMax, of: &allowance, now: 7)
        #expect(!allowance.hasDropped)
        #expect(logged(3, bytes: 5, of: &allowance, now: 7) == 0)
        #expect(allowance.hasDropped)
        let early = allowance.takeDropped(now: 6 + LogAllowance.pause)
        #expect(early == nil)
        let dropped = allowance.takeDropped(now: 7 + LogAllowance.pause)
        #expect(dropped == .init(lines: 3, bytes: 15))
        let again = allowance.takeDropped(now: 8 + LogAllowance.pause, isEnd: true)
        #expect(again == nil)
        _ = logged(2000, of: &allowance, now: 8 + LogAllowance.pause)
        let last = allowance.takeDropped(now: 8 + LogAllowance.pause, isEnd: true)
        #expect(last != nil)
    }
}
