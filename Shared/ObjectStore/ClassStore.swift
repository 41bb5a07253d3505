import Foundation
import Logging
import ParseProtocol
import PostgreSQL
import Synchronization

/// The role of a process, which writes the file or only reads it.
public enum StoreRole: Sendable {
    case reader, writer
}

/// The database of a store.
public enum StoreDatabase: Sendable {
    /// A SQLite file. Its folder is made when it is missing.
    case file(path: String)
    /// A schema of a PostgreSQL database, which is made when it is missing.
    case postgresql(PostgreSQLDatabase)

    /// Its name in the log.
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
    let dialect: Dialect

    /// The same for connections with other settings of the server.
    func setting(_ settings: [String: String]) -> PostgreSQLDatabase {
        var database = self
        database.target.settings.merge(settings) { $1 }
        return database
    }

    /// - Parameters:
    ///   - connection: the connection string as libpq takes it, with several hosts if need be
    ///     (https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING). It has the password.
    ///   - schema: the schema's name.
    ///   - file: the path that the database would have as a file, beside which its one writer tells the processes of
    ///     its host what it is about to change (`ChangeAnnouncement`). Nil where there is nobody to tell.
    ///   - isPlain: asks for nothing that CockroachDB or YugabyteDB has not (docs/postgresql-engines.md). A schema
    ///     stays what it was made as.
    public init(connection: String, schema: String, file: String? = nil, isPlain: Bool = false) {
        self.schema = schema
        self.file = file
        dialect = isPlain ? .plain : .postgresql
        // A client that vanished holds the writer's lock until the server misses it: by probes while nothing is under
        // way, and by the time for which an answer on its way stays without a word.
        let probes = [
            "tcp_keepalives_idle": "4", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3",
            "tcp_user_timeout": "10000",
        ]
        // CockroachDB refuses those, and a lease ends by itself.
        target = PostgreSQLTarget(
            connection, schema: schema, applicationName: "satchel-\(schema)", onlyWritable: true,
            settings: (isPlain ? [:] : probes).merging(["idle_in_transaction_session_timeout": "60000"]) { $1 })
    }
}

/// Parse classes in one SQLite file or one schema of a PostgreSQL database, which one process writes and any number
/// read.
///
/// The writer of a file is whoever holds the lock on the file (`WriterLock`). SQLite before 3.51.3 can corrupt a WAL
/// database when two connections write or checkpoint at the same instant (https://www.sqlite.org/wal.html, section 11);
/// there is therefore exactly one writing connection, and only that one checkpoints.
public final class ClassStore: Sendable {
    private let path: String
    private let connecting: @Sendable () throws -> any StoreConnection
    private let migrator: Migrator
    private let writer: WriterThread
    private let readers: ReaderPool
    /// Makes automatic indexes beside the writes; nil where the writer itself makes them.
    private let builder: IndexBuilder?
    /// Takes rows for this process; nil where one process writes.
    private let claimer: RowClaimer?
    private let isStopped: StopFlag
    private let tellsSharing: Bool
    private let repetitions: Repetitions
    /// The costly queries of this process, for the indexes that they need.
    package let shapes: ShapeLog
    /// Who is told of changes after they were committed.
    package let watch: ChangeWatch

    /// Describes a store; nothing is opened yet.
    /// - Parameters:
    ///   - classes: the classes the service knows.
    ///   - writers: who writes; of a file one process does in any case.
    ///   - allowClassCreation: whether callers without the master key may save objects of new classes.
    ///   - allowCustomObjectId: whether callers may choose the id of an object they create.
    ///   - allowance: what clients may add to classes beyond that.
    ///   - announcement: whether other processes are told beforehand what is changed.
    ///   - migrations: of the tables beside the classes; what the file does not record of them, a new writer does.
    ///   - isMoving: asked when this process becomes the writer: whether it notes what it changes, for a `StoreMove`.
    ///   - answering: called on the writer's thread after each commit with what answers its jobs, which it runs: so
    ///     that answers which leave in a row can leave together.
    public init(
        _ database: StoreDatabase, classes: [ClassDefinition], synchronous: Synchronous = .full,
        writers: StoreWriters = .one, allowClassCreation: Bool,
        allowCustomObjectId: Bool, allowance: any SchemaAllowance = OpenSchema(),
        announcement: ChangeAnnouncement = .none, migrations: [Migrations] = [],
        isMoving: @escaping @Sendable () -> Bool = { false },
        answering: @escaping @Sendable (_ answers: () -> Void) -> Void = { $0() }, logger: Logger
    ) throws {
        let path = database.name
        self.path = path
        let migrator = Migrator(migrations)
        self.migrator = migrator
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
            repetitions: repetitions, isMoving: isMoving, answering: answering)
        switch database {
        case .file(let path):
            try FileManager.default.createDirectory(
                at: URL(fileURLWithPath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
            builder = nil
            claimer = nil
            connecting = { try SQLiteConnection(path: path, writing: nil) }
            writer = WriterThread(
                settings: settings, writer: SQLiteWriter(path: path, settings: settings, logger: logger),
                logger: logger)
        case .postgresql(let server):
            let builder = IndexBuilder(server)
            self.builder = builder
            let writers = server.dialect == .plain ? .one : writers
            claimer = writers == .every ? RowClaimer(server) : nil
            connecting = { try PostgreSQLStoreConnection(server) }
            writer = WriterThread(
                settings: settings,
                writer: PostgreSQLWriter(
                    server, writers: writers, settings: settings, logger: logger,
                    interruptBuilder: { builder.interrupt() }),
                logger: logger)
        }
        let connecting = connecting
        // A server is asked once more for it, which is in vain where nobody keeps answers.
        let tellsSharing = if case .file = database { true } else { announcement == .kept }
        self.tellsSharing = tellsSharing
        let isStopped = StopFlag()
        self.isStopped = isStopped
        readers = ReaderPool {
            try StoreReader.open(
                path: path, migrator, shapes, tellsSharing: tellsSharing, isStopped: { isStopped.isRaised },
                connecting: connecting)
        }
        // A transaction of its own: what the save did is undone.
        shapes.whenOvergrown { [weak self] ids in
            self?.submit(
                for: nil, { try $0.retireIndexes(ids) }, completion: { _ in })
        }
    }

    /// The role of this process at this moment; a reader becomes the writer when the lock is free. Where every process
    /// writes, the writer is the one that leads.
    public var role: StoreRole { writer.leads ? .writer : .reader }

    /// Whether `write` and `submit` take jobs at this moment.
    public var mayWrite: Bool { writer.mayWrite }

    /// The number of transactions that were done again because those of other processes overtook them.
    package var repeatedGroups: Int { repetitions.count }

    /// The board on which this process, as the writer, says what it is about to change (`ChangeBoard`); 0 for none.
    public var boardIdentity: UInt64 { writer.boardIdentity }

    /// The trouble with the disk that made the last write fail, or with a server that keeps one waiting; nil when
    /// writing works.
    public var trouble: StorageTrouble? { writer.health.trouble ?? (isServed && writer.isStuck ? .stuck : nil) }

    /// Whether the database is a server's, whose commits may wait for others, such as a standby.
    public var isServed: Bool { builder != nil }

    /// - Parameter hearer: called when trouble begins; must return at once.
    public func whenTroubled(_ hearer: @escaping @Sendable () -> Void) { writer.health.whenTroubled(hearer) }

    /// Commits something that changes nothing. When it reaches the disk, `trouble` is over.
    public func tryWriting() async {
        // Setting the number writes its page also when it stays the same.
        if (try? await write { try $0.connection.setGeneration($0.schema.generation) }) != nil {
            writer.health.recovered()
        }
    }

    /// Waits in the background for the lock and becomes the writer.
    /// - Parameters:
    ///   - refused: called instead when the database is not what was left there (`DatabaseRefused`); nothing is ever
    ///     written then, or not any more.
    ///   - mayWrite: called on the writer's thread, before the first job, when this process takes writes, whether it
    ///     leads or not; and with false when it takes none any more, as while the database is away.
    ///   - became: called once on the writer's thread, after `mayWrite`, when this process is the writer, or leads
    ///     where every process writes. The one writer calls it before the first job.
    public func startWriting(
        refused: @escaping @Sendable (DatabaseRefused) -> Void = { _ in },
        mayWrite: @escaping @Sendable (Bool) -> Void = { _ in }, _ became: @escaping @Sendable () -> Void
    ) {
        writer.start(refused: refused, mayWrite: mayWrite, became)
    }

    /// Whether the file was looked at by whoever writes it; false while this process, after `startWriting`, may still
    /// refuse it.
    public var isSettled: Bool { writer.isSettled }

    /// Opens a reader for the calling thread. Waits up to 30 s for a file that is not there yet, or is still brought to
    /// this release.
    /// - Throws: `.serviceUnavailable` (2) when there is none by then; `DatabaseRefused` when a newer release wrote it.
    public func makeReader() throws -> StoreReader {
        try StoreReader.open(
            path: path, migrator, shapes, tellsSharing: tellsSharing, isStopped: { isStopped.isRaised },
            connecting: connecting)
    }

    /// Reads on one of the store's own reader threads, on the account of the current task's share. `body` may be called
    /// twice: a read that takes long is begun anew where it does not hold up others.
    /// - Throws: what `body` throws; `.requestLimitExceeded` (155) when too many reads wait, `.timeout` (124) when the
    ///   share's budget is spent.
    public func read<T: Sendable>(_ body: @escaping @Sendable (StoreReader) throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            submitRead(for: .current, body) { continuation.resume(with: $0) }
        }
    }

    /// As `read`, with a callback. It runs on a reader's thread (on the calling thread when the read is refused at
    /// once) and must not block.
    /// - Parameter isCostly: the read took too long for a lane already.
    public func submitRead<T: Sendable>(
        for share: WorkShare?, isCostly: Bool = false, _ body: @escaping @Sendable (StoreReader) throws -> T,
        completion: @escaping @Sendable (Result<T, any Error>) -> Void
    ) {
        var result: T?
        readers.submit(
            ReaderPool.Job(
                share: share, run: { result = try body($0) },
                finish: { completion(ClassStore.outcome(result, $0)) }),
            isCostly: isCostly)
    }

    private static func outcome<T>(_ result: T?, _ failure: (any Error)?) -> Result<T, any Error> {
        if let failure { return .failure(failure) }
        return result.map { .success($0) } ?? .failure(ParseError.internalError)
    }

    /// Runs a job on the writer and returns when it is committed, with `.full` on the disk.
    /// - Throws: what the job throws; `.serviceUnavailable` (2) when this process does not write or too many jobs wait,
    ///   `.requestLimitExceeded` (155) in place of the latter for a client's; `StoreError` when the commit failed. In
    ///   each case nothing of the job was kept.
    public func write<T: Sendable>(_ body: @escaping @Sendable (StoreTransaction) throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            submit(for: .current, body) { continuation.resume(with: $0) }
        }
    }

    /// As `write`, with a callback. It runs on the writer's thread (on the calling thread when the job is refused at
    /// once) and must not block.
    ///
    /// Where every process writes, `body` is run again when another process overtook it: what it does outside of the
    /// transaction it may do several times, and only the last time counts.
    /// - Parameter changesAtOnce: asked before the job; true for one that throws only before its first change, which
    ///   then needs no savepoint.
    public func submit<T: Sendable>(
        for share: WorkShare? = nil, _ body: @escaping @Sendable (StoreTransaction) throws -> T,
        completion: @escaping @Sendable (Result<T, any Error>) -> Void,
        changesAtOnce: @escaping @Sendable (StoreTransaction) -> Bool = { _ in false }
    ) {
        var result: T?
        // It may run several times.
        var (runs, charged) = (0, Int64(0))
        writer.submit(
            WriterThread.Job(
                client: share?.client ?? .shop, weight: share?.weight ?? 1,
                run: { transaction in
                    transaction.isRepeated = runs > 0
                    runs += 1
                    defer { transaction.isRepeated = false }
                    result = try transaction.accounted(share, beyond: &charged) { try body(transaction) }
                },
                finish: { completion(ClassStore.outcome(result, $0)) }, changesAtOnce: changesAtOnce))
    }

    /// Takes rows that are work to do, where every process writes. The rows come in no particular order.
    /// - Returns: none while this process takes no writes, or cannot store them: what is done could not be noted.
    /// - Throws: `StoreError`, `.timeout` (124). Rows may be claimed then, whose time ends unused.
    public func claim(_ claim: RowClaim) async throws -> [SQLRow] {
        guard let claimer, mayWrite, trouble == nil else { return [] }
        return try await claimer.take(claim)
    }

    /// One step at automatic indexes: in SQLite a short job of the writer, in PostgreSQL all of one index, beside the
    /// writes.
    /// - Throws: as `write`; `StoreError` for what the server says of an index.
    package func stepIndexes(_ effort: IndexEffort = IndexEffort()) async throws -> IndexStep {
        guard let builder else { return try await write { try $0.stepIndexes(effort) } }
        guard let work = try await write({ try $0.nextIndexWork() }) else { return .nothing }
        let outcome = try await builder.perform(work)
        return try await write { try $0.ended(work, outcome) }
    }

    /// Finishes the jobs that were taken, closes the file and releases the lock. Readers made by `makeReader` stay
    /// usable; `read` does not.
    public func stop() {
        isStopped.raise()
        builder?.stop()
        claimer?.stop()
        writer.stop()
        readers.stop()
    }
}

/// Ends the waiting of readers for a file that is not there yet.
private final class StopFlag: Sendable {
    private let value = Mutex(false)
    var isRaised: Bool { value.withLock { $0 } }
    func raise() { value.withLock { $0 = true } }
}
