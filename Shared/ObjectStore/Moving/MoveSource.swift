import Foundation
import ParseProtocol
import PostgreSQL

/// The side that a move reads: with a connection of its own beside the service's, and at the end with the right to
/// write, so that nobody changes anything any more.
final class MoveSource {
    let connection: any StoreConnection
    private let database: StoreDatabase
    private var lock: WriterLock?
    private let lease = StoreLease()
    private var keeper: LeaseKeeper?

    init(_ database: StoreDatabase) throws {
        self.database = database
        switch database {
        case .file(let path):
            guard FileManager.default.fileExists(atPath: path) else {
                throw MoveRefused("\(path) is not there: the service has no data in it.")
            }
            connection = try SQLiteConnection(path: path, writing: nil)
        case .postgresql(let server):
            connection = try PostgreSQLStoreConnection(server)
        }
    }

    /// Takes the right to write, which the service's processes have given back.
    /// - Throws: `MoveRefused` when somebody still has it after `seconds`.
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
            if server.dialect == .plain, let connection = connection as? PostgreSQLStoreConnection {
                guard try lease.take(connection) else { return false }
                keeper = keeper ?? LeaseKeeper(lease, server)
                return true
            }
            let lock = PostgreSQLWriter.lock(of: server.schema)
            return try connection.rows("SELECT pg_try_advisory_lock(\(lock))").first?.int(0) == 1
        }
    }

    /// Ends the connection and gives the right to write back.
    func close() {
        if let keeper, let connection = connection as? PostgreSQLStoreConnection {
            keeper.stop()
            self.keeper = nil
            try? lease.release(connection)
        }
        connection.close()
        lock?.release()
    }

    /// Puts the database where no service looks for it.
    /// - Returns: where it is now.
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
        ["", "-wal", "-shm", ".lock"].map { path + $0 } + [BirthCertificate.path(of: path)]
    }

    /// Moves them into a folder `moved-<stamp>` beside them.
    /// - Returns: the folder; nil when there were none.
    static func setAside(_ path: String, _ stamp: String) throws -> String? {
        // What others know of the file is not true of the next one.
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
