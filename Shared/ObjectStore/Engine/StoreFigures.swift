import CoreMetrics
import Glibc
import Synchronization

/// Queues and sizes of a store, for operators.
public struct StoreFigures: Sendable {
    /// Writes that wait for the writer's thread.
    public let waitingWrites: Int
    /// Reads that wait for a reader's thread.
    public let waitingReads: Int
    /// The time of the commits that `satchel_store_commits` counts.
    public let commitSeconds: Double
    /// Bytes of the SQLite file; nil for a database on a server.
    public let fileBytes: Int?
    /// Bytes of its write-ahead log; nil for a database on a server.
    public let logBytes: Int?

    /// Bytes of a file; 0 when there is none.
    static func bytes(of path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }
}

/// The commits of this process, as swift-metrics counts them.
enum CommitCounters {
    static let commits = Counter(label: "satchel_store_commits")
    static let writes = Counter(label: "satchel_store_writes")
    static let repeats = Counter(label: "satchel_store_repeated_groups")
    /// The time of these commits. A counter of swift-metrics has whole numbers only.
    static let microseconds = Atomic<Int64>(0)
}
