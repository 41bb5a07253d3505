import Foundation
import Logging
import ParseProtocol
import PostgreSQL
import ServiceContextModule
import Synchronization

/// The role of a process: the writer of the database, or a reader.
public enum StoreRole: Sendable {
    case reader, writer
}

/// The database of a store.
public enum StoreDatabase: Sendable {
    /// A SQLite file. Its folder is created if it is missing.
    case file(path: String)
    /// A schema of a PostgreSQL database. The schema is created if it is missing.
    case postgresql(PostgreSQLDatabase)

    /// The database's name in the log.
    var name: String {
        switch self {
        case .file(let path): path
        case .postgresql(let server): "PostgreSQL, schema \(server.schema)"
        }
    }
}

/// A schema of a PostgreSQL database, for one service's classes and tables.
public struct PostgreSQLDatabase: Sendable {
    let schema: String
    /// See `init`.
    let file: String?
    private(set) var target: PostgreSQLTarget

    /// A copy whose connections use these additional server settings.
    func setting(_ settings: [String: String]) -> PostgreSQLDatabase {
        var database = self
        database.target.settings.merge(settings) { $1 }
        return database
    }

    /// - Parameters:
    ///   - connection: libpq connection string; may list several hosts
    ///     (https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING). It contains the password.
    ///   - schema: the schema's name.
    ///   - file: the path of the equivalent SQLite file. Next to it, the single writer announces upcoming changes to
    ///     processes on its host (`ChangeAnnouncement`). Nil for no announcements.
    public init(connection: String, schema: String, file: String? = nil) {
        self.schema = schema
        self.file = file
        // The server holds the writer's lock for a vanished client until it detects the loss: by TCP keepalive probes
        // on an idle connection, and by the user timeout while a response is unacknowledged.
        let settings = [
            "tcp_keepalives_idle": "4", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3",
            "tcp_user_timeout": "10000", "idle_in_transaction_session_timeout": "60000",
        ]
        target = PostgreSQLTarget(
            connection, schema: schema, applicationName: "satchel-\(schema)", onlyWritable: true,
            settings: settings)
    }
}

/// A service's Parse classes and own tables, in one SQLite file or one schema of a PostgreSQL database. Each service
/// process has one (`ServiceHost.store`). One process writes it, or with PostgreSQL optionally every process
/// (`StoreWriters`); any number read it.
///
/// The process that holds the lock on a file (`WriterLock`) is its writer. SQLite before 3.51.3 can corrupt a WAL
/// database when two connections write or checkpoint at the same instant (https://www.sqlite.org/wal.html, section 11).
/// Therefore there is exactly one writing connection, and only that one checkpoints.
public final class ClassStore: Sendable {
    private let path: String
    private let writer: WriterThread
    private let readers: ReaderPool
    private let openReader: @Sendable () throws -> StoreReader
    /// Runs jobs and reads instead of the threads, in a simulation.
    private let inline: InlineStore?
    /// Builds automatic indexes concurrently with writes; nil where the writer itself builds them.
    private let builder: IndexBuilder?
    /// Claims rows for this process; nil where only one process writes.
    private let claimer: RowClaimer?
    private let isStopped: StopFlag
    private let repetitions: Repetitions
    /// The costly queries of this process; the index advisor reads them.
    package let shapes: ShapeLog
    /// The subscribers to committed changes.
    package let watch: ChangeWatch

    /// Describes a store without opening anything.
    /// - Parameters:
    ///   - classes: the classes that the service defines.
    ///   - writers: which processes write; a file always has one writer.
    ///   - allowClassCreation: whether callers without the master key may save objects of new classes.
    ///   - allowCustomObjectId: whether callers may choose the id of an object they create.
    ///   - allowance: the schema additions that clients may make beyond that.
    ///   - announcement: whether the writer announces changes to other processes before it commits them.
    ///   - migrations: of all tables except class tables. A new writer runs those that the database does not record.
    ///   - memberRecord: a file outside the database that records that this database exists. A start next to a missing
    ///     or older database is refused.
    ///   - isMoving: called when this process becomes the writer: whether it records its changes for a `StoreMove`.
    ///   - answering: called on the writer's thread after each commit with a closure that completes the commit's jobs.
    ///     It must run the closure. The responses of one commit can thus leave together.
    ///   - stage: the process of a simulation, with a database in memory; `database` then only names it.
    public init(
        _ database: StoreDatabase, classes: [ClassDefinition], synchronous: Synchronous = .full,
        writers: StoreWriters = .one, allowClassCreation: Bool,
        allowCustomObjectId: Bool, allowance: any SchemaQuota = UnlimitedSchema(),
        announcement: ChangeAnnouncement = .none, migrations: [Migrations] = [], memberRecord: String? = nil,
        isMoving: @escaping @Sendable () -> Bool = { false },
        answering: @escaping @Sendable (_ answers: () -> Void) -> Void = { $0() },
        stage: (any MemoryStage)? = nil, logger: Logger
    ) throws {
        let path = database.name
        self.path = path
        let migrator = Migrator(migrations)
        let shapes = ShapeLog()
        self.shapes = shapes
        let watch = ChangeWatch()
        self.watch = watch
        let repetitions = Repetitions()
        self.repetitions = repetitions
        let settings = WriterThread.Settings(
            path: path, classes: classes, migrator: migrator, synchronous: synchronous,
            allowClassCreation: allowClassCreation, allowCustomObjectId: allowCustomObjectId,
            allowance: allowance, shapes: shapes, announcement: announcement, watch: watch,
            repetitions: repetitions, memberRecord: memberRecord, isMoving: isMoving, answering: answering)
        let connecting: @Sendable () throws -> any StoreConnection
        switch database {
        case .file(let path):
            if stage == nil {
                try FileManager.default.createDirectory(
                    at: URL(fileURLWithPath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
            }
            builder = nil
            claimer = nil
            connecting = { try SQLiteConnection(path: path, writing: nil) }
            writer = WriterThread(
                settings: settings, writer: SQLiteWriter(path: path, settings: settings, logger: logger),
                logger: logger)
        case .postgresql(let server):
            builder = IndexBuilder(server)
            claimer = writers == .every ? RowClaimer(server) : nil
            let readOnly = server.setting(["default_transaction_read_only": "on"])
            connecting = { try PostgreSQLStoreConnection(readOnly) }
            writer = WriterThread(
                settings: settings,
                writer: PostgreSQLWriter(server, writers: writers, settings: settings, logger: logger),
                logger: logger)
        }
        inline = try stage.map { try InlineStore($0, settings, logger) }
        // PostgreSQL needs an extra query for this, which only caches benefit from.
        let reportsSharing = if case .file = database { true } else { announcement == .kept }
        let isStopped = StopFlag()
        self.isStopped = isStopped
        let quickQueries = QuickQueries()
        let health = writer.health
        let openReader: @Sendable () throws -> StoreReader = {
            let reader = try StoreReader.open(
                path: path, migrator, shapes, reportsSharing: reportsSharing, isStopped: { isStopped.isRaised },
                connecting: connecting)
            reader.connection.quickQueries = quickQueries
            reader.health = health
            return reader
        }
        self.openReader = openReader
        readers = ReaderPool(open: openReader)
        let hasRenewed = StopFlag()
        health.onDamagedIndex { [weak self] in
            // Once: damage that returns at once has another cause.
            guard let self, self.mayWrite, !hasRenewed.isRaised else { return }
            hasRenewed.raise()
            self.submit(for: nil, { try $0.renewIndexes() }, completion: { _ in })
        }
        // A separate transaction, because the failed save is rolled back.
        shapes.whenOvergrown { [weak self] ids in
            self?.submit(
                for: nil, { try $0.retireIndexes(ids) }, completion: { _ in })
        }
    }

    /// The current role of this process. A reader becomes the writer when the lock is free. Where every process writes,
    /// the leader is the writer.
    public var role: StoreRole { inline?.leads ?? writer.leads ? .writer : .reader }

    /// Whether `write` and `submit` currently accept jobs.
    public var mayWrite: Bool { inline != nil || writer.mayWrite }

    /// The number of transactions that were retried (`Repetitions`).
    package var repeatedGroups: Int { repetitions.count }

    /// What waits now, and the sizes of the files.
    public var figures: StoreFigures {
        StoreFigures(
            waitingWrites: writer.waitingCount, waitingReads: readers.waitingCount,
            commitSeconds: Double(CommitCounters.microseconds.load(ordering: .relaxed)) / 1_000_000,
            fileBytes: isServed ? nil : StoreFigures.bytes(of: path),
            logBytes: isServed ? nil : StoreFigures.bytes(of: path + "-wal"))
    }

    /// The board (`ChangeBoard`) on which this process, as the writer, announces changes; 0 for none.
    public var boardIdentity: UInt64 { writer.boardIdentity }

    /// The storage trouble that made the last write fail, or that blocks a write at a server; nil while writing works.
    public var trouble: StorageTrouble? { writer.health.trouble ?? (isServed && writer.isStuck ? .stuck : nil) }

    /// Whether the database is on a server, whose commits may wait for other parties, such as a standby.
    public var isServed: Bool { builder != nil }

    /// - Parameter listener: called when trouble begins; must return at once.
    public func onTrouble(_ listener: @escaping @Sendable () -> Void) { writer.health.onTrouble(listener) }

    /// Commits a transaction that changes nothing. A successful commit clears `trouble`.
    public func tryWriting() async {
        // Setting the number writes its page even if the value is unchanged.
        if (try? await write(for: nil) { try $0.connection.setGeneration($0.schema.generation) }) != nil {
            writer.health.recovered()
        }
    }

    /// Waits in the background for the lock and becomes the writer.
    /// - Parameters:
    ///   - refused: called instead when the database is not the one this process expects (`DatabaseRefused`). This
    ///     process never writes it, or stops writing it.
    ///   - mayWrite: called on the writer's thread, before the first job, when this process accepts writes, whether it
    ///     leads or not. Called with false when it stops accepting them, for example while the database is unreachable.
    ///   - became: called once on the writer's thread, after `mayWrite`, when this process is the writer, or leads
    ///     where every process writes. A single writer calls it before the first job.
    public func startWriting(
        refused: @escaping @Sendable (DatabaseRefused) -> Void = { _ in },
        mayWrite: @escaping @Sendable (Bool) -> Void = { _ in }, _ became: @escaping @Sendable () -> Void
    ) {
        writer.start(refused: refused, mayWrite: mayWrite, became)
    }

    /// Whether a writer has checked the file. False while this process, after `startWriting`, may still refuse it.
    public var isSettled: Bool { writer.isSettled }

    /// Opens a reader for the calling thread. Waits up to 30 s for a file that does not exist yet or that the writer is
    /// still migrating.
    /// - Throws: `.serviceUnavailable` (2) when it is not ready by then; `DatabaseRefused` when a newer release wrote
    ///   it.
    public func makeReader() throws -> StoreReader {
        try inline?.reader ?? openReader()
    }

    /// Reads on one of the store's reader threads. `body` may run twice: a long read restarts on the thread for long
    /// reads.
    /// - Parameter share: the share of the request that the read is for; nil for the process's own work.
    /// - Throws: what `body` throws; `.requestLimitExceeded` (155) when too many reads wait, `.timeout` (124) when the
    ///   share's budget is spent.
    public func read<T: Sendable>(
        for share: WorkShare?, _ body: @escaping @Sendable (StoreReader) throws -> T
    ) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            submitRead(for: share, body) { continuation.resume(with: $0) }
        }
    }

    /// As `read`, with a callback. The callback runs on a reader thread, or on the calling thread when the read is
    /// refused at once. It must not block.
    /// - Parameter isCostly: the read already exceeded its time slice on a lane.
    public func submitRead<T: Sendable>(
        for share: WorkShare?, isCostly: Bool = false, _ body: @escaping @Sendable (StoreReader) throws -> T,
        completion: @escaping @Sendable (Result<T, any Error>) -> Void
    ) {
        var result: T?
        let job = ReaderPool.Job(
            share: share, run: { result = try body($0) }, finish: { completion(ClassStore.outcome(result, $0)) })
        if let inline { return inline.read(job) }
        readers.submit(job, isCostly: isCostly)
    }

    /// Reads one snapshot on a thread and a connection of its own, so that a read of minutes delays no client.
    /// - Parameters:
    ///   - limit: of the whole read.
    ///   - logBytes: by which a file's log may grow meanwhile. While a snapshot is read, the log cannot restart.
    /// - Throws: as `makeReader`; what `body` throws; `.timeout` (124) after the limits.
    public func readApart<T: Sendable>(
        within limit: Duration, logBytes: Int = 512 << 20, _ body: @escaping @Sendable (StoreReader) throws -> T
    ) async throws -> T {
        // A simulation has one thread.
        if inline != nil { return try await read(for: nil, body) }
        return try await withCheckedThrowingContinuation { continuation in
            let thread = Thread { [self] in
                ThreadPriority.lower(to: ReaderPool.niceness)
                let result = Result<T, any Error> {
                    let reader = try makeReader()
                    reader.timeLimit = limit
                    if !isServed {
                        let log = path + "-wal"
                        let most = StoreFigures.bytes(of: log) + logBytes
                        reader.connection.timeLimit.endsEarly = { StoreFigures.bytes(of: log) > most }
                    }
                    return try reader.onOneSnapshot { try body(reader) }
                }
                continuation.resume(with: result)
            }
            thread.name = "store-apart"
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    static func outcome<T>(_ result: T?, _ failure: (any Error)?) -> Result<T, any Error> {
        if let failure { return .failure(failure) }
        return result.map { .success($0) } ?? .failure(ParseError.internalError)
    }

    /// Runs a job on the writer and returns when it is committed; with `.full`, when it is on the disk.
    /// - Parameters:
    ///   - share: the share of the request that the job is for; nil for the process's own work.
    ///   - seldomFails: as for `submit`.
    /// - Throws: what the job throws; `.serviceUnavailable` (2) when this process does not write or too many jobs wait;
    ///   for a client's job, `.requestLimitExceeded` (155) when too many wait; `StoreError` when the commit failed.
    ///   After any of these errors nothing of the job is stored.
    public func write<T: Sendable>(
        for share: WorkShare?, seldomFails: Bool = false,
        _ body: @escaping @Sendable (StoreTransaction) throws -> T
    ) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            submit(for: share, seldomFails: seldomFails, body) { continuation.resume(with: $0) }
        }
    }

    /// As `write`, with a callback. The callback runs on the writer's thread, or on the calling thread when the job is
    /// refused at once. It must not block.
    ///
    /// `body` may run again: where every process writes, after a conflict with another process; anywhere, after a
    /// failure of another job of its commit that ran without a savepoint. Its side effects outside the transaction may
    /// happen several times; only the last result counts.
    /// - Parameters:
    ///   - context: names the request that the job is for.
    ///   - seldomFails: in SQLite the job runs without a savepoint, which would copy every page that it changes. When
    ///     it fails after its first change, all jobs of its commit are undone and run again, with savepoints.
    ///   - changesAtOnce: called before the job; true if the job throws only before its first change and so needs no
    ///     savepoint.
    public func submit<T: Sendable>(
        for share: WorkShare?, of context: ServiceContext? = ServiceContext.current, seldomFails: Bool = false,
        _ body: @escaping @Sendable (StoreTransaction) throws -> T,
        completion: @escaping @Sendable (Result<T, any Error>) -> Void,
        changesAtOnce: @escaping @Sendable (StoreTransaction) -> Bool = { _ in false }
    ) {
        let job = ClosureJob(
            body, completion: completion, changesAtOnce: changesAtOnce, seldomFails: seldomFails)
        submit([SubmittedJob(job, for: share, of: context)])
    }

    /// As above, for several jobs in their order. The writer's thread wakes up once for all of them.
    package func submit(_ submitted: [SubmittedJob]) {
        let jobs = submitted.map { WriterThread.Job($0) }
        if let inline { jobs.forEach(inline.submit) } else { writer.submit(jobs) }
    }

    /// Claims rows that represent pending work, where every process writes. The rows come in no particular order.
    /// - Returns: empty while this process accepts no writes or cannot store them, because it could not record the
    ///   finished work.
    /// - Throws: `StoreError`, `.timeout` (124). Rows may then be claimed whose claim expires unused.
    public func claim(_ claim: RowClaim) async throws -> [SQLRow] {
        if inline != nil { return try await write(for: nil) { try claim.take(in: $0) } }
        guard let claimer, mayWrite, trouble == nil else { return [] }
        return try await claimer.take(claim)
    }

    /// Runs one step of index maintenance: in SQLite a short job of the writer; in PostgreSQL the complete work on one
    /// index, concurrently with writes.
    /// - Throws: as `write`; `StoreError` when the server rejects the index.
    package func stepIndexes(_ effort: IndexEffort = IndexEffort()) async throws -> IndexStep {
        guard let builder else { return try await write(for: nil) { try $0.stepIndexes(effort) } }
        let (text, work) = try await write(for: nil) { (try $0.stepText(effort), try $0.nextIndexWork()) }
        if let text { return text }
        guard let work else { return .nothing }
        let outcome = try await builder.perform(work)
        return try await write(for: nil) { try $0.ended(work, outcome) }
    }

    /// Finishes the accepted jobs, closes the file and releases the lock. Readers made by `makeReader` stay usable;
    /// `read` does not.
    public func stop() {
        isStopped.raise()
        builder?.stop()
        claimer?.stop()
        writer.stop()
        readers.stop()
    }
}

/// Ends the readers' wait for a file that does not exist yet.
private final class StopFlag: Sendable {
    private let value = Mutex(false)
    var isRaised: Bool { value.withLock { $0 } }
    func raise() { value.withLock { $0 = true } }
}
