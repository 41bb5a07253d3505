import ObjectStore
import ParseProtocol
import Testing

/// The SQL that services use on their own tables gives the same results on both engines (docs/internals/sql.md).
@Suite struct OwnTableTests {
    private static let tables = [
        """
        CREATE TABLE notes(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, day INTEGER NOT NULL,
        isOpen INTEGER NOT NULL)
        """,
        "CREATE INDEX openNotes ON notes(day) WHERE isOpen",
        "CREATE TABLE noteTotals(kind INTEGER PRIMARY KEY, notes INTEGER NOT NULL)",
        """
        CREATE TRIGGER noteAdded AFTER INSERT ON notes
        BEGIN INSERT INTO noteTotals(kind, notes) VALUES (1, 1)
        ON CONFLICT(kind) DO UPDATE SET notes = noteTotals.notes + 1; END
        """,
        """
        CREATE TRIGGER noteRemoved AFTER DELETE ON notes
        BEGIN UPDATE noteTotals SET notes = notes - 1 WHERE kind = 1; END
        """,
    ]

    /// Three notes: `Äpfel` of 29 February 2024, `b` of 1 March 2024 and `c` of 31 December 1969; `c` is closed.
    private func filled() async throws -> TestStore {
        let test = try await TestStore(schema: Self.tables)
        try await test.store.write { transaction in
            let notes: [[SQLValue]] = [["Äpfel", 19_782, 1], ["b", 19_783, 1], ["c", -1, 0]]
            for note in notes {
                try transaction.execute("INSERT INTO notes(name, day, isOpen) VALUES (?, ?, ?)", note)
            }
        }
        return test
    }

    private func names(
        _ test: TestStore, _ arguments: [SQLValue] = [], _ condition: @escaping @Sendable (Dialect) -> String
    ) async throws -> [String] {
        try await test.store.read { reader in
            try reader.rows("SELECT name FROM notes WHERE \(condition(reader.dialect)) ORDER BY id", arguments)
                .map { try $0.text("name") }
        }
    }

    private func number(
        _ test: TestStore, _ sql: @escaping @Sendable (Dialect) -> String
    ) async throws -> [Int64] {
        try await test.store.read { reader in try reader.rows(sql(reader.dialect)).map { try $0.int(0) } }
    }

    @Test func aFlagIsACondition() async throws {
        let test = try await filled()
        #expect(try await names(test) { $0.flag("isOpen") } == ["Äpfel", "b"])
    }

    @Test func listsAreOneParameter() async throws {
        let test = try await filled()
        #expect(try await names(test, ["[1,3,9]"]) { "id\($0.isIn("?", as: .integer))" } == ["Äpfel", "c"])
        #expect(try await names(test, ["[1,3,9]"]) { "id\($0.isNotIn("?", as: .integer))" } == ["b"])
        #expect(try await names(test, ["[\"b\",\"Äpfel\"]"]) { "name\($0.isIn("?1", as: .text))" } == ["Äpfel", "b"])
        #expect(try await names(test, ["[]"]) { "name\($0.isIn("?1", as: .text))" } == [])
        #expect(try await names(test, ["[]"]) { "name\($0.isNotIn("?1", as: .text))" } == ["Äpfel", "b", "c"])
    }

    @Test func aMonthHasAFirstDay() async throws {
        let test = try await filled()
        let days = try await number(test) { "SELECT \($0.startOfMonth(of: "day")) FROM notes ORDER BY id" }
        #expect(days == [19_754, 19_783, -31])
    }

    @Test func bytesAndTheLesserNumberAreKnown() async throws {
        let test = try await filled()
        #expect(try await number(test) { "SELECT \($0.bytes(of: "name")) FROM notes ORDER BY id" } == [6, 1, 1])
        #expect(try await number(test) { "SELECT \($0.lesser("id", "2")) FROM notes ORDER BY id" } == [1, 2, 2])
    }

    @Test func rowsAreToldApart() async throws {
        let test = try await filled()
        try await test.store.write { transaction in
            let row = transaction.dialect.row(key: "name")
            try transaction.execute(
                "UPDATE notes SET day = 7 WHERE \(row) IN (SELECT \(row) FROM notes WHERE day > 0)")
        }
        #expect(try await number(test) { _ in "SELECT day FROM notes ORDER BY id" } == [7, 7, -1])
    }

    @Test func triggersKeepTheirSums() async throws {
        let test = try await filled()
        try await test.store.write { _ = try $0.execute("DELETE FROM notes WHERE name = 'b'") }
        #expect(try await number(test) { _ in "SELECT notes FROM noteTotals" } == [2])
    }

    @Test func aTriggerRefusesAChange() async throws {
        let test = try await TestStore(schema: [
            "CREATE TABLE entries(id INTEGER PRIMARY KEY, text TEXT NOT NULL)",
            """
            CREATE TRIGGER entriesStay BEFORE UPDATE ON entries BEGIN
                SELECT RAISE(ABORT, 'Never.');
            END
            """,
        ])
        try await test.store.write { _ = try $0.execute("INSERT INTO entries(text) VALUES ('a')") }
        let failure = await #expect(throws: StoreError.self) {
            try await test.store.write { _ = try $0.execute("UPDATE entries SET text = 'b'") }
        }
        #expect(failure?.message.contains("Never.") == true)
    }

    /// PostgreSQL aborts the whole transaction when one statement fails.
    @Test func aCreateThatIsRefusedLeavesTheRestOfTheTransaction() async throws {
        let test = try await TestStore()
        try await test.create("Note", ["name": "first"], id: "one")
        let found = try await test.store.write { transaction in
            _ = try transaction.create("Note", ["name": "before"], objectId: "two", caller: .master)
            do {
                _ = try transaction.create("Note", ["name": "again"], objectId: "one", caller: .master)
                return "made"
            } catch let error as ParseError where error.code == .duplicateValue {
                return try JSON(parsing: transaction.get("Note", "one", caller: .master))["name"]?.stringValue ?? ""
            }
        }
        #expect(found == "first")
        #expect(try await test.names("Note", [:]) == ["before", "first"])
    }
}
