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
}
