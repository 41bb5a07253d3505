import Foundation
import Logging
import ParseProtocol
import PostgreSQL

/// The side that a move makes: a new file beside the place of the database, or a new schema.
final class MoveTarget {
    let connection: any StoreConnection
    private let database: StoreDatabase
    /// Those of the service, as they are made when all is there.
    private var triggers: [String] = []
    private var isPlaced = false

    private static let suffix = ".moving"

    /// Makes it with the tables of this release and nothing in them.
    /// - Throws: `MoveRefused` when something of that name is there; `DatabaseRefused` for a server's database that
    ///   sorts otherwise.
    init(_ database: StoreDatabase, _ settings: WriterThread.Settings, _ logger: Logger) throws {
        self.database = database
        switch database {
        case .file(let path):
            // What an interrupted move left.
            StoreFiles.remove(path + Self.suffix)
            connection = try SQLiteConnection(path: path + Self.suffix, writing: .normal)
        case .postgresql(let server):
            let connection = try PostgreSQLStoreConnection(server, isWriting: true)
            guard try Self.makeWay(for: server, connection) else {
                connection.close()
                throw MoveRefused(
                    """
                    The database has a schema \(server.schema) already. If nobody needs it, rename or drop it: \
                    ALTER SCHEMA \(server.schema) RENAME TO …
                    """)
            }
            self.connection = connection
            try PostgreSQLWriter.requireOrderOfBytes(connection, settings.path)
            try connection.executeOnce("CREATE SCHEMA \(quoted(server.schema))")
            if server.dialect == .plain { try StoreLease.prepare(server.schema, connection) }
            connection.heldTriggers = []
        }
        do {
            if let server = connection as? PostgreSQLStoreConnection { try server.createOwnTables() }
            try settings.migrator.migrate(connection, settings, logger)
            try silenceTriggers()
        } catch {
            abandon()
            throw error
        }
    }

    /// Removes what an interrupted move left: a schema that no service ever wrote.
    /// - Returns: false when the schema is somebody's.
    private static func makeWay(
        for server: PostgreSQLDatabase, _ connection: PostgreSQLStoreConnection
    ) throws -> Bool {
        guard try connection.hasSchema(server.schema) else { return true }
        if try connection.hasTable("storeState") {
            let writer = try connection.rows("SELECT writer FROM storeState").first?.int(0) ?? 0
            guard writer == 0 else { return false }
        } else {
            guard try connection.movedTables().isEmpty else { return false }
        }
        try server.drop()
        return true
    }

    /// Triggers of the service count what is added; their tables are moved too.
    private func silenceTriggers() throws {
        if let server = connection as? PostgreSQLStoreConnection {
            triggers = server.heldTriggers ?? []
            server.heldTriggers = nil
            return
        }
        for row in try connection.rows("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'") {
            triggers.append(try row.text(1))
            try connection.executeOnce("DROP TRIGGER \(try row.text(0))")
        }
    }

    func wakeTriggers() throws {
        for trigger in triggers { try connection.executeOnce(trigger) }
        triggers = []
    }

    /// Runs changes in a transaction of their own.
    func write<T>(_ body: (any StoreConnection) throws -> T) throws -> T {
        try connection.beginWriting()
        do {
            let result = try body(connection)
            try connection.execute("COMMIT")
            // Nobody reads the file yet, so that its log is copied back whenever there is enough.
            if let file = connection as? SQLiteConnection, file.log.copying.isDue { try file.copyLog() }
            return result
        } catch {
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            throw error
        }
    }

    /// Puts it where the service looks for it; all of it is on the disk then.
    /// - Returns: where what was there is now; nil when nothing was.
    func place(_ stamp: String) throws -> String? {
        guard case .file(let path) = database else {
            isPlaced = true
            connection.close()
            return nil
        }
        try connection.executeOnce("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        let aside = try StoreFiles.setAside(path, stamp)
        try FileManager.default.moveItem(atPath: path + Self.suffix, toPath: path)
        StoreFiles.remove(path + Self.suffix)
        isPlaced = true
        try DurableFile.synchronize(folder: URL(fileURLWithPath: path).deletingLastPathComponent().path)
        return aside
    }

    /// Removes it.
    /// - Returns: false when a service writes it already, or it could not be removed.
    @discardableResult
    func abandon() -> Bool {
        connection.close()
        switch database {
        case .file(let path):
            guard isPlaced else {
                StoreFiles.remove(path + Self.suffix)
                return true
            }
            guard BirthCertificate.read(beside: path) == .none else { return false }
            StoreFiles.remove(path)
            return true
        case .postgresql(let server):
            guard let connection = try? PostgreSQLStoreConnection(server) else { return false }
            let writer = try? connection.rows("SELECT writer FROM storeState").first?.int(0)
            connection.close()
            guard writer ?? 0 == 0 else { return false }
            return (try? server.drop()) != nil
        }
    }
}
