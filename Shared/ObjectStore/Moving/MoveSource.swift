import Foundation
import ParseProtocol
import PostgreSQL

/// The side that a move reads, on a separate connection next to the service's. At the end it takes the right to write,
/// so that no process changes anything any more.
final class MoveSource {
    let connection: any StoreConnection
    private let database: StoreDatabase
    private var lock: WriterLock?
    /// The lease and the writer's number of a schema that an earlier release wrote with `SATCHEL_POSTGRESQL=plain`; nil
    /// for any other database. No process of this release writes such a schema.
    private let lease: [SQLValue]?

    /// Whether the data do not change during the move, so that no list of changes is needed.
    var isFrozen: Bool { lease != nil }

    init(_ database: StoreDatabase) throws {
        self.database = database
        switch database {
        case .file(let path):
            guard FileManager.default.fileExists(atPath: path) else {
                throw MoveRefused("\(path) is not there: the service has no data in it.")
            }
            connection = try SQLiteConnection(path: path, writing: nil)
            lease = nil
        case .postgresql(let server):
            let connection = try PostgreSQLStoreConnection(server)
            self.connection = connection
            lease = try Self.lease(connection)
            guard try lease == nil || !Self.isLeased(connection) else {
                throw MoveRefused("A process of an earlier release still writes \(database.name).")
            }
        }
    }

    private static func lease(_ connection: PostgreSQLStoreConnection) throws -> [SQLValue]? {
        guard try connection.hasTable(PostgreSQLStoreConnection.leaseTable) else { return nil }
        let table = PostgreSQLStoreConnection.leaseTable
        let sql = "SELECT l.holder, l.expires, s.writer FROM \(table) l CROSS JOIN storeState s"
        return try connection.rows(sql).first?.values ?? []
    }

    private static func isLeased(_ connection: PostgreSQLStoreConnection) throws -> Bool {
        let now = "extract(epoch FROM clock_timestamp()) * 1000"
        let sql = "SELECT 1 FROM \(PostgreSQLStoreConnection.leaseTable) WHERE expires > \(now)"
        return try !connection.rows(sql).isEmpty
    }

    /// Takes the right to write, which the service's processes have released.
    /// - Throws: `MoveRefused` when a process still has it after `seconds`.
    func takeRight(within seconds: Double) throws {
        let end = Date(timeIntervalSinceNow: seconds)
        while try !tryRight() {
            guard Date() < end else { throw MoveRefused("A process of the service still writes \(database.name).") }
            Thread.sleep(forTimeInterval: 0.02)
        }
    }

    private func tryRight() throws -> Bool {
        switch database {
        case .file(let path):
            let lock = self.lock ?? WriterLock(path: path)
            self.lock = lock
            return try lock.take()
        case .postgresql(let server):
            if let lease, let connection = connection as? PostgreSQLStoreConnection {
                guard try Self.lease(connection) == lease else {
                    throw MoveRefused("A process of an earlier release wrote \(database.name) during the move.")
                }
                return true
            }
            // Where every process writes, only the leader has the first lock, and all share the second.
            return try ["writer", "place"].allSatisfy { subject in
                let lock = PostgreSQLWriter.lock(subject, of: server.schema)
                return try connection.rows("SELECT pg_try_advisory_lock(\(lock))").first?.int(0) == 1
            }
        }
    }

    /// Closes the connection and releases the right to write.
    func close() {
        connection.close()
        lock?.release()
    }

    /// Moves the database to a location that no service uses.
    /// - Returns: the new location.
    func setAside(_ stamp: String) throws -> String {
        close()
        switch database {
        case .file(let path): return try StoreFiles.setAside(path, stamp) ?? path
        case .postgresql(let server):
            let name = "\(server.schema)_moved_\(stamp)"
            let connection = try PostgreSQLStoreConnection(server)
            defer { connection.close() }
            try connection.executeOnce("ALTER SCHEMA \(quoted(server.schema)) RENAME TO \(quoted(name))")
            return "schema \(name)"
        }
    }
}

/// The files of a SQLite database.
enum StoreFiles {
    private static func all(of path: String) -> [String] {
        ["", "-wal", "-shm", ".lock"].map { path + $0 } + [DatabaseCertificate.path(of: path)]
    }

    /// Moves the files into a folder `moved-<stamp>` next to them.
    /// - Returns: the folder; nil when there were no files.
    static func setAside(_ path: String, _ stamp: String) throws -> String? {
        // Data that processes cached from this file does not apply to the next one.
        try ChangeBoard.retire(ChangeBoard.path(beside: path))
        let there = all(of: path).filter { FileManager.default.fileExists(atPath: $0) }
        guard !there.isEmpty else { return nil }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().appendingPathComponent("moved-\(stamp)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for file in there {
            let name = URL(fileURLWithPath: file).lastPathComponent
            try FileManager.default.moveItem(atPath: file, toPath: folder.appendingPathComponent(name).path)
        }
        return folder.path
    }

    static func remove(_ path: String) {
        for file in all(of: path) { try? FileManager.default.removeItem(atPath: file) }
    }
}
