import CSQLite

/// Decides when the pages of the write-ahead log are copied into the database file (a checkpoint). Has no I/O;
/// `SQLiteWriter` performs it.
///
/// SQLite's automatic checkpoint runs inside a commit, so that clients would wait for up to 64 MB of copying. Instead
/// the writer copies after the responses have left, and preferably while no request waits.
package struct CheckpointPolicy {
    /// Pages from which the log is copied even while clients wait: 64 MB. A page that many writes change is copied once
    /// for all of them: measured, this gives a sixth more creates than 4,000 pages.
    package static let pagesMax = 16_000
    /// The same while an index is built in steps: copying more would delay other writes for longer than a step.
    package static let pagesMaxBetweenSteps = 1000
    /// Pages of a log, which readers keep from restarting, beyond which copying is tried often: 128 MB.
    package static let pagesMany = 2 * pagesMax
    /// Pages of such a log beyond which the writer sometimes waits for the readers: 256 MB. Otherwise overlapping
    /// readers would let the log grow without bound.
    package static let patientPagesMin = 4 * pagesMax
    /// Milliseconds of that wait for each further 64 MB, and their maximum, which exceeds the duration of any read.
    private static let patienceStep = 250
    private static let patienceMax = 5000
    /// Pages that are worth copying while no request waits: 4 MB. Later commits then reuse the log from its start.
    package static let quietPagesMin = 1000
    /// Seconds without a write after which no request counts as waiting.
    package static let quietSeconds = 0.1

    /// Whether an index is being built in steps.
    package var isBuildingIndex = false
    /// Pages of the log after the last commit, at the last copy, and at the last wait for readers.
    private var pages = 0
    private var copied = 0
    private var waited = 0

    package init() {}

    /// Pages not copied since the last attempt; readers may have kept more from being copied.
    private var uncopied: Int { pages - copied }

    /// The log is large enough to be copied even while clients wait.
    package var isDue: Bool {
        uncopied >= (isBuildingIndex || pages > Self.pagesMany ? Self.pagesMaxBetweenSteps : Self.pagesMax)
    }
    /// Milliseconds that the copy waits for readers, so that the log can restart; usually 0. It waits only once per 64
    /// MB, because a backup may read for minutes.
    package var patience: Int {
        guard pages >= Self.patientPagesMin, pages - waited >= Self.pagesMax else { return 0 }
        return min(Self.patienceMax, Self.patienceStep * (1 + (pages - Self.patientPagesMin) / Self.pagesMax))
    }
    /// The log is worth copying while no request waits.
    package var isWorthwhile: Bool { uncopied >= Self.quietPagesMin }

    /// Records the log's pages after a commit. Fewer than before means that the log restarted.
    package mutating func committed(pages: Int) {
        if pages < self.pages { (copied, waited) = (0, 0) }
        self.pages = pages
    }

    /// Records a copy. Pages that readers still need in their old version wait for the next copy: a retry at each
    /// commit would cost each commit two waits for the disk.
    /// - Parameter hasWaited: whether the copy waited for readers.
    package mutating func wasCopied(hasWaited: Bool = false) {
        copied = pages
        if hasWaited { waited = pages }
    }
}

/// The size of the writing connection's log, which SQLite reports after each commit.
final class LogMeter {
    var copying = CheckpointPolicy()

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
