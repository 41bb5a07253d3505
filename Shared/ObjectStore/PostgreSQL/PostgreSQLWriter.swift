import Logging
import ParseProtocol
import PostgreSQL

/// Writes a schema of a PostgreSQL database: the one process whose writing connection holds the schema's advisory lock.
///
/// The lock belongs to the connection by which everything is written, so that nobody writes without it: a connection
/// that is lost has lost both. Who finds that somebody else wrote meanwhile does not go on, because what its process
/// remembers may be wrong; it is started anew.
final class PostgreSQLWriter: StoreWriter {
    private let target: PostgreSQLTarget
    private let settings: WriterThread.Settings
    private let logger: Logger
    private var connection: PostgreSQLStoreConnection?
    /// The number that this process gave its writing; nil before it wrote.
    private var term: Int64?

    init(target: PostgreSQLTarget, settings: WriterThread.Settings, logger: Logger) {
        self.target = target
        self.settings = settings
        self.logger = logger
    }

    let boardIdentity: UInt64 = 0
    /// A round trip to a server, which other replicas ask too.
    let patience = 0.25
    var isInPlace: Bool { connection.map { !$0.isBroken } ?? false }
    /// Another connection may be as good.
    let refusal: DatabaseRefused? = nil

    func take() throws -> Bool {
        let connection = try self.connection ?? PostgreSQLStoreConnection(target, isWriting: true)
        self.connection = connection
        do {
            if let schema = target.schema, try !connection.hasSchema(schema) {
                try connection.executeOnce("CREATE SCHEMA IF NOT EXISTS \(quoted(schema))")
            }
            let rows = try connection.rows("SELECT pg_try_advisory_lock(\(lock))")
            if try rows.first?.int(0) == 1 { return true }
            // The lock may still be that of our own connection before, until the server misses it.
            if let term { try requireOwn(term, connection) }
            return false
        } catch {
            close()
            throw error
        }
    }

    func release() { close() }

    func open() throws -> (connection: any StoreConnection, schema: Schema) {
        guard let connection else { throw ParseError.internalError }
        try requireOrderOfBytes(connection)
        try connection.executeOnce(PostgreSQLStoreConnection.ownTables)
        try begin(connection)
        try settings.migrator.requireKnown(in: connection, settings.path)
        try settings.migrator.migrate(connection, settings, logger)
        return (connection, try settings.prepare(connection) { _ in })
    }

    /// Gives the writing of this process a number, or finds that it is still the last one's.
    private func begin(_ connection: PostgreSQLStoreConnection) throws {
        let last = try connection.rows("SELECT writer FROM storeState").first?.int(0) ?? 0
        if let term { return try requireOwn(term, connection) }
        try connection.execute("UPDATE storeState SET writer = ?", [.int(last + 1)])
        term = last + 1
    }

    private func requireOwn(_ term: Int64, _ connection: PostgreSQLStoreConnection) throws {
        guard try connection.rows("SELECT writer FROM storeState").first?.int(0) == term else {
            throw DatabaseRefused(
                settings.path, "was written by another replica while this one had lost its connection.",
                "This replica is started anew.")
        }
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

    /// The writer's lock among those of the database.
    private var lock: String {
        "hashtextextended('satchel writer \((target.schema ?? "").replacing("'", with: "''"))', 0)"
    }

    func ready() {}

    func commit(_: ChangeSet, hasChanged _: Bool) throws {
        guard let connection else { throw ParseError.internalError }
        try connection.commit()
    }

    func ended(_: ChangeSet) {}
    func answered() {}
    func rest(waits _: () -> Bool) {}

    func close() {
        connection?.close()
        connection = nil
    }
}
