import ObjectStore
import ParseProtocol
import Testing

/// T10a: a column that is misspelt, missing or NULL causes an error, never an amount of 0.
@Suite struct StrictRowTests {
    private static let schema = [
        "CREATE TABLE IF NOT EXISTS books(id INTEGER PRIMARY KEY, amount INTEGER, name TEXT, cover BLOB)"
    ]

    @Test func aMisspeltColumnIsNoZero() async throws {
        let test = try await TestStore(schema: Self.schema)
        let row = try await test.store.write { job in
            try job.execute("INSERT INTO books(id, amount, name, cover) VALUES(1, 350, 'a', ?)", [.blob([])])
            return try job.rows("SELECT amount, name, cover FROM books", [])[0]
        }
        #expect(try row.int("amount") == 350)
        #expect(try row.text("name") == "a")
        #expect(try row.blob("cover") == [])
        #expect(throws: StoreError.self) { try row.int("amuont") }
        #expect(throws: StoreError.self) { try row["amuont"] }
        #expect(throws: StoreError.self) { try row.int(3) }
        #expect(throws: StoreError.self) { try row.int(-1) }
    }

    @Test func nullAndOtherTypesAreNoZero() async throws {
        let test = try await TestStore(schema: Self.schema)
        let row = try await test.store.write { job in
            try job.rows("SELECT NULL AS amount, 3.5 AS price, '3' AS text, sum(amount) AS total FROM books", [])[0]
        }
        for name in ["amount", "price", "text", "total"] { #expect(throws: StoreError.self) { try row.int(name) } }
        for name in ["amount", "price"] { #expect(throws: StoreError.self) { try row.text(name) } }
        #expect(try row["amount"].intValue == nil)
        #expect(try row["total"].isNull)
    }

    /// A value that SQLite rejects causes an error; the previous run's value is not used.
    @Test(.sqliteOnly("PostgreSQL takes a value of this length."))
    func aValueThatIsNotBoundIsAnError() async throws {
        let test = try await TestStore(schema: Self.schema)
        let tooLong = SQLValue.blob([UInt8](repeating: 0, count: 67_108_865))
        await #expect(throws: StoreError.self) {
            try await test.store.write {
                try $0.execute("INSERT INTO books(id, cover) VALUES(?, ?)", [.int(2), tooLong])
            }
        }
        let count = try await test.store.read { try $0.rows("SELECT count(*) AS n FROM books")[0].int("n") }
        #expect(count == 0)
    }
}
