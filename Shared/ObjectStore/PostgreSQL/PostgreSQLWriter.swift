import Logging
import ParseProtocol
import PostgreSQL

/// Writes a schema of a PostgreSQL database, as any number of processes may at the same time.
///
/// Groups of jobs are serializable transactions: what a job reads nobody else changes before its commit, or its group
/// fails and is done again. A group that was overtaken once takes a lock of its own, so that groups that were overtaken
/// wait for one another.
final class PostgreSQLWriter: StoreWriter {
    private let target: PostgreSQLTarget
    private let settings: WriterThread.Settings
    private let logger: Logger
    private var connection: PostgreSQLStoreConnection?
    private var isLocked = false

    init(target: PostgreSQLTarget, settings: WriterThread.Settings, logger: Logger) {
        self.target = target
        self.settings = settings
        self.logger = logger
    }

    let boardIdentity: UInt64 = 0
    var isInPlace: Bool { connection.map { !$0.isBroken } ?? false }
    /// Another connection is as good.
    let refusal: DatabaseRefused? = nil

    func take() throws -> Bool { true }
    func release() {}

    func open() throws -> (connection: any StoreConnection, schema: Schema) {
        let connection = try PostgreSQLStoreConnection(target)
        self.connection = connection
        // Processes that start together do this one after the other.
        _ = try connection.rows("SELECT pg_advisory_lock(\(lock(2)))")
        defer { _ = try? connection.rows("SELECT pg_advisory_unlock(\(lock(2)))") }
        if let schema = target.schema { try connection.executeOnce("CREATE SCHEMA IF NOT EXISTS \(quoted(schema))") }
        try requireOrderOfBytes(connection)
        try connection.executeOnce(PostgreSQLStoreConnection.ownTables)
        try settings.migrator.requireKnown(in: connection, settings.path)
        try settings.migrator.migrate(connection, settings, logger)
        return (connection, try settings.prepare(connection) { _ in })
    }

    /// Texts are sorted by their bytes, as everywhere in Satchel. PostgreSQL sorts those of `jsonb` by the order of the
    /// database, which cannot be changed later.
    private func requireOrderOfBytes(_ connection: PostgreSQLStoreConnection) throws {
        let rows = try connection.rows(
            "SELECT datcollate, pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()")
        guard let row = rows.first, ["C", "POSIX", "C.UTF-8", "C.utf8"].contains(try row.text(0)),
            try row.text(1) == "UTF8"
        else {
            throw DatabaseRefused(
                settings.path, "sorts texts by the rules of a language, or does not know all letters.",
                "Make it with CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'.")
        }
    }

    /// A lock of this schema's among those of the database.
    private func lock(_ number: Int) -> String {
        "hashtextextended('satchel \((target.schema ?? "").replacing("'", with: "''"))', \(number))"
    }

    func ready() {}

    func begin(_ transaction: StoreTransaction, isRepeated: Bool) throws {
        guard let connection else { throw ParseError.internalError }
        // Before the transaction: it would else see what there was before it had the lock.
        if isRepeated, !isLocked {
            _ = try connection.rows("SELECT pg_advisory_lock(\(lock(1)))")
            isLocked = true
        }
        try connection.beginWriting()
        if try connection.generation() != transaction.schema.generation {
            transaction.schema = try Schema.load(connection)
        }
    }

    func commit(_: ChangeSet, hasChanged _: Bool) throws {
        guard let connection else { throw ParseError.internalError }
        try connection.commit()
    }

    func ended(_: ChangeSet) {
        guard isLocked else { return }
        isLocked = false
        // A connection that is gone has no locks.
        _ = try? connection?.rows("SELECT pg_advisory_unlock(\(lock(1)))")
    }

    func answered() {}
    func rest(waits _: () -> Bool) {}

    func close() {
        connection?.close()
        connection = nil
    }
}
