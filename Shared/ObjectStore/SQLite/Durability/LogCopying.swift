import CSQLite

/// Decides when the pages of the write-ahead log are copied into the database file, without I/O.
///
/// SQLite would do it inside the commit that passes a number of pages, so that clients wait for up to 64 MB of copying.
/// The writer does it by itself instead: after answers have left, best when nobody asks for anything.
package struct LogCopying {
    /// Pages that are copied although clients wait: 64 MB. The pages that many writes share are copied once for all of
    /// them: measured a sixth more creates than at 4,000.
    package static let pagesMax = 16_000
    /// The same while an index is built in steps: copying more would hold up other writes for longer than a step.
    package static let pagesMaxBetweenSteps = 1000
    /// Pages of a log that readers keep from being begun anew, past which it is tried often: 128 MB.
    package static let pagesMany = 2 * pagesMax
    /// Pages of such a log past which the writer waits for those readers now and then: 256 MB. Readers that come one
    /// after the other would else let it grow for ever.
    package static let patientPagesMin = 4 * pagesMax
    /// Milliseconds that it waits, for each 64 MB that there are more; in the end longer than a read may take.
    private static let patienceStep = 250
    private static let patienceMax = 5000
    /// Pages that are worth copying when nobody waits: 4 MB. What comes next is then written over them.
    package static let quietPagesMin = 1000
    /// Seconds without a write after which nobody waits.
    package static let quietSeconds = 0.1

    /// Whether an index is built.
    package var isBetweenSteps = false
    /// Pages of the log after the last commit, and what it had when it was copied and when readers were waited for.
    private var pages = 0
    private var copied = 0
    private var waited = 0

    package init() {}

    /// Pages that are in the log alone; more than that when readers kept some from being copied.
    private var uncopied: Int { pages - copied }

    /// It has grown so far that it is copied at once.
    package var isDue: Bool {
        uncopied >= (isBetweenSteps || pages > Self.pagesMany ? Self.pagesMaxBetweenSteps : Self.pagesMax)
    }
    /// Milliseconds for which the copying waits for readers, so that the log can be begun anew; 0 as a rule. Only after
    /// each 64 MB: a backup may read for minutes.
    package var patience: Int {
        guard pages >= Self.patientPagesMin, pages - waited >= Self.pagesMax else { return 0 }
        return min(Self.patienceMax, Self.patienceStep * (1 + (pages - Self.patientPagesMin) / Self.pagesMax))
    }
    /// It is copied once nobody writes.
    package var isWorthwhile: Bool { uncopied >= Self.quietPagesMin }

    /// A commit left the log with so many pages. Fewer than before: it was begun anew.
    package mutating func committed(pages: Int) {
        if pages < self.pages { (copied, waited) = (0, 0) }
        self.pages = pages
    }

    /// All was copied that readers do not need as it was. What they kept waits for more: trying with each commit would
    /// cost each of them two waits for the disk.
    /// - Parameter hasWaited: for readers.
    package mutating func wasCopied(hasWaited: Bool = false) {
        copied = pages
        if hasWaited { waited = pages }
    }
}

/// The log of the writing connection, as SQLite tells of it after each commit.
final class LogMeter {
    var copying = LogCopying()

    /// Replaces SQLite's own checkpoints (https://www.sqlite.org/c3ref/wal_hook.html). It must live as long as the
    /// connection writes.
    func install(on handle: OpaquePointer) {
        sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                if let context {
                    Unmanaged<LogMeter>.fromOpaque(context).takeUnretainedValue().copying.committed(pages: Int(pages))
                }
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }
}
