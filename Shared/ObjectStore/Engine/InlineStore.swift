import Logging
import ParseProtocol

/// A database in memory, for simulations. The stores on it are the processes of one service, one after the other or at
/// the same time. Only one thread uses it.
public final class MemoryDatabase: @unchecked Sendable {
    let connection: SQLiteConnection
    private var schema: Schema?

    /// - Throws: `StoreError`.
    public init() throws {
        connection = try SQLiteConnection(path: SQLiteConnection.inMemory, writing: .normal)
        // The journal copies whole pages, and Debian's SQLite fills deleted rows with zeros.
        try connection.executeOnce("PRAGMA page_size = 1024; PRAGMA secure_delete = OFF")
    }

    /// The schema, once classes and tables exist.
    func prepare(_ settings: WriterThread.Settings, _ logger: Logger) throws -> Schema {
        if let schema { return schema }
        try settings.migrator.migrate(connection, settings, logger)
        let made = try settings.prepare(connection) { _ in }
        schema = made
        return made
    }

    /// Keeps the present content for `revert`.
    public func keep() throws { try connection.executeOnce("BEGIN") }

    /// Restores the content that was kept.
    public func revert() throws { try connection.executeOnce("ROLLBACK; BEGIN") }

    /// Runs a statement outside of a store's jobs.
    public func rows(_ sql: String, _ arguments: [SQLValue] = []) throws -> [SQLRow] {
        try connection.rows(sql, arguments)
    }
}

/// A process of a simulation as its store sees it.
public protocol MemoryStage: AnyObject, Sendable {
    var database: MemoryDatabase { get }
    /// Whether this process does the work that only one process may do.
    var leads: Bool { get }
    /// Runs a job or a read on the simulation's thread, once, now or later.
    func run(isWrite: Bool, _ work: @escaping () -> Void)
    /// Called before a job is committed. An error undoes the job, like the end of the process.
    func commits() throws
    /// Called after a job was committed. An error becomes the job's result, as if its answer was lost.
    func committed() throws
}

/// Runs the jobs and reads of a store in memory when its stage lets them.
final class InlineStore: @unchecked Sendable {
    private let stage: any MemoryStage
    private let transaction: StoreTransaction
    let reader: StoreReader

    init(_ stage: any MemoryStage, _ settings: WriterThread.Settings, _ logger: Logger) throws {
        self.stage = stage
        let connection = stage.database.connection
        let schema = try stage.database.prepare(settings, logger)
        transaction = StoreTransaction(connection: connection, schema: schema, settings: settings)
        reader = StoreReader(within: connection, schema)
    }

    var leads: Bool { stage.leads }

    func submit(_ job: WriterThread.Job) {
        stage.run(isWrite: true) { [self] in job.finish(execute(job)) }
    }

    func read(_ job: ReaderPool.Job) {
        stage.run(isWrite: false) { [self] in
            do {
                try job.run(reader)
                job.finish(nil)
            } catch {
                job.finish(error)
            }
        }
    }

    /// - Returns: the failure; nil when the job was committed.
    private func execute(_ job: WriterThread.Job) -> (any Error)? {
        transaction.beginGroup()
        transaction.begin()
        do {
            try transaction.nested {
                try job.run(in: transaction)
                try stage.commits()
            }
            let actions = transaction.takeCommitActions()
            _ = transaction.takeWatchedChanges()
            try stage.committed()
            for action in actions { action() }
            return nil
        } catch {
            _ = transaction.takeCommitActions()
            _ = transaction.takeWatchedChanges()
            return error
        }
    }
}
