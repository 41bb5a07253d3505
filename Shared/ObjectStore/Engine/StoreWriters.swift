import Synchronization

/// Which processes write a schema of a PostgreSQL database. A file always has one writer.
public enum StoreWriters: String, CaseIterable, Sendable {
    /// Only the process that holds the schema's lock.
    case one
    /// Every process. The process with the lock leads: it does the work that only one process may do.
    case every
}

/// The number of this process's transactions that were retried: after a conflict with another process, or after a
/// failure of a job that ran without a savepoint.
final class Repetitions: Sendable {
    private let value = Atomic<Int>(0)
    var count: Int { value.load(ordering: .relaxed) }
    func note() { value.add(1, ordering: .relaxed) }
}
