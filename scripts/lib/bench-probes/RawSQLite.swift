import ArgumentParser
import CSQLite
import Foundation

/// Plain SQLite that commits 64 rows at a time, durably: the upper bound for one writer of the store.
struct RawSQLite: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "raw-sqlite",
        abstract: "Inserts documents into a table like the store's and prints rows per second.")

    @Option var path: String
    @Option var seconds = 5.0
    @Option var rowsPerCommit = 64
    @Option var documentBytes = 600

    func run() throws {
        let database = try Database(path)
        try database.execute(
            """
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = FULL;
            CREATE TABLE o1(id INTEGER PRIMARY KEY, objectId TEXT NOT NULL UNIQUE, createdAt INTEGER NOT NULL,
            updatedAt INTEGER NOT NULL, publicRead INTEGER NOT NULL, publicWrite INTEGER NOT NULL, doc TEXT NOT NULL)
            """)
        let insert = try database.prepare(
            "INSERT INTO o1(objectId, createdAt, updatedAt, publicRead, publicWrite, doc) VALUES (?, ?, ?, 1, 1, ?)")
        defer { sqlite3_finalize(insert) }
        let document = String(repeating: "x", count: documentBytes)
        let start = Date()
        var rows = 0
        while Date().timeIntervalSince(start) < seconds {
            try database.execute("BEGIN IMMEDIATE")
            for _ in 0..<rowsPerCommit {
                let now = Int64(Date().timeIntervalSince1970 * 1000)
                let objectId = UUID().uuidString.prefix(10) + String(rows)
                sqlite3_bind_text(insert, 1, String(objectId), -1, Database.copied)
                sqlite3_bind_int64(insert, 2, now)
                sqlite3_bind_int64(insert, 3, now)
                sqlite3_bind_text(insert, 4, document, -1, Database.copied)
                try database.check(sqlite3_step(insert))
                sqlite3_reset(insert)
                rows += 1
            }
            try database.execute("COMMIT")
        }
        print(Int(Double(rows) / Date().timeIntervalSince(start)))
    }
}

/// A bare connection.
private final class Database {
    /// SQLite copies the passed value (`SQLITE_TRANSIENT`).
    static let copied = unsafeBitCast(OpaquePointer(bitPattern: -1), to: sqlite3_destructor_type.self)

    private var handle: OpaquePointer?

    init(_ path: String) throws {
        try check(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil))
    }

    deinit { sqlite3_close_v2(handle) }

    func execute(_ sql: String) throws { try check(sqlite3_exec(handle, sql, nil, nil, nil)) }

    func prepare(_ sql: String) throws -> OpaquePointer? {
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(handle, sql, -1, &statement, nil))
        return statement
    }

    func check(_ code: Int32) throws {
        guard [SQLITE_OK, SQLITE_DONE, SQLITE_ROW].contains(code) else {
            throw ValidationError("SQLite: \(String(cString: sqlite3_errmsg(handle)))")
        }
    }
}
