import ParseProtocol

/// The part of an engine for the thread that writes: from the right to write to the end of each commit. Used by that
/// thread alone.
protocol StoreWriter: AnyObject {
    /// The board on which changes are announced (`ChangeBoard`); 0 for none.
    var boardIdentity: UInt64 { get }
    /// Whether commits still go where they went: false when the database was removed or replaced, or the connection is
    /// gone.
    var isInPlace: Bool { get }
    /// Why nothing more is written by this process when it is not; nil when it may begin again.
    var refusal: DatabaseRefused? { get }

    /// Whether this process does what only one may do. The one writer does.
    var isLeading: Bool { get }
    /// The time between two looks whether this process may lead; nil where only the one writer writes.
    var looksEvery: Duration? { get }
    /// Leads from now on, if nobody else does.
    /// - Throws: when the connection is gone.
    func look() throws

    /// Seconds between two tries to take the right to write.
    var patience: Double { get }

    /// Takes the right to write.
    /// - Returns: false while another process has it.
    /// - Throws: what is wrong with the place of the database.
    func take() throws -> Bool
    func release()
    /// Opens the writing connection and brings tables and classes to this release.
    /// - Throws: `DatabaseRefused` for a database that must not be written.
    func open() throws -> (connection: any StoreConnection, schema: Schema)
    /// All is ready: the first job may come.
    func ready()
    /// Commits the transaction of a group of jobs.
    /// - Parameter hasChanged: whether one of the jobs changed a row.
    func commit(_ changes: ChangeSet, hasChanged: Bool) throws
    /// The group is over, committed or not. Called before anybody hears of it.
    func ended(_ changes: ChangeSet)
    /// Called after the answers of a group have left.
    func answered()
    /// Does a piece of what can wait while no job comes; `waits` waits for one and gives true when none came.
    func rest(waits: () -> Bool)
    /// Ends after the last job. The transaction's statements are released.
    func close()
}

extension StoreWriter {
    var isLeading: Bool { true }
    var looksEvery: Duration? { nil }
    func look() throws {}
}
