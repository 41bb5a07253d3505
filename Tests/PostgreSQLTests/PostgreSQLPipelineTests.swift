import PostgreSQL
import TestSupport
import Testing

/// Statements sent to the server together, and what happens to the others when one fails.
@Suite struct PostgreSQLPipelineTests {
    private func connection() async throws -> PostgreSQLConnection {
        let connection = try await Connections.shared()
        try connection.execute("CREATE TEMP TABLE kept(id bigint PRIMARY KEY, name text)")
        return connection
    }

    private func insert(_ id: Int64, _ connection: PostgreSQLConnection) throws {
        try connection.enqueue("INSERT INTO kept VALUES ($1, $2)", [.int(id), .text("name \(id)")])
    }

    private func count(_ connection: PostgreSQLConnection) throws -> Int64? {
        try connection.rows("SELECT count(*) FROM kept").first?.first?.intValue
    }

    @Test func aTransactionOfAHundredInsertsIsOneRoundTrip() async throws {
        let connection = try await connection()
        let before = connection.roundTrips
        try connection.begin()
        for id in 0..<100 { try insert(Int64(id), connection) }
        #expect(connection.roundTrips == before)
        #expect(connection.isInTransaction)
        try connection.commit()
        #expect(connection.roundTrips == before + 1)
        #expect(!connection.isInTransaction)
        #expect(try count(connection) == 100)
    }

    @Test func moreThanFitIntoMemoryAreStillOneTransaction() async throws {
        let connection = try await connection()
        for id in 0..<3000 { try insert(Int64(id), connection) }
        #expect(failure { try connection.execute("SELECT 1 / 0") }?.state == "22012")
        #expect(try count(connection) == 0)
        for id in 0..<3000 { try insert(Int64(id), connection) }
        try connection.settle()
        #expect(try count(connection) == 3000)
    }

    @Test func aFailureIsToldWhereAResultIsAskedFor() async throws {
        let connection = try await connection()
        try insert(1, connection)
        try insert(1, connection)
        try insert(2, connection)
        let error = failure { _ = try count(connection) }
        #expect(error?.isUniqueViolation == true)
        #expect(error?.constraint == "kept_pkey")
        // The error is reported once, and nothing of the group is stored.
        #expect(try count(connection) == 0)
    }

    @Test func aFailureInATransactionFailsItAsAWhole() async throws {
        let connection = try await connection()
        try connection.begin()
        try insert(1, connection)
        try insert(1, connection)
        #expect(failure { try connection.settle() }?.isUniqueViolation == true)
        #expect(connection.isInTransaction)
        #expect(failure { _ = try count(connection) }?.state == "25P02")
        #expect(failure { try connection.commit() }?.state == "25P02")
        #expect(!connection.isInTransaction)
        #expect(try count(connection) == 0)
    }

    @Test func aStatementThatWasNeverPreparedBecauseOfAFailureIsPreparedLater() async throws {
        let connection = try await connection()
        try connection.enqueue("SELECT 1 / $1::bigint", [.int(0)])
        #expect(failure { try connection.execute("SELECT 'behind it'") }?.state == "22012")
        #expect(try connection.rows("SELECT 'behind it'") == [[.text("behind it")]])
    }

    @Test func resultsComeInTheOrderOfTheirStatements() async throws {
        let connection = try await connection()
        let statements = try (1...5).map { try connection.statement("SELECT \($0), $1::text") }
        let before = connection.roundTrips
        for statement in statements {
            try statement.bind("x", at: 1)
            try statement.send()
        }
        // The results are read in another order.
        for (index, statement) in statements.enumerated().reversed() {
            let hasRow = try statement.step()
            #expect(hasRow)
            #expect(statement.int(0) == Int64(index + 1))
        }
        #expect(connection.roundTrips == before + 1)
    }

    @Test func statementsShareAPreparedOne() async throws {
        let connection = try await connection()
        let first = try connection.statement("SELECT 10 / $1::bigint")
        let others = (0..<3).map { _ in PostgreSQLStatement(besides: first) }
        let before = connection.roundTrips
        for (index, statement) in ([first] + others).enumerated() {
            try statement.bind(Int64(index + 1), at: 1)
            try statement.send()
        }
        for (index, statement) in ([first] + others).enumerated() {
            let hasRow = try statement.step()
            #expect(hasRow)
            #expect(statement.int(0) == Int64(10 / (index + 1)))
        }
        #expect(connection.roundTrips == before + 1)
        let prepared = try connection.rows(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT 10 /%'")
        #expect(prepared == [[.int(1)]])
    }

    /// The server drops the prepared statement, and each of its statements continues with a new one.
    @Test func statementsThatShareAStalePreparedOnePrepareItAgain() async throws {
        let connection = try await connection()
        try connection.execute("INSERT INTO kept VALUES (1, 'a')")
        let first = try connection.statement("SELECT * FROM kept")
        let other = PostgreSQLStatement(besides: first)
        let hasRow = try first.step()
        #expect(hasRow)
        first.reset()
        try connection.execute(script: "ALTER TABLE kept ADD COLUMN size bigint DEFAULT 7")
        for statement in [first, other] { try statement.send() }
        for statement in [first, other] { #expect(failure { _ = try statement.step() }?.state == "0A000") }
        for statement in [first, other] { try statement.send() }
        for statement in [first, other] {
            let hasRow = try statement.step()
            #expect(hasRow)
            #expect(statement.int(2) == 7)
        }
    }

    @Test func statementsAfterAFailureFail() async throws {
        let connection = try await connection()
        let (good, bad, late) = (
            try connection.statement("SELECT 1"), try connection.statement("SELECT 1 / 0"),
            try connection.statement("SELECT 2")
        )
        for statement in [good, bad, late] { try statement.send() }
        let hasRow = try good.step()
        #expect(hasRow)
        #expect(failure { _ = try bad.step() }?.state == "22012")
        #expect(failure { _ = try late.step() }?.state == "22012")
        #expect(try connection.rows("SELECT 3") == [[.int(3)]])
    }

    @Test func aBatchTellsWhatEachChanged() async throws {
        let connection = try await connection()
        let before = connection.roundTrips
        let counts = try connection.execute(batch: [
            ("INSERT INTO kept VALUES ($1, 'a')", [.int(1)]), ("INSERT INTO kept VALUES ($1, 'a')", [.int(2)]),
            ("UPDATE kept SET name = $1", [.text("b")]), ("DELETE FROM kept WHERE id > $1", [.int(5)]),
        ])
        #expect(counts == [1, 1, 2, 0])
        #expect(connection.roundTrips == before + 1)
    }

    @Test func rollbackUndoesWhatIsOnlyQueued() async throws {
        let connection = try await connection()
        try insert(1, connection)
        try connection.rollback()
        #expect(!connection.isInTransaction)
        try connection.begin()
        try insert(2, connection)
        try insert(2, connection)
        try connection.rollback()
        #expect(!connection.isInTransaction)
        try connection.begin()
        try insert(3, connection)
        #expect(failure { try connection.execute("SELECT 1 / 0") } != nil)
        try connection.rollback()
        #expect(try count(connection) == 0)
    }

    @Test func aConstraintThatIsCheckedAtTheEndFailsTheEnd() async throws {
        let connection = try await Connections.shared()
        try connection.execute("CREATE TEMP TABLE kept(id bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        try connection.enqueue("INSERT INTO kept VALUES (1), (1)")
        #expect(failure { try connection.settle() }?.isUniqueViolation == true)
        #expect(failure { try connection.execute("INSERT INTO kept VALUES (2), (2)") }?.isUniqueViolation == true)
        try connection.begin()
        try connection.execute("INSERT INTO kept VALUES (3), (3)")
        #expect(failure { try connection.commit() }?.isUniqueViolation == true)
        #expect(try connection.rows("SELECT count(*) FROM kept") == [[.int(0)]])
    }

    /// Groups of random statements, some of which fail, compared with a set of the expected rows.
    @Test(arguments: 1...40)
    func groupsAreAllOrNothing(seed: UInt64) async throws {
        var generator = Seeded(seed)
        let connection = try await connection()
        var kept: Set<Int64> = []
        for _ in 0..<20 {
            let ids = (0..<Int.random(in: 1...8, using: &generator)).map { _ in
                Int64.random(in: 0..<100, using: &generator)
            }
            let isTransaction = Bool.random(using: &generator)
            let isUndone = Bool.random(using: &generator)
            let error = failure {
                if isTransaction { try connection.begin() }
                for id in ids { try add(id, connection, &generator) }
                if isUndone {
                    try connection.rollback()
                } else if isTransaction {
                    try connection.commit()
                } else {
                    try connection.settle()
                }
            }
            let isUnique = Set(ids).count == ids.count && kept.isDisjoint(with: ids)
            // A failure of a statement that was only queued is rolled back without an error.
            #expect(error?.isUniqueViolation == (isUndone || isUnique ? nil : true))
            try connection.rollback()
            if isUnique, !isUndone { kept.formUnion(ids) }
            let found = try connection.rows("SELECT id FROM kept").compactMap { $0.first?.intValue }
            #expect(Set(found) == kept)
            #expect(!connection.isInTransaction)
        }
    }

    /// Queues an insertion, with or without a request for its result.
    private func add(_ id: Int64, _ connection: PostgreSQLConnection, _ generator: inout Seeded) throws {
        guard Bool.random(using: &generator) else { return try insert(id, connection) }
        let statement = try connection.statement("INSERT INTO kept VALUES ($1, 'sent') RETURNING id")
        try statement.bind(id, at: 1)
        try statement.send()
    }

    /// Both sides have more data to send than the socket buffers hold.
    @Test func largeValuesInBothDirectionsDoNotBlock() async throws {
        let connection = try await connection()
        let text = String(repeating: "x", count: 1_000_000)
        let statements = try (0..<20).map { try connection.statement("SELECT $1::text, \($0)") }
        for statement in statements {
            try statement.bind(text, at: 1)
            try statement.send()
        }
        for statement in statements {
            let hasRow = try statement.step()
            #expect(hasRow)
            #expect(statement.bytes(0).count == 1_000_000)
        }
    }
}
