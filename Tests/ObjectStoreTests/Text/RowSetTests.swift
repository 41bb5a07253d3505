import Testing

@testable import ObjectStore

@Suite struct RowSetTests {
    /// Binds a set with row 1.
    /// - Returns: whether the set is still in memory.
    private static func bind(to statement: SQLiteStatement, _ connection: SQLiteConnection) throws -> () -> Bool {
        let found = try connection.statement("SELECT 1")
        defer { found.reset() }
        let rows = try #require(try RowSet.read(found, countMin: 1, highest: 1))
        try statement.bind(rows, at: 1)
        return { [weak rows] in rows != nil }
    }

    /// Statements are cached, and sets are large.
    @Test func aStatementKeepsItsSetOnlyWhileItRuns() throws {
        let connection = try SQLiteConnection(path: SQLiteConnection.inMemory, writing: .normal)
        let statement = try #require(try connection.statement("SELECT satchel_among(?1, 1)") as? SQLiteStatement)
        let isKept = try Self.bind(to: statement, connection)
        #expect(try statement.step())
        #expect(statement.int(0) == 1)
        #expect(isKept())
        statement.reset()
        #expect(!isKept())
    }
}
