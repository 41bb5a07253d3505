import Foundation
import Logging
import ParseProtocol
import PostgreSQL

/// The writer of a schema of a PostgreSQL database: the process whose writing connection holds the schema's advisory
/// lock, or every process, of which the holder of the lock leads. `WriterThread` drives it.
///
/// The lock belongs to the connection that writes, so no process writes, or leads, without it: a lost connection has
/// lost both. A process that finds that another one wrote or led meanwhile ends and is restarted: its memory may be
/// stale, and it may still be doing work that only one process may do.
final class PostgreSQLWriter: StoreWriter {
    private let database: PostgreSQLDatabase
    private var target: PostgreSQLTarget { database.target }
    private let writers: StoreWriters
    private let settings: WriterThread.Settings
    private let logger: Logger
    private var connection: PostgreSQLStoreConnection?
    /// The number of this process's term as the writer or leader; nil before.
    private var term: Int64?
    /// Whether the connection has the schema's lock.
    private var hasLock = false
    /// Whether the connection has the right to write next to the processes that write now (`takesPlace`).
    private var hasPlace = false
    private(set) var isLeading = false
    /// The board of a single writer. The next writer on this host keeps the same file under another identity.
    private var board: ChangeBoard?
    private(set) var boardIdentity: UInt64 = 0

    init(
        _ database: PostgreSQLDatabase, writers: StoreWriters, settings: WriterThread.Settings, logger: Logger
    ) {
        self.database = database
        self.writers = writers
        self.settings = settings
        self.logger = logger
    }

    /// Each attempt is a round trip to a server that other replicas ask too. Where every process writes, a process
    /// waits only while another one migrates the tables to this release.
    var retryInterval: Double { writers == .one ? 0.25 : 0.1 }
    var isInPlace: Bool { connection.map { !$0.isBroken } ?? false }
    /// A new connection may work.
    let refusal: DatabaseRefused? = nil
    var leadInterval: Duration? { writers == .one ? nil : .milliseconds(250) }

    func take() throws -> Bool {
        let connection =
            try self.connection
            ?? PostgreSQLStoreConnection(database, isWriting: true, isShared: writers == .every)
        self.connection = connection
        do {
            // A process that led before must lead again; otherwise it ends (`requireOwn`).
            if writers == .one || term != nil, try !takeLock(connection) { return false }
            hasPlace = try hasPlace || takesPlace(connection)
            return try hasPlace && (writers == .one || takes("try_advisory_lock", preparation, connection))
        } catch {
            close()
            throw error
        }
    }

    private func takeLock(_ connection: PostgreSQLStoreConnection) throws -> Bool {
        hasLock = try hasLock || takes("try_advisory_lock", lock("writer"), connection)
        // The lock may still belong to this process's former connection, until the server detects its loss.
        if !hasLock, let term { try requireOwn(term, connection) }
        return hasLock
    }

    /// Processes of a single-writer service and of an every-writer service must not write at the same time: the former
    /// take this lock exclusively, the latter share it.
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
        try connection.requireNoLease(settings.path)
        // Before anything is read. The former holder of the lock can no longer commit.
        if let file = database.file {
            board = try settings.announcement.board(beside: file, logger)
            boardIdentity = board?.identity ?? 0
        }
        try Self.requireOrderOfBytes(connection, settings.path)
        try waitForDisks(connection)
        if let schema = target.schema, try !connection.hasSchema(schema) {
            try requireNew(schema)
            try connection.executeOnce("CREATE SCHEMA IF NOT EXISTS \(quoted(schema))")
        }
        try connection.createOwnTables()
        try hasLock ? begin(connection) : barrier(connection)
        try settings.migrator.requireKnown(in: connection, settings.path)
        try settings.migrator.migrate(connection, settings, logger)
        let schema = try settings.prepare(connection) { _ in }
        if writers == .every {
            try connection.share()
            _ = try connection.rows("SELECT pg_advisory_unlock(\(preparation))")
        }
        isLeading = hasLock
        _ = settings.memberRegister(.ofServer, logger)
        return (connection, schema)
    }

    /// Creates a schema only if the suite has no record of data of this service.
    private func requireNew(_ schema: String) throws {
        guard let record = settings.memberRecord, DatabaseCertificate.read(at: record) != .none else { return }
        let service = URL(fileURLWithPath: record).lastPathComponent
        throw DatabaseRefused(
            settings.path, "is missing, although this service had data.",
            """
            Restore it from a copy, or correct the connection string. To begin with an empty schema: \
            scripts/accept-loss \(service)
            """)
    }

    /// Starts this process's term by incrementing the writer number, or verifies that its former term is still the last
    /// one.
    ///
    /// The number is written in either case. A commit whose response was lost may be on this server alone, and no
    /// client may see its effects before the standby has it. The standby applies commits in order, so it has all
    /// earlier commits when this one is done.
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

    func tryToLead() throws {
        guard let connection else { throw ParseError.internalError }
        guard !isLeading else { return try connection.requireConnected() }
        do {
            guard try takeLock(connection) else { return }
            try begin(connection)
            isLeading = true
        } catch let error as StoreError where error.isOvertaken {
            // Another process is changing a class.
        }
    }

    /// Ensures that a commit is acknowledged only when it is on the server's disk, and on the synchronous standby's if
    /// there is one, even if the database or the role is configured to acknowledge earlier.
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
            throw DatabaseRefused(
                settings.path, "was written by another replica while this one had lost its connection.",
                "This replica is started anew.")
        }
    }

    /// Checks that texts sort by their bytes, as everywhere in Satchel. PostgreSQL sorts texts in `jsonb` by the
    /// database's collation, which cannot be changed later.
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

    /// The lock of a process that migrates the tables to its release.
    private var preparation: String { lock("preparation") }

    private func lock(_ subject: String) -> String { Self.lock(subject, of: target.schema ?? "") }

    /// The key of a schema's lock. Advisory locks are shared by all schemas of a database.
    static func lock(_ subject: String = "writer", of schema: String) -> String {
        "hashtextextended('satchel \(subject) \(schema.replacing("'", with: "''"))', 0)"
    }

    func ready() { board?.settle() }

    /// If the response to a commit is lost, its changes remain announced until the next writer starts.
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
    func doIdleWork(staysIdle _: () -> Bool) {}

    func close() {
        if let board, board.identity == boardIdentity { board.unsettle() }
        (board, boardIdentity) = (nil, 0)
        connection?.close()
        connection = nil
        (hasLock, hasPlace, isLeading) = (false, false, false)
    }
}
