import Foundation
import Logging
import ObjectStore
import ParseProtocol
import Testing

/// Numbered migrations upgrade a file from release to release: each runs once, in order, completely or not at all.
@Suite struct MigrationTests {
    /// A folder with a service's file, which successive releases open.
    final class Disk {
        private let folder = NSTemporaryDirectory() + "migrations-\(Names.random(10))"
        var path: String { folder + "/shop.sqlite" }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        func store(_ lists: [Migrations]) throws -> ClassStore {
            try ClassStore(
                .file(path: path), classes: [], allowClassCreation: true, allowCustomObjectId: false, migrations: lists,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        }

        /// Starts and stops a release with these migrations.
        /// - Returns: the reason why the release refuses the file; nil when it opened the file and ran `body`.
        func open(
            _ migrations: [Migration], beside others: [Migrations] = [],
            _ body: (ClassStore) async throws -> Void = { _ in }
        ) async throws -> String? {
            let opened = try store(others + [Migrations("shop", migrations)])
            defer { opened.stop() }
            let refusal: DatabaseRefused? = await withCheckedContinuation { continuation in
                opened.startWriting(refused: { continuation.resume(returning: $0) }) {
                    continuation.resume(returning: nil)
                }
            }
            if refusal == nil { try await body(opened) }
            return refusal?.description
        }
    }

    private static let tables = Migration(
        1, "tables", ["CREATE TABLE IF NOT EXISTS notes(id INTEGER PRIMARY KEY, text TEXT NOT NULL)"])

    /// Records its name.
    private static func note(_ number: Int, _ name: String) -> Migration {
        Migration(number, name) { _ = try $0.execute("INSERT INTO notes(text) VALUES (?)", [.text(name)]) }
    }

    private static func texts(_ sql: String, in store: ClassStore) async throws -> [String] {
        try await store.read { try $0.rows(sql).map { try $0.text(0) } }
    }

    private static func notes(_ store: ClassStore) async throws -> [String] {
        try await texts("SELECT text FROM notes ORDER BY id", in: store)
    }

    private static func records(_ store: ClassStore) async throws -> [String] {
        try await texts("SELECT identifier FROM grdb_migrations ORDER BY rowid", in: store)
    }

    @Test func eachIsDoneOnceAndInOrder() async throws {
        let disk = Disk()
        let kit = Migrations("kit", [Migration(1, "tables", ["CREATE TABLE IF NOT EXISTS kit(id INTEGER)"])])
        let list = [Self.tables, Self.note(2, "second"), Self.note(3, "third")]
        let first = try await disk.open(list, beside: [kit]) { store in
            let records = try await Self.records(store)
            let own = ["store.1.tables", "store.2.automaticIndexes", "store.3.typedValues"]
            #expect(records == own + ["kit.1.tables", "shop.1.tables", "shop.2.second", "shop.3.third"])
            let notes = try await Self.notes(store)
            #expect(notes == ["second", "third"])
        }
        #expect(first == nil)
        let next = list + [Self.note(4, "fourth")]
        for start in 1...2 {
            let refusal = try await disk.open(next, beside: [kit]) { store in
                let notes = try await Self.notes(store)
                #expect(notes == ["second", "third", "fourth"], "start \(start)")
            }
            #expect(refusal == nil)
        }
    }

    /// Files from releases before migrations have the tables and no record.
    @Test func aFileWithoutRecordsKeepsWhatItHas() async throws {
        let disk = Disk()
        let before = try await disk.open([Self.tables]) { store in
            try await store.write { transaction in
                _ = try transaction.execute("INSERT INTO notes(text) VALUES ('kept')")
                _ = try transaction.create("Thing", ["name": "kept"], caller: .master)
                _ = try transaction.execute("DROP TABLE grdb_migrations")
                _ = try transaction.execute("DROP TABLE automaticIndexes")
            }
        }
        #expect(before == nil)
        let after = try await disk.open([Self.tables, Self.note(2, "second")]) { store in
            let notes = try await Self.notes(store)
            #expect(notes == ["kept", "second"])
            let things = try await store.read { try $0.documents(Query(className: "Thing"), caller: .master) }
            #expect(things.map { $0["name"] } == ["kept"])
            let records = try await Self.records(store)
            #expect(
                records == [
                    "store.1.tables", "store.2.automaticIndexes", "store.3.typedValues", "shop.1.tables",
                    "shop.2.second",
                ])
        }
        #expect(after == nil)
    }

    /// A code migration sees the objects of the previous release, and no class in a new file.
    @Test func codeChangesObjects() async throws {
        let disk = Disk()
        let rename = Migration(2, "longNames") { transaction in
            guard transaction.hasClass("Thing") else { return }
            for thing in try transaction.documents(Query(className: "Thing"), caller: .master) {
                guard let id = thing["objectId"]?.stringValue, let name = thing["name"]?.stringValue else { continue }
                _ = try transaction.update("Thing", id, ["longName": .string("long \(name)")], caller: .master)
            }
        }
        let before = try await disk.open([Self.tables]) { store in
            _ = try await store.write { try $0.create("Thing", ["name": "comb"], caller: .master).objectId }
        }
        #expect(before == nil)
        let after = try await disk.open([Self.tables, rename]) { store in
            let long = Query(className: "Thing", where: ["longName": "long comb"])
            let count = try await store.read { try $0.count(long, caller: .master) }
            #expect(count == 1)
        }
        #expect(after == nil)
        let new = try await Disk().open([Self.tables, rename])
        #expect(new == nil)
    }

    @Test func aFileOfANewerReleaseIsRefusedAndLeftAsItIs() async throws {
        let disk = Disk()
        let newer = try await disk.open([Self.tables, Self.note(2, "loyalty")])
        #expect(newer == nil)
        let file = URL(fileURLWithPath: disk.path)
        let bytes = try Data(contentsOf: file)
        let refusal = try await disk.open([Self.tables]) { _ in Issue.record("It was opened.") }
        let text = try #require(refusal)
        for part in [disk.path, "newer release", "shop.2.loyalty", "docs/guides/upgrading.md"] {
            #expect(text.contains(part), "\(text)")
        }
        #expect(try Data(contentsOf: file) == bytes)
        // A replica that is not the writer does not read it either.
        let replica = try disk.store([Migrations("shop", [Self.tables])])
        #expect(throws: DatabaseRefused.self) { _ = try replica.makeReader() }
        replica.stop()
        let again = try await disk.open([Self.tables, Self.note(2, "loyalty")])
        #expect(again == nil)
    }

    @Test(arguments: ["statements", "code"])
    func oneThatFailsLeavesTheFileAsItWas(_ kind: String) async throws {
        let disk = Disk()
        let before = try await disk.open([Self.tables])
        #expect(before == nil)
        let half = "ALTER TABLE notes ADD COLUMN author TEXT"
        let failing =
            kind == "statements"
            ? Migration(3, "authors", [half, "INSERT INTO nowhere VALUES (1)"])
            : Migration(3, "authors") { transaction in
                _ = try transaction.execute(half)
                _ = try transaction.create("Thing", ["name": "half"], caller: .master)
                throw ParseError(.validationError, "Not this way.")
            }
        for _ in 1...2 {
            let refusal = try await disk.open([Self.tables, Self.note(2, "second"), failing, Self.note(4, "fourth")])
            #expect(refusal?.contains("shop.3.authors failed and was undone") == true, "\(refusal ?? "opened")")
        }
        // Earlier migrations remain, the failed one leaves nothing, and later ones wait.
        let right = Migration(3, "authors", [half])
        let after = try await disk.open([Self.tables, Self.note(2, "second")]) { store in
            let columns = try await Self.texts("SELECT name FROM pragma_table_info('notes') ORDER BY cid", in: store)
            #expect(columns == ["id", "text"])
            let notes = try await Self.notes(store)
            #expect(notes == ["second"])
            let records = try await Self.records(store)
            #expect(
                records == [
                    "store.1.tables", "store.2.automaticIndexes", "store.3.typedValues", "shop.1.tables",
                    "shop.2.second",
                ])
            let hasThing = try await store.read { $0.hasClass("Thing") }
            #expect(!hasThing)
        }
        #expect(after == nil)
        let list = [Self.tables, Self.note(2, "second"), right, Self.note(4, "fourth")]
        let repaired = try await disk.open(list) { store in
            let notes = try await Self.notes(store)
            #expect(notes == ["second", "fourth"])
        }
        #expect(repaired == nil)
    }

    /// If a non-writing replica starts first, its reads wait until the writer has run all migrations.
    @Test func readsWaitForTheMigrations() async throws {
        let disk = Disk()
        let before = try await disk.open([Self.tables])
        #expect(before == nil)
        let store = try disk.store([Migrations("shop", [Self.tables, Self.note(2, "second")])])
        defer { store.stop() }
        async let read = Self.notes(store)
        await withCheckedContinuation { started in store.startWriting { started.resume() } }
        let notes = try await read
        #expect(notes == ["second"])
    }
}
