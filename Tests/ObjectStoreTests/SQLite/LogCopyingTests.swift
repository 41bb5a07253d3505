import ObjectStore
import Testing

/// When the write-ahead log is copied into the database file. No I/O.
@Suite struct LogCopyingTests {
    @Test func aSmallLogIsLeftAlone() {
        var copying = LogCopying()
        #expect(!copying.isWorthwhile)
        copying.committed(pages: LogCopying.quietPagesMin - 1)
        #expect(!copying.isWorthwhile)
        #expect(!copying.isDue)
    }

    @Test func aLogIsCopiedInTheQuietAndALargeOneAtOnce() {
        var copying = LogCopying()
        copying.committed(pages: LogCopying.quietPagesMin)
        #expect(copying.isWorthwhile)
        #expect(!copying.isDue)
        copying.committed(pages: LogCopying.pagesMax)
        #expect(copying.isDue)
        copying.wasCopied()
        #expect(!copying.isWorthwhile)
    }

    /// A reader keeps the log from being begun anew: what is copied counts no more, what comes after it does.
    @Test func aLogThatReadersKeepIsCopiedAgainWhenItHasGrown() {
        var copying = LogCopying()
        copying.committed(pages: LogCopying.pagesMax)
        copying.wasCopied()
        copying.committed(pages: LogCopying.pagesMax + 50)
        #expect(!copying.isDue)
        copying.committed(pages: 2 * LogCopying.pagesMax)
        #expect(copying.isDue)
    }

    @Test func aLogThatWasBegunAnewCountsFromItsBeginning() {
        var copying = LogCopying()
        copying.committed(pages: LogCopying.pagesMax)
        copying.wasCopied()
        copying.committed(pages: 40)
        #expect(!copying.isWorthwhile)
        copying.committed(pages: LogCopying.quietPagesMin)
        #expect(copying.isWorthwhile)
    }

    /// Readers who come one after the other never let go of it by themselves.
    @Test func readersAreWaitedForBeforeTheLogGrowsForEver() {
        var copying = LogCopying()
        var waits: [Int] = []
        for pages in stride(from: 0, through: 40 * LogCopying.pagesMax, by: 500) {
            copying.committed(pages: pages)
            guard copying.isDue else { continue }
            let patience = copying.patience
            if patience > 0 { waits.append(patience) }
            copying.wasCopied(hasWaited: patience > 0)
        }
        #expect(waits.first == 250)
        #expect(waits.last == 5000, "At last longer than any read.")
        #expect(waits == waits.sorted())
        #expect(waits.count <= 37, "A backup that reads for minutes costs a wait for each 64 MB.")
        copying.committed(pages: 3)
        copying.committed(pages: LogCopying.pagesMax)
        #expect(copying.patience == 0, "It was begun anew.")
    }

    @Test func aLogThatIsNotBegunAnewIsTriedMoreOften() {
        var copying = LogCopying()
        copying.committed(pages: LogCopying.pagesMany + 1)
        copying.wasCopied()
        copying.committed(pages: LogCopying.pagesMany + LogCopying.quietPagesMin)
        #expect(!copying.isDue)
        copying.committed(pages: LogCopying.pagesMany + LogCopying.quietPagesMin + 1)
        #expect(copying.isDue)
    }
}
