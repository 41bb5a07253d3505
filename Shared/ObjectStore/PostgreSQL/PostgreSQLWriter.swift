import Logging
import ParseProtocol
import PostgreSQL

/// Writes a schema of a PostgreSQL database: the one process whose writing connection holds the schema's advisory lock,
/// or every process, of which the one that holds it leads. Where the server has no such locks it is the one process
/// that has the lease (`StoreLease`).
///
/// The lock belongs to the connection by which everything is written, so that nobody writes, or leads, without it: a
/// connection that is lost has lost both. Who finds that somebody else wrote or led meanwhile does not go on, because
/// what its process remembers may be wrong, and what only one may do goes on in it; it is started anew.
final class PostgreSQLWriter: StoreWriter {
    private let database: PostgreSQLDatabase
    private var target: PostgreSQLTarget { database.target }
    private let writers: StoreWriters
    /// Nil where locks say who writes.
    private let lease: StoreLease?
    private var keeper: LeaseKeeper?
    /// Ends what this process does to indexes beside its writes.
    private let interruptBuilder: @Sendable () -> Void
    private let settings: WriterThread.Settings
    private let logger: Logger
    private var connection: PostgreSQLStoreConnection?
    /// The number that this process gave its writing or leading; nil before.
    private var term: Int64?
    /// Whether the connection has the schema's lock.
    private var hasLock = false
    /// Whether it has the right to write beside those that write now.
    private var hasPlace = false
    private(set) var isLeading = false
    /// Of the one writer. Another that takes its place on this host keeps the same file under another identity.
    private var board: ChangeBoard?
    private(set) var boardIdentity: UInt64 = 0

    init(
        _ database: PostgreSQLDatabase, writers: StoreWriters, settings: WriterThread.Settings, logger: Logger,
        interruptBuilder: @escaping @Sendable () -> Void
    ) {
        self.database = database
        self.writers = writers
        self.interruptBuilder = interruptBuilder
        lease = database.dialect == .plain ? StoreLease() : nil
        self.settings = settings
        self.logger = logger
    }

    /// A round trip to a server, which other replicas ask too; a lease is a change of a row. Where every process
    /// writes, one waits only for another that brings the tables to this release.
    var patience: Double { lease != nil ? 1 : writers == .one ? 0.25 : 0.1 }
    var isInPlace: Bool { connection.map { !$0.isBroken } ?? false }
    /// Another connection may be as good.
    let refusal: DatabaseRefused? = nil
    var looksEvery: Duration? {
        if lease != nil { return StoreLease.renewedEvery }
        return writers == .one ? nil : .milliseconds(250)
    }

    func take() throws -> Bool {
        let connection =
            try self.connection
            ?? PostgreSQLStoreConnection(
                database, isWriting: true, isShared: writers == .every, interruptBuilder: interruptBuilder)
        self.connection = connection
        do {
            if let lease { return try take(lease, connection) }
            // Who led before leads or ends.
            if writers == .one || term != nil, try !takeLock(connection) { return false }
            hasPlace = try hasPlace || takesPlace(connection)
            return try hasPlace && (writers == .one || takes("try_advisory_lock", preparation, connection))
        } catch {
            close()
            throw error
        }
    }

    private func take(_ lease: StoreLease, _ connection: PostgreSQLStoreConnection) throws -> Bool {
        if try connection.hasTable("storeState"), try !connection.hasTable("storeLease") { throw mixed(isPlain: false) }
        do {
            try StoreLease.prepare(database.schema, connection)
        } catch let error as StoreError where StorageTrouble(error) == nil && !connection.isBroken {
            // Another replica does the same.
            return false
        }
        hasLock = try lease.take(connection)
        if hasLock { keeper = keeper ?? LeaseKeeper(lease, database) }
        return hasLock
    }

    /// One of the two kinds of processes has locks and the other a lease, so that both would write.
    private func mixed(isPlain: Bool) -> DatabaseRefused {
        DatabaseRefused(
            settings.path,
            """
            \(isPlain ? "is" : "is not") one of a service with SATCHEL_POSTGRESQL=plain, and this process is of the \
            other kind.
            """,
            "Set it as it was. To change it, move the service to SQLite and from there (docs/postgresql-engines.md).")
    }

    private func takeLock(_ connection: PostgreSQLStoreConnection) throws -> Bool {
        hasLock = try hasLock || takes("try_advisory_lock", lock("writer"), connection)
        // The lock may still be that of our own connection before, until the server misses it.
        if !hasLock, let term { try requireOwn(term, connection) }
        return hasLock
    }

    /// Those of which only one writes, and those of which each one does, do not write at the same time.
    private func takesPlace(_ connection: PostgreSQLStoreConnection) throws -> Bool {
        try takes(writers == .one ? "try_advisory_lock" : "try_advisory_lock_shared", lock("place"), connection)
    }

    /// - Returns: whether the connection has the advisory lock now.
    private func takes(_ function: String, _ lock: String, _ connection: PostgreSQLStoreConnection) throws -> Bool {
        try connection.rows("SELECT pg_\(function)(\(lock))").first?.int(0) == 1
    }

    func release() { close() }

    func open() throws -> (connection: any StoreConnection, schema: Schema) {
        guard let connection else { throw ParseError.internalError }
        // Before anything is looked at. Whoever had the lock before can commit no more.
        if let file = database.file {
            board = try settings.announcement.board(beside: file, logger)
            boardIdentity = board?.identity ?? 0
        }
        try Self.requireOrderOfBytes(connection, settings.path)
        if lease == nil, try connection.hasTable("storeLease") { throw mixed(isPlain: true) }
        if lease == nil { try waitForDisks(connection) }
        if let schema = target.schema, try !connection.hasSchema(schema) {
            try connection.executeOnce("CREATE SCHEMA IF NOT EXISTS \(quoted(schema))")
        }
        try connection.createOwnTables()
        try hasLock ? begin(connection) : barrier(connection)
        if lease != nil, let term { connection.fence = StoreFence(term, settings.path, connection) }
        try settings.migrator.requireKnown(in: connection, settings.path)
        try settings.migrator.migrate(connection, settings, logger)
        let schema = try settings.prepare(connection) { _ in }
        try connection.beginJobs()
        if writers == .every {
            try connection.share()
            _ = try connection.rows("SELECT pg_advisory_unlock(\(preparation))")
        }
        isLeading = hasLock
        return (connection, schema)
    }

    /// Gives the writing of this process a number, or finds that it is still the last one's.
    ///
    /// The number is written in either case. A commit whose answer was lost may be on this server alone, and nobody may
    /// be told of what it did before its standby has it: the standby takes commits in their order, so that it has all
    /// before this one when this one is done.
    private func begin(_ connection: PostgreSQLStoreConnection) throws {
        if let term {
            try requireOwn(term, connection)
            return try barrier(connection)
        }
        term = try connection.rows("UPDATE storeState SET writer = writer + 1 RETURNING writer").first?.int(0)
    }

    private func barrier(_ connection: PostgreSQLStoreConnection) throws {
        try connection.execute("UPDATE storeState SET writer = writer")
    }

    func look() throws {
        guard let connection else { throw ParseError.internalError }
        // The lease is renewed beside (`LeaseKeeper`). Who was replaced meanwhile ends before it is asked to write.
        if let fence = connection.fence { return try fence.check() }
        guard !isLeading else { return try connection.requireConnected() }
        do {
            guard try takeLock(connection) else { return }
            try begin(connection)
            isLeading = true
        } catch let error as StoreError where error.isOvertaken {
            // Somebody changes a class.
        }
    }

    /// A commit is answered when it is on the server's disk, and on the standby's where there is a synchronous one,
    /// also where the database or the role is set to answer before.
    private func waitForDisks(_ connection: PostgreSQLStoreConnection) throws {
        _ = try connection.rows(
            """
            SELECT set_config('synchronous_commit',
                CASE WHEN was IN ('off', 'local') THEN 'on' ELSE was END, false)
            FROM current_setting('synchronous_commit') AS was
            """)
    }

    private func requireOwn(_ term: Int64, _ connection: PostgreSQLStoreConnection) throws {
        guard try connection.rows("SELECT writer FROM storeState").first?.int(0) == term else {
            throw Self.replaced(settings.path)
        }
    }

    static func replaced(_ path: String) -> DatabaseRefused {
        DatabaseRefused(
            path, "was written by another replica while this one had lost its connection.",
            "This replica is started anew.")
    }

    /// Texts are sorted by their bytes, as everywhere in Satchel. PostgreSQL sorts those of `jsonb` by the order of the
    /// database, which cannot be changed later.
    static func requireOrderOfBytes(_ connection: PostgreSQLStoreConnection, _ name: String) throws {
        let rows = try connection.rows(
            """
            SELECT 'B'::text < 'a'::text AND 'a b'::text < 'aa'::text AND 'Z'::text < 'é'::text \
            AND 'z'::text < 'é'::text, octet_length('é€')
            """)
        guard let row = rows.first, try row.int(0) == 1, try row.int(1) == 5 else {
            throw DatabaseRefused(
                name, "sorts texts by the rules of a language, or does not know all letters.",
                "Make it with CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'.")
        }
    }

    /// The lock of a process that brings the tables to its release.
    private var preparation: String { lock("preparation") }

    private func lock(_ subject: String) -> String { Self.lock(subject, of: target.schema ?? "") }

    /// One of a schema's locks among those of the database.
    static func lock(_ subject: String = "writer", of schema: String) -> String {
        "hashtextextended('satchel \(subject) \(schema.replacing("'", with: "''"))', 0)"
    }

    func ready() { board?.settle() }

    /// What a commit whose answer is lost may have changed stays announced until a writer has begun anew.
    func commit(_ changes: ChangeSet, hasChanged _: Bool) throws {
        guard let connection else { throw ParseError.internalError }
        board?.begin(changes)
        do {
            try connection.commit()
        } catch {
            if !connection.isBroken { ended(changes) }
            throw error
        }
    }

    func ended(_ changes: ChangeSet) {
        guard let board, board.identity == boardIdentity else { return }
        board.end(changes)
    }

    func answered() {}
    func rest(waits _: () -> Bool) {}

    func close() {
        if let board, board.identity == boardIdentity { board.unsettle() }
        (board, boardIdentity) = (nil, 0)
        keeper?.stop()
        keeper = nil
        if let lease, hasLock, let connection, !connection.isBroken { try? lease.release(connection) }
        connection?.close()
        connection = nil
        (hasLock, hasPlace, isLeading) = (false, false, false)
    }
}
