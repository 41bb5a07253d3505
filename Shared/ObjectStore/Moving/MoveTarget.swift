import Foundation
import Logging
import ParseProtocol
import PostgreSQL

/// The side that a move creates: a new file next to the database's location, or a new schema.
final class MoveTarget {
    let connection: any StoreConnection
    private let database: StoreDatabase
    /// The service's triggers, which are created when all rows are copied.
    private var triggers: [String] = []
    private var isPlaced = false

    private static let suffix = ".moving"

    /// Creates the target with the empty tables of this release.
    /// - Throws: `MoveRefused` when a schema with that name exists; `DatabaseRefused` for a server's database with
    ///   another sort order.
    init(_ database: StoreDatabase, _ settings: WriterThread.Settings, _ logger: Logger) throws {
        self.database = database
        switch database {
        case .file(let path):
            // Remains of an interrupted move.
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

    /// Removes the remains of an interrupted move: a schema that no service ever wrote.
    /// - Returns: false when the schema belongs to a service or to other software.
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

    /// Drops the service's triggers during the copy: they would count rows whose counts are copied too.
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
            // No process reads the file yet, so the log can be copied back whenever it is large enough.
            if let file = connection as? SQLiteConnection, file.log.copying.isDue { try file.copyLog() }
            return result
        } catch {
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            throw error
        }
    }

    /// Moves the target to the location that the service uses; all of it is then on the disk.
    /// - Returns: the new location of the former database; nil if there was none.
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

    /// Removes the target.
    /// - Returns: false when a service already writes it, or it could not be removed.
    @discardableResult
    func abandon() -> Bool {
        connection.close()
        switch database {
        case .file(let path):
            guard isPlaced else {
                StoreFiles.remove(path + Self.suffix)
                return true
            }
            guard DatabaseCertificate.read(beside: path) == .none else { return false }
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
