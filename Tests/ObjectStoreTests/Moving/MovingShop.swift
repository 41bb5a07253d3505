import Foundation
import Logging
import ObjectStore
import ParseProtocol

/// A store with classes and tables of every kind, which a test moves from a file to a server and back.
final class MovingShop {
    let file: StoreDatabase
    let server: StoreDatabase
    let folder: String
    private let connection: String
    private let schema: (name: String, database: PostgreSQLDatabase)
    private var aside: [String] = []
    private(set) var store: ClassStore
    private(set) var isInFile = true

    static let classes = [
        ClassDefinition(
            "Item", fields: ["name": .string, "code": .string, "price": .number, "at": .geoPoint],
            indexes: [["price"]], uniqueIndexes: [["code"]], textFields: ["name"])
    ]

    /// A service's own tables: an automatic number, a key of two columns, values of all types, a table that triggers
    /// fill, and one that never reuses its numbers.
    static let tables = Migration(
        1, "tables",
        [
            "CREATE TABLE queue(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, body BLOB, weight REAL)",
            """
            CREATE TABLE shares(userId TEXT NOT NULL, "order" INTEGER NOT NULL, value TEXT,
            PRIMARY KEY(userId, "order")) WITHOUT ROWID
            """,
            "CREATE TABLE marks(day INTEGER NOT NULL, mark BLOB NOT NULL, PRIMARY KEY(day, mark))",
            "CREATE TABLE queued(kind INTEGER PRIMARY KEY, total INTEGER NOT NULL)",
            """
            CREATE TRIGGER queueGrew AFTER INSERT ON queue
            BEGIN INSERT INTO queued(kind, total) VALUES (1, 1)
            ON CONFLICT(kind) DO UPDATE SET total = queued.total + 1; END
            """,
            "CREATE TABLE log(id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL)",
            """
            CREATE TRIGGER logStays BEFORE UPDATE ON log BEGIN
                SELECT RAISE(ABORT, 'An entry is never changed.');
            END
            """,
        ])

    /// A table that only PostgreSQL has, as every service makes it (`LiveLog`).
    private static let liveTaker = ["CREATE TABLE liveTaker(name TEXT NOT NULL)", "INSERT INTO liveTaker VALUES ('')"]
    static let migrations = [
        Migrations(
            "test",
            [MovingShop.tables, Migration(2, "live", statements: { $0 == .sqlite ? [] : MovingShop.liveTaker })])
    ]

    /// - Parameter isNoted: whether changes are recorded from the beginning.
    init(server connection: String, isNoted: Bool = true) async throws {
        let name = "moving-\(Names.random(10).lowercased())"
        folder = NSTemporaryDirectory() + name
        file = .file(path: folder + "/shop.sqlite")
        self.connection = connection
        schema = (name, PostgreSQLDatabase(connection: connection, schema: name))
        server = .postgresql(schema.database)
        store = try Self.makeStore(file, isNoted: isNoted)
        await write()
    }

    deinit {
        store.stop()
        for name in [schema.name] + aside {
            try? PostgreSQLDatabase(connection: connection, schema: name).drop()
        }
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static func makeStore(
        _ database: StoreDatabase, isNoted: Bool, writers: StoreWriters = .one
    ) throws -> ClassStore {
        try ClassStore(
            database, classes: classes, synchronous: .normal, writers: writers, allowClassCreation: true,
            allowCustomObjectId: false, migrations: migrations, isMoving: { isNoted }, logger: Self.silent)
    }

    private static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func write() async {
        let store = store
        await withCheckedContinuation { continuation in store.startWriting { continuation.resume() } }
    }

    /// Reopens the store, with or without recording changes.
    func reopen(isNoted: Bool, writers: StoreWriters = .one) async throws {
        store.stop()
        store = try Self.makeStore(isInFile ? file : server, isNoted: isNoted, writers: writers)
        await write()
    }

    // MARK: Moving

    /// Moves the store to the other engine and opens it there.
    /// - Parameters:
    ///   - during: runs concurrently with the copy.
    ///   - after: runs when all data is copied and the service still runs.
    /// - Throws: the error of the move. Then the store is unchanged, and the target is empty.
    func move(
        during: @escaping @Sendable (ClassStore) async throws -> Void = { _ in },
        after: (ClassStore) async throws -> Void = { _ in }
    ) async throws {
        let (from, to) = isInFile ? (file, server) : (server, file)
        let move = UncheckedBox(
            try StoreMove(
                from: from, to: to, classes: Self.classes, migrations: Self.migrations, logger: Self.silent,
                say: { _ in }))
        do {
            let store = store
            async let copied: Void = Self.offThePool { try move.value.copy() }
            async let changed: Void = during(store)
            _ = try await (copied, changed)
            try await after(store)
            store.stop()
            _ = try await Self.offThePool { try move.value.finish() }
        } catch {
            _ = move.value.abandon()
            try await reopen(isNoted: true)
            throw error
        }
        isInFile.toggle()
        store = try Self.makeStore(to, isNoted: false)
        await write()
        let place = try move.value.setAside()
        if place.hasPrefix("schema ") { aside.append(String(place.dropFirst("schema ".count))) }
    }

    struct UncheckedBox<Value>: @unchecked Sendable {
        let value: Value
        init(_ value: Value) { self.value = value }
    }

    private static func offThePool<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
        }
    }

    // MARK: Other sessions

    /// A session of another program with the schema.
    func session() throws -> Session { try Session(connection, schema: schema.name) }

    final class Session {
        private let process = Process()
        private let input = Pipe()
        private let output = Pipe()
        private let schema: String

        fileprivate init(_ connection: String, schema: String) throws {
            self.schema = schema
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "--dbname", connection]
            process.standardInput = input
            process.standardOutput = output
            try process.run()
            try run("SET search_path = \"\(schema)\"")
        }

        deinit {
            try? input.fileHandleForWriting.close()
            process.waitUntilExit()
        }

        /// Takes or releases the lock that all processes share where every process writes.
        func place(isHeld: Bool) throws {
            let name = isHeld ? "pg_advisory_lock_shared" : "pg_advisory_unlock_shared"
            try run("DO $$ BEGIN PERFORM \(name)(hashtextextended('satchel place \(schema)', 0)); END $$")
        }

        /// Runs statements without results, and returns when they are done.
        /// - Throws: when one failed, which ends the session.
        func run(_ sql: String) throws {
            try input.fileHandleForWriting.write(contentsOf: Data("\(sql);\n\\! echo done\n".utf8))
            let answer = output.fileHandleForReading.availableData
            guard answer == Data("done\n".utf8) else { throw ParseError.internalError }
        }
    }

    // MARK: Content

    static let ownTables = [
        "queue": "id, key, body, weight", "shares": "userId, \"order\", value", "marks": "day, mark",
        "queued": "kind, total", "log": "id, text",
    ]

    /// The complete content: documents by class and id with the store's metadata, and the rows of own tables.
    func content() async throws -> [String: [[SQLValue]]] {
        let names = try await store.read { try $0.rows("SELECT id, name FROM classes ORDER BY id") }
        var content: [String: [[SQLValue]]] = [:]
        for row in names {
            let (id, name) = (try row.int(0), try row.text(1))
            content["class \(name)"] = try await rows(
                """
                SELECT id, objectId, createdAt, updatedAt, CASE WHEN publicRead\(flag) THEN 1 ELSE 0 END,
                CASE WHEN publicWrite\(flag) THEN 1 ELSE 0 END, doc FROM o\(id) ORDER BY id
                """)
            content["rights of \(name)"] = try await rows(
                """
                SELECT principal, object, CASE WHEN canRead\(flag) THEN 1 ELSE 0 END,
                CASE WHEN canWrite\(flag) THEN 1 ELSE 0 END FROM p\(id) ORDER BY principal, object
                """)
        }
        content["classes"] = try await rows("SELECT id, name, fields, permissions, textFields FROM classes ORDER BY id")
        content["relations"] = try await rows("SELECT class, key, owner, target FROM relations ORDER BY 1, 2, 3, 4")
        for (table, columns) in Self.ownTables {
            content[table] = try await rows("SELECT \(columns) FROM \(table) ORDER BY 1, 2")
        }
        return content
    }

    private var flag: String { isInFile ? "<>0" : "" }

    func rows(_ sql: String) async throws -> [[SQLValue]] {
        try await store.read { reader in
            try reader.rows(sql).map { row in
                var values: [SQLValue] = []
                while let value = try? row[values.count] { values.append(value) }
                return values
            }
        }
    }

    func names(_ condition: JSON, order: [String] = ["name"]) async throws -> [String] {
        let query = Query(className: "Item", where: condition.serialized, order: order, limit: 100, skip: 0)
        return try await store.read { reader in
            try reader.documents(query, caller: .master).compactMap { $0["name"]?.stringValue }
        }
    }

    @discardableResult
    func create(_ className: String, _ object: JSON) async throws -> String {
        try await store.write { try $0.create(className, object, objectId: nil, caller: .master).objectId }
    }
}
