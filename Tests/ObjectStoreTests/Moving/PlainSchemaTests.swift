import Foundation
import Logging
import ObjectStore
import ParseProtocol
import Testing

/// A schema that an earlier release wrote with `SATCHEL_POSTGRESQL=plain` (Fixtures/plain-schema.sql): a start refuses
/// it, and a move copies it to a file.
@Suite(.postgresqlOnly("A schema is on a server.")) struct PlainSchemaTests {
    /// The fixture, loaded under its own name.
    private final class PlainSchema {
        let server: StoreDatabase
        let file: StoreDatabase
        private let folder: String
        private let name: String
        private let connection = TestStore.server ?? ""
        private var aside: String?

        init() throws {
            name = "plain_\(Names.random(10).lowercased())"
            folder = NSTemporaryDirectory() + name
            file = .file(path: folder + "/shop.sqlite")
            server = .postgresql(PostgreSQLDatabase(connection: connection, schema: name))
            let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            let fixture = tests.appendingPathComponent("Fixtures/plain-schema.sql")
            let script = try String(contentsOf: fixture, encoding: .utf8).replacing("plain_schema", with: name)
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data(script.utf8).write(to: URL(fileURLWithPath: folder + "/schema.sql"))
            _ = try run("psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-f", folder + "/schema.sql")
        }

        deinit {
            for name in [name] + (aside.map { [$0] } ?? []) {
                try? PostgreSQLDatabase(connection: connection, schema: name).drop()
            }
            try? FileManager.default.removeItem(atPath: folder)
        }

        /// - Returns: the lines that the program prints.
        private func run(_ program: String, _ arguments: String...) throws -> [String] {
            let (process, output) = (Process(), Pipe())
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = [program, "--dbname", connection] + arguments
            process.standardOutput = output
            try process.run()
            let text = try output.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            #expect(process.terminationStatus == 0, "\(program)")
            return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
        }

        @discardableResult
        func sql(_ text: String) throws -> [String] {
            try run("psql", "-XqAt", "-c", "SET search_path = \(name)", "-c", text)
        }

        /// Everything that is in the schema.
        func dump() throws -> [String] { try run("pg_dump", "--schema", name).filter { !$0.hasPrefix("\\") } }

        func move() throws -> StoreMove {
            try StoreMove(
                from: server, to: file, classes: MovingShop.classes, migrations: Self.migrations,
                logger: Self.silent, say: { _ in })
        }

        func finish(_ move: StoreMove) throws {
            _ = try move.finish()
            aside = String(try move.setAside().dropFirst("schema ".count))
        }

        func store(on database: StoreDatabase, _ writers: StoreWriters = .one) throws -> ClassStore {
            try ClassStore(
                database, classes: MovingShop.classes, synchronous: .normal, writers: writers, allowClassCreation: true,
                allowCustomObjectId: false, migrations: Self.migrations, logger: Self.silent)
        }

        private static let migrations = [Migrations("test", [MovingShop.tables])]
        private static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    }

    @Test(arguments: [StoreWriters.one, .every])
    func aStartRefusesItAndChangesNothing(writers: StoreWriters) async throws {
        let schema = try PlainSchema()
        let before = try schema.dump()
        let store = try schema.store(on: schema.server, writers)
        let problem = await withCheckedContinuation { continuation in
            store.startWriting(refused: { continuation.resume(returning: "\($0)") }, {})
        }
        #expect(problem.contains("SATCHEL_POSTGRESQL=plain") && problem.contains("scripts/move"), "\(problem)")
        #expect(throws: DatabaseRefused.self) { _ = try store.makeReader() }
        store.stop()
        #expect(try schema.dump() == before)
    }

    @Test func aMoveCopiesItToAFileExactly() async throws {
        let schema = try PlainSchema()
        let documents = try schema.sql("SELECT doc FROM o1 ORDER BY id") + schema.sql("SELECT doc FROM o2 ORDER BY id")
        #expect(documents.count == 7)
        let move = try schema.move()
        try move.copy()
        try schema.finish(move)

        let store = try schema.store(on: schema.file)
        await withCheckedContinuation { continuation in store.startWriting { continuation.resume() } }
        func texts(_ sql: String) async throws -> [String] {
            try await store.read { try $0.rows(sql).map { try $0.text(0) } }
        }
        let copied = try await texts("SELECT doc FROM o1 ORDER BY id") + texts("SELECT doc FROM o2 ORDER BY id")
        #expect(copied == documents)
        #expect(try await texts("SELECT principal FROM p1 WHERE object = 6 ORDER BY 1") == ["annannanna", "role:a"])
        let relations = try await texts("SELECT key || ' ' || owner || ' ' || target FROM relations")
        #expect(relations == ["items BJpXYnoIG4 BIkLcEmK8z"])
        #expect(try await texts("SELECT hex(body) FROM queue WHERE id = 3") == ["00FF0A27"])
        #expect(try await texts("SELECT userId FROM shares ORDER BY \"order\"") == ["ä", "Z", "", "a'b"])
        #expect(try await texts("SELECT CAST(total AS TEXT) FROM queued") == ["4"])

        func names(_ condition: JSON, order: [String] = ["name"]) async throws -> [String] {
            let query = Query(className: "Item", where: condition.serialized, order: order, limit: 100, skip: 0)
            return try await store.read { reader in
                try reader.documents(query, caller: .master).compactMap { $0["name"]?.stringValue }
            }
        }
        let place: JSON = ["__type": "GeoPoint", "latitude": 48, "longitude": 11]
        #expect(try await names(["at": ["$nearSphere": place]], order: []) == ["Rose Soap", ""])
        #expect(try await names(["name": ["$text": ["$search": ["$term": "soap"]]]]) == ["Lavender Soap", "Rose Soap"])
        #expect(try await names(["price": ["$gt": 1]], order: ["-price"]) == ["", "Rose Soap"])
        // Numbers go on, and unique values stay unique.
        try await store.write { try $0.execute("INSERT INTO log(text) VALUES ('next')") }
        #expect(try await texts("SELECT CAST(id AS TEXT) FROM log ORDER BY id") == ["1", "3"])
        let taken = await code {
            _ = try await store.write { try $0.create("Item", ["code": "a"], objectId: nil, caller: .master).objectId }
        }
        #expect(taken == 137)
        store.stop()
    }

    /// A process of an earlier release may still have the lease, or take it while the schema is copied.
    @Test func aSchemaThatIsStillWrittenIsNotMoved() async throws {
        let schema = try PlainSchema()
        try schema.sql("UPDATE storelease SET holder = 'other', expires = 9000000000000000")
        #expect(throws: MoveRefused.self) { _ = try schema.move() }
        try schema.sql("UPDATE storelease SET expires = 0")
        let move = try schema.move()
        try move.copy()
        try schema.sql("UPDATE storestate SET writer = writer + 1")
        #expect(throws: MoveRefused.self) { _ = try move.finish() }
        #expect(move.abandon())
        guard case .file(let path) = schema.file else { return }
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
