import ArgumentParser
import Foundation
import GRDB

/// Plain SQLite that commits 64 rows at a time, durably: the most one writer of the store could do.
struct RawSQLite: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "raw-sqlite",
        abstract: "Inserts documents into a table like the store's and prints rows per second.")

    @Option var path: String
    @Option var seconds = 5.0
    @Option var rowsPerCommit = 64
    @Option var documentBytes = 600

    func run() throws {
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.writeWithoutTransaction { database in
            try database.execute(
                sql: """
                    CREATE TABLE o1(id INTEGER PRIMARY KEY, objectId TEXT NOT NULL UNIQUE, createdAt INTEGER NOT NULL,
                    updatedAt INTEGER NOT NULL, publicRead INTEGER NOT NULL, publicWrite INTEGER NOT NULL, \
                    doc TEXT NOT NULL)
                    """)
            let insert = try database.makeStatement(
                sql:
                    """
                    INSERT INTO o1(objectId, createdAt, updatedAt, publicRead, publicWrite, doc) VALUES (?, ?, ?, 1, \
                    1, ?)
                    """
            )
            let document = String(repeating: "x", count: documentBytes)
            let start = Date()
            var rows = 0
            while Date().timeIntervalSince(start) < seconds {
                try database.execute(sql: "BEGIN IMMEDIATE")
                for _ in 0..<rowsPerCommit {
                    let now = Int(Date().timeIntervalSince1970 * 1000)
                    try insert.execute(arguments: [UUID().uuidString.prefix(10) + String(rows), now, now, document])
                    rows += 1
                }
                try database.execute(sql: "COMMIT")
            }
            print(Int(Double(rows) / Date().timeIntervalSince(start)))
        }
    }
}
