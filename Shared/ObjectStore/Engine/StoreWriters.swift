import Synchronization

/// Who writes a schema of a PostgreSQL database. A file has one writer in any case.
public enum StoreWriters: String, CaseIterable, Sendable {
    /// The process that holds the schema's lock.
    case one
    /// Each process; the one that holds the lock leads: it does what only one may do.
    case every
}

/// The number of transactions of this process that were done again because those of others overtook them.
final class Repetitions: Sendable {
    private let value = Atomic<Int>(0)
    var count: Int { value.load(ordering: .relaxed) }
    func note() { value.add(1, ordering: .relaxed) }
}
