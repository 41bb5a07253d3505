import ParseProtocol

/// The engine-specific part of the writer's thread, from the right to write to the end of each commit. Only that thread
/// uses it.
protocol StoreWriter: AnyObject {
    /// The board on which changes are announced (`ChangeBoard`); 0 for none.
    var boardIdentity: UInt64 { get }
    /// Whether commits still reach the same database: false when it was removed or replaced, or the connection is lost.
    var isInPlace: Bool { get }
    /// Why this process must stop writing when `isInPlace` is false; nil when it may start again.
    var refusal: DatabaseRefused? { get }

    /// Whether this process does the work that only one process may do: cleanups, index builds and most background
    /// work. A single writer always does.
    var isLeading: Bool { get }
    /// The interval between two attempts to become the leader; nil where only a single writer writes.
    var leadInterval: Duration? { get }
    /// Becomes the leader if no other process leads.
    /// - Throws: when the connection is lost.
    func tryToLead() throws

    /// Seconds between two attempts to acquire the right to write.
    var retryInterval: Double { get }

    /// Acquires the right to write.
    /// - Returns: false while another process has it.
    /// - Throws: an error for an unusable location of the database.
    func take() throws -> Bool
    func release()
    /// Opens the writing connection and migrates tables and classes to this release.
    /// - Throws: `DatabaseRefused` for a database that must not be written.
    func open() throws -> (connection: any StoreConnection, schema: Schema)
    /// Called when the writer is ready for the first job.
    func ready()
    /// Commits the transaction of a group of jobs.
    /// - Parameter hasChanged: whether one of the jobs changed a row.
    func commit(_ changes: ChangeSet, hasChanged: Bool) throws
    /// Called at the end of a group, committed or not, before its jobs are completed.
    func ended(_ changes: ChangeSet)
    /// Called after the responses of a group have left.
    func answered()
    /// Does deferrable work while the queue is empty. `staysIdle` waits a moment; it returns false when a job has come.
    func doIdleWork(staysIdle: () -> Bool)
    /// Called after the last job, when the transaction's statements are released.
    func close()
}

extension StoreWriter {
    var isLeading: Bool { true }
    var leadInterval: Duration? { nil }
    func tryToLead() throws {}
}
