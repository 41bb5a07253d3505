import Foundation
import ObjectStore
import ParseProtocol
import Synchronization
import Testing

/// What a plain schema does in its own way: who writes it, and tables and indexes that are no part of transactions.
@Suite(.postgresqlOnly("A schema is a server's.")) struct PlainStoreTests {
    private static func store(
        _ classes: [ClassDefinition] = [], path: String? = nil, schema: [String] = [], startsWriting: Bool = true
    ) async throws -> TestStore {
        try await TestStore(classes, path: path, schema: schema, isPlain: true, startsWriting: startsWriting)
    }

    private static func names(_ test: TestStore, _ kind: String) async throws -> Set<String> {
        let column = kind == "table" ? "table_name" : "indexname"
        let view = kind == "table" ? "information_schema.tables" : "pg_indexes"
        let schema = kind == "table" ? "table_schema" : "schemaname"
        let rows = try await test.store.read {
            try $0.rows("SELECT \(column) AS name FROM \(view) WHERE \(schema) = current_schema()", [])
        }
        return Set(try rows.map { try $0.text("name") })
    }

    private static func count(_ test: TestStore, _ className: String) async throws -> Int {
        try await test.store.read { try $0.count(Query(className: className), caller: .master) }
    }

    // MARK: Who writes

    /// The lease is given back at the end, so that nobody waits for its time.
    @Test func whoStopsIsFollowedAtOnce() async throws {
        let first = try await Self.store()
        let second = try await Self.store(path: first.path, startsWriting: false)
        let began = Atomic(false)
        second.store.startWriting { began.store(true, ordering: .relaxed) }
        try await first.create("T", ["n": 1])
        #expect(second.store.role == .reader)
        first.store.stop()
        let start = ContinuousClock.now
        #expect(await comesTrue(within: 8) { began.load(ordering: .relaxed) })
        #expect(ContinuousClock.now - start < .seconds(6), "It did not wait for the lease's end.")
        try await second.create("T", ["n": 2])
        #expect(try await Self.count(second, "T") == 2)
        second.store.stop()
    }

    /// A writer that was thought dead, as its lease had ended, finds another in its place and changes nothing any more.
    @Test(.timeLimit(.minutes(2))) func whoLostTheLeaseWritesNoMore() async throws {
        let first = try await Self.store(startsWriting: false)
        let refused = Atomic(false)
        await first.mayWrite(refused: { _ in refused.store(true, ordering: .relaxed) })
        try await first.create("T", ["n": 1])
        let second = try await Self.store(path: first.path, startsWriting: false)
        let began = Atomic(false)
        second.store.startWriting { began.store(true, ordering: .relaxed) }
        var refusal: (any Error)?
        // Until the second one has it the first may renew it.
        while !began.load(ordering: .relaxed) {
            _ = try? await first.store.write { _ = try $0.execute("UPDATE storeLease SET holder = 'x', expires = 0") }
            try await Task.sleep(for: .milliseconds(20))
        }
        do {
            try await first.create("T", ["n": 2])
        } catch { refusal = error }
        #expect((refusal as? ParseError)?.code == .serviceUnavailable)
        #expect(await comesTrue(within: 5) { refused.load(ordering: .relaxed) })
        #expect(try await second.store.read { try $0.rows("SELECT objectId FROM o1", []).count } == 1)
        try await second.create("T", ["n": 3])
        second.store.stop()
        first.store.stop()
    }

    /// A job that takes longer than a lease lasts does not make its writer look dead.
    @Test(.timeLimit(.minutes(2))) func whoIsBusyKeepsTheLease() async throws {
        let first = try await Self.store()
        let second = try await Self.store(path: first.path, startsWriting: false)
        let began = Atomic(false)
        second.store.startWriting { began.store(true, ordering: .relaxed) }
        // On the writer's own thread. Other tests look for whoever sleeps on the server.
        try await first.store.write { _ in Thread.sleep(forTimeInterval: 12) }
        let isReplaced = began.load(ordering: .relaxed)
        #expect(!isReplaced)
        try await first.create("T", ["n": 1])
        first.store.stop()
        second.store.stop()
    }

    /// Locks and a lease do not exclude each other: a schema has one of them.
    @Test(.unlessPlain("One of them is not."), arguments: [true, false])
    func aSchemaStaysOfItsKind(isPlain: Bool) async throws {
        let test = try await TestStore(isPlain: isPlain)
        try await test.create("T", ["n": 1])
        let other = try await TestStore(path: test.path, isPlain: !isPlain, startsWriting: false)
        let problem = await withCheckedContinuation { continuation in
            other.store.startWriting(refused: { continuation.resume(returning: "\($0)") }, {})
        }
        #expect(problem.contains("SATCHEL_POSTGRESQL=plain"), "\(problem)")
        try await test.create("T", ["n": 2])
    }

    // MARK: Classes

    /// Tables are ready before a class is there; a job that needs more of them is done again, as a whole.
    @Test func aJobMakesManyClassesOrNone() async throws {
        let test = try await Self.store()
        _ = try await test.store.write { transaction in
            for number in 0..<7 { _ = try transaction.create("Class\(number)", ["n": 1], caller: .master) }
        }
        let refusal = await code {
            _ = try await test.store.write { transaction in
                for number in 7..<10 { _ = try transaction.create("Class\(number)", ["n": 1], caller: .master) }
                throw ParseError(.validationError, "no")
            }
        }
        #expect(refusal == 142)
        #expect(try await test.store.read { try $0.rows("SELECT id FROM classes", []).count } == 7)
        // What was made for those is there for the next ones.
        try await test.create("Next", ["n": 1])
        #expect(try await Self.count(test, "Next") == 1)
        for number in 0..<7 { #expect(try await Self.count(test, "Class\(number)") == 1) }
    }

    /// The tables of a class go beside the writes, and its number may come again.
    @Test func aDroppedClassLeavesNothing() async throws {
        let definition = ClassDefinition("Text", fields: ["name": .string, "at": .geoPoint], textFields: ["name"])
        let test = try await Self.store([definition])
        let id = try await test.create("Text", ["name": "Rose Cream"])
        try await test.create("Gone", ["n": 1, "place": ["__type": "GeoPoint", "latitude": 1, "longitude": 2]])
        let before = try await Self.names(test, "table")
        let objects = try await test.store.read { try $0.rows("SELECT id FROM classes WHERE name = 'Gone'", []) }
        let number = try #require(objects.first).int(0)
        #expect(before.isSuperset(of: ["o\(number)", "p\(number)"]))
        #expect(try await Self.names(test, "index").contains("g\(number)"))
        let gone = try await test.store.write { try $0.objectIds("Gone", max: 10) }
        _ = try await test.store.write { try $0.delete("Gone", #require(gone.first), caller: .master) }
        try await test.store.write { try $0.dropClass("Gone") }
        while try await test.store.stepIndexes() != .nothing {}
        let after = try await Self.names(test, "table")
        #expect(after.isDisjoint(with: ["o\(number)", "p\(number)"]))
        #expect(try await !Self.names(test, "index").contains("g\(number)"))
        for name in ["One", "Two", "Three"] { try await test.create(name, ["n": 1]) }
        #expect(try await Self.count(test, "Text") == 1)
        try await test.delete("Text", id)
    }

    /// An operator's index is made before the job that lists it; one that cannot be made fails that job alone.
    @Test func anIndexIsThereOrTheJobFails() async throws {
        let test = try await Self.store()
        for n in [1, 1, 2] { try await test.create("T", ["n": .int(Int64(n)), "m": .int(Int64(n))]) }
        let unique: JSON = ["indexes": ["byN": ["n": 1, "_unique": true]]]
        let plain: JSON = ["indexes": ["byM": ["m": 1]]]
        #expect(await code { _ = try await test.store.write { try $0.changeClass("T", unique, keeping: []) } } == 137)
        #expect(try await !Self.names(test, "index").contains { $0.hasSuffix("_byN") })
        _ = try await test.store.write { try $0.changeClass("T", plain, keeping: []) }
        #expect(try await Self.names(test, "index").contains { $0.hasSuffix("_byM") })
        let removal: JSON = ["indexes": ["byM": ["__op": "Delete"]]]
        _ = try await test.store.write { try $0.changeClass("T", removal, keeping: []) }
        // It goes before the next job.
        try await test.create("T", ["n": 3])
        #expect(try await !Self.names(test, "index").contains { $0.hasSuffix("_byM") })
    }

    /// A value that has to be unique is so, by an index that was made before its class had an object.
    @Test func whatIsUniqueIsTakenOnce() async throws {
        let definition = ClassDefinition("Code", fields: ["code": .string], uniqueIndexes: [["code"]])
        let test = try await Self.store([definition])
        try await test.create("Code", ["code": "a"])
        #expect(await code { try await test.create("Code", ["code": "a"]) } == 137)
        try await test.create("Code", ["code": .null])
        try await test.create("Code", [:])
        #expect(try await Self.count(test, "Code") == 3)
    }

    @Test func listsAndObjectsHaveNoIndex() async throws {
        let test = try await Self.store()
        try await test.create("T", ["list": [1], "map": ["a": 1], "n": 1])
        for field in ["list", "map"] {
            let wish: JSON = ["indexes": ["mine": [field: 1]]]
            #expect(await code { _ = try await test.store.write { try $0.changeClass("T", wish, keeping: []) } } == 102)
        }
    }

    @Test func aFieldIsTakenFromEachObjectAndARelationGivenToEach() async throws {
        let test = try await Self.store()
        for n in 0..<250 { try await test.create("T", ["n": .int(Int64(n)), "gone": "x", "list": [1, ["a": "b"]]]) }
        _ = try await test.store.write {
            try $0.changeClass("T", ["fields": ["gone": ["__op": "Delete"]]], keeping: [])
        }
        _ = try await test.store.write {
            try $0.changeClass("T", ["fields": ["likes": ["type": "Relation", "targetClass": "T"]]], keeping: [])
        }
        let rows = try await test.store.read { try $0.rows("SELECT doc, data::text AS data FROM o1 ORDER BY id", []) }
        #expect(rows.count == 250)
        for (n, row) in rows.enumerated() {
            let document = try JSON(parsing: row.text("doc"))
            #expect(try JSON(parsing: row.text("data")) == document)
            #expect(document["n"] == .int(Int64(n)) && document["gone"] == nil)
            #expect(document["likes"]?["className"] == "T" && document["list"]?.arrayValue?.count == 2)
        }
    }

    // MARK: Interrupted starts

    /// A start that ends between two statements of a migration goes on where it was: what is there already is no error,
    /// and what was added is not added again.
    @Test func anInterruptedMigrationGoesOn() async throws {
        let schema = [
            "CREATE TABLE mine(id INTEGER PRIMARY KEY, n INTEGER NOT NULL)",
            "INSERT INTO mine(id, n) VALUES (1, 1)",
            "ALTER TABLE mine ADD COLUMN m INTEGER NOT NULL DEFAULT 0",
            "CREATE INDEX mineByM ON mine(m)",
            "CREATE TRIGGER mineStays BEFORE UPDATE ON mine BEGIN SELECT RAISE(ABORT, 'Never.'); END",
            "INSERT INTO mine(id, n, m) VALUES (2, 2, 2)",
        ]
        for done in 0..<9 {
            let test = try await Self.store()
            // Up to some statement, the last of which is not noted.
            let statements = [
                schema[0].replacing("INTEGER", with: "bigint"), schema[1],
                schema[2].replacing("INTEGER", with: "bigint"), schema[3], "DROP TRIGGER IF EXISTS mineStays ON mine",
                "DROP FUNCTION IF EXISTS mineStays()",
                """
                CREATE FUNCTION mineStays() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN RAISE EXCEPTION USING MESSAGE = 'Never.'; RETURN NEW; END $$
                """,
                "CREATE TRIGGER mineStays BEFORE UPDATE ON mine FOR EACH ROW EXECUTE FUNCTION mineStays()",
            ]
            _ = try await test.store.write { transaction in
                for statement in statements.prefix(done) { _ = try transaction.execute(statement) }
                guard done > 0 else { return }
                // A row and its note are one transaction.
                let noted = statements[done - 1].hasPrefix("INSERT") ? done : done - 1
                _ = try transaction.execute(
                    "INSERT INTO storeProgress(identifier, done) VALUES ('test.1.tables', ?)", [.int(Int64(noted))])
            }
            test.store.stop()
            let again = try await Self.store(path: test.path, schema: schema)
            let rows = try await again.store.read { try $0.rows("SELECT id, n, m FROM mine ORDER BY id", []) }
            #expect(try rows.map { try [$0.int(0), $0.int(1), $0.int(2)] } == [[1, 1, 0], [2, 2, 2]], "\(done)")
            #expect(try await Self.names(again, "index").contains("minebym"))
            await #expect(throws: StoreError.self) {
                _ = try await again.store.write { try $0.execute("UPDATE mine SET n = 5") }
            }
            again.store.stop()
        }
    }

    /// Of a class that was being made there is nothing, and of one that was being dropped neither.
    @Test func whatAWriterBeforeLeftIsTidiedUp() async throws {
        let test = try await Self.store()
        try await test.create("T", ["n": 1])
        _ = try await test.store.write { transaction in
            _ = try transaction.execute("INSERT INTO classTables(id, state) VALUES (77, 'making')")
            _ = try transaction.execute("CREATE TABLE o77(id bigint)")
            _ = try transaction.execute("CREATE UNIQUE INDEX \"x1_left\" ON o1(updatedAt)")
        }
        test.store.stop()
        let again = try await Self.store(path: test.path)
        while try await again.store.stepIndexes() != .nothing {}
        #expect(try await !Self.names(again, "table").contains("o77"))
        #expect(try await !Self.names(again, "index").contains("x1_left"))
        try await again.create("U", ["n": 1])
        again.store.stop()
    }

    // MARK: What it cannot

    @Test(
        arguments: [
            ["name": ["$regex": "(?=a)b"]], ["name": ["$regex": #"\bword"#]],
            ["name": ["$text": ["$search": ["$term": "soap"]]]],
            ["text": ["$text": ["$search": ["$term": "soap", "$caseSensitive": true]]]],
        ] as [JSON])
    func whatItHasNotIsRefused(condition: JSON) async throws {
        let definition = ClassDefinition("T", fields: ["name": .string, "text": .string], textFields: ["text"])
        let test = try await Self.store([definition])
        try await test.create("T", ["name": "soap", "text": "soap"])
        #expect(await code { _ = try await test.names("T", condition) } == 102)
        #expect(try await test.names("T", ["text": ["$text": ["$search": ["$term": "soap"]]]], order: []) == ["soap"])
    }
}
