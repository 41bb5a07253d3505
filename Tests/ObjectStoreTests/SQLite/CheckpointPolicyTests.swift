import ObjectStore
import Testing

/// When the write-ahead log is copied into the database file. No I/O.
@Suite struct CheckpointPolicyTests {
    @Test func aSmallLogIsLeftAlone() {
        var copying = CheckpointPolicy()
        #expect(!copying.isWorthwhile)
        copying.committed(pages: CheckpointPolicy.quietPagesMin - 1)
        #expect(!copying.isWorthwhile)
        #expect(!copying.isDue)
    }

    @Test func aLogIsCopiedInTheQuietAndALargeOneAtOnce() {
        var copying = CheckpointPolicy()
        copying.committed(pages: CheckpointPolicy.quietPagesMin)
        #expect(copying.isWorthwhile)
        #expect(!copying.isDue)
        copying.committed(pages: CheckpointPolicy.pagesMax)
        #expect(copying.isDue)
        copying.wasCopied()
        #expect(!copying.isWorthwhile)
    }

    /// While a reader prevents the log from restarting, copied frames no longer count, but later frames do.
    @Test func aLogThatReadersKeepIsCopiedAgainWhenItHasGrown() {
        var copying = CheckpointPolicy()
        copying.committed(pages: CheckpointPolicy.pagesMax)
        copying.wasCopied()
        copying.committed(pages: CheckpointPolicy.pagesMax + 50)
        #expect(!copying.isDue)
        copying.committed(pages: 2 * CheckpointPolicy.pagesMax)
        #expect(copying.isDue)
    }

    @Test func aLogThatWasBegunAnewCountsFromItsBeginning() {
        var copying = CheckpointPolicy()
        copying.committed(pages: CheckpointPolicy.pagesMax)
        copying.wasCopied()
        copying.committed(pages: 40)
        #expect(!copying.isWorthwhile)
        copying.committed(pages: CheckpointPolicy.quietPagesMin)
        #expect(copying.isWorthwhile)
    }

    /// Overlapping readers never release the log by themselves.
    @Test func readersAreWaitedForBeforeTheLogGrowsForEver() {
        var copying = CheckpointPolicy()
        var waits: [Int] = []
        for pages in stride(from: 0, through: 40 * CheckpointPolicy.pagesMax, by: 500) {
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
        copying.committed(pages: CheckpointPolicy.pagesMax)
        #expect(copying.patience == 0, "It was begun anew.")
    }

    @Test func aLogThatIsNotBegunAnewIsTriedMoreOften() {
        var copying = CheckpointPolicy()
        copying.committed(pages: CheckpointPolicy.pagesMany + 1)
        copying.wasCopied()
        copying.committed(pages: CheckpointPolicy.pagesMany + CheckpointPolicy.quietPagesMin)
        #expect(!copying.isDue)
        copying.committed(pages: CheckpointPolicy.pagesMany + CheckpointPolicy.quietPagesMin + 1)
        #expect(copying.isDue)
    }
}
