import PostgreSQL
import TestSupport
import Testing

/// Statements: which remain prepared, and how rows are read.
@Suite struct PostgreSQLStatementTests {
    @Test func aStatementIsPreparedOnceAndIsOneRoundTrip() async throws {
        let connection = try await Connections.shared()
        let before = connection.roundTrips
        for number in 0..<10 {
            #expect(try connection.rows("SELECT $1::bigint * 2", [.int(Int64(number))]) == [[.int(Int64(number * 2))]])
        }
        #expect(connection.roundTrips == before + 10)
        let prepared = try connection.rows("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%* 2%'")
        // The counting statement contains these words too.
        #expect(prepared == [[.int(2)]])
    }

    @Test func noMoreThanAreKeptArePreparedOnTheServer() async throws {
        let connection = try await Connections.shared()
        for number in 0..<600 { try connection.execute("SELECT \(number)") }
        #expect(connection.statementCount <= PostgreSQLConnection.statementsMax)
        let prepared = try connection.rows("SELECT count(*) FROM pg_prepared_statements").first?.first?.intValue ?? 0
        #expect(prepared == Int64(connection.statementCount))
        // The last used statement is still prepared.
        let before = connection.statementCount
        try connection.execute("SELECT 599")
        #expect(connection.statementCount == before)
    }

    @Test func longStatementsAreNotKept() async throws {
        let connection = try await Connections.shared()
        let before = connection.statementCount
        let list = (0..<4000).map(String.init).joined(separator: ",")
        #expect(try connection.rows("SELECT 3 IN (\(list))") == [[.int(1)]])
        #expect(connection.statementCount == before)
        _ = try connection.rows("SELECT 1")
        let left = try connection.rows("SELECT count(*) FROM pg_prepared_statements WHERE length(statement) > 16384")
        #expect(left == [[.int(0)]])
    }

    @Test func severalStatementsAreOpenAtOnce() async throws {
        let connection = try await Connections.shared()
        let outer = try connection.statement("SELECT i FROM generate_series(1, 3) i")
        var found: [Int64] = []
        while try outer.step() {
            let inner = try connection.statement("SELECT $1::bigint * j FROM generate_series(1, 2) j")
            try inner.bind(outer.int(0), at: 1)
            while try inner.step() { found.append(inner.int(0)) }
        }
        #expect(found == [1, 2, 2, 4, 3, 6])
    }

    @Test func aStatementThatStreamsGivesAllRows() async throws {
        let connection = try await Connections.shared()
        let statement = try connection.statement("SELECT i FROM generate_series(1, 20000) i")
        statement.streams = true
        var sum: Int64 = 0
        while try statement.step() {
            sum += statement.int(0)
            // Other statements may run meanwhile, at the price of memory.
            if statement.int(0) == 100 { #expect(try connection.rows("SELECT 1") == [[.int(1)]]) }
        }
        #expect(sum == 200_010_000)
        #expect(!connection.isInTransaction)
    }

    @Test func aStreamMayBeLeft() async throws {
        let connection = try await Connections.shared()
        let statement = try connection.statement("SELECT i FROM generate_series(1, 20000) i")
        statement.streams = true
        let hasRow = try statement.step()
        #expect(hasRow)
        statement.reset()
        #expect(try connection.rows("SELECT 1") == [[.int(1)]])
    }

    @Test func aStreamMayFailBehindItsFirstRows() async throws {
        let connection = try await Connections.shared()
        let statement = try connection.statement("SELECT 1 / (5000 - i) FROM generate_series(1, 9000) i")
        statement.streams = true
        var rows = 0
        let error = failure { while try statement.step() { rows += 1 } }
        #expect(error?.state == "22012")
        #expect(rows > 0)
        #expect(try connection.rows("SELECT 1") == [[.int(1)]])
    }

    @Test func afterTheLastRowItRunsAnew() async throws {
        let connection = try await Connections.shared()
        let statement = try connection.statement("SELECT $1::text")
        try statement.bind("a", at: 1)
        for _ in 0..<2 {
            let (first, second) = (try statement.step(), try statement.step())
            #expect(first)
            #expect(!second)
        }
        try statement.bind("b", at: 1)
        let hasRow = try statement.step()
        #expect(hasRow)
        #expect(statement.text(0) == "b")
    }

    @Test func rowsThatChangedAreCounted() async throws {
        let connection = try await Connections.shared()
        try connection.execute("CREATE TEMP TABLE kept(id bigint)")
        #expect(try connection.execute("INSERT INTO kept SELECT generate_series(1, 7)") == 7)
        #expect(try connection.execute("UPDATE kept SET id = id WHERE id > $1", [.int(5)]) == 2)
        #expect(try connection.execute("DELETE FROM kept WHERE id > 7") == 0)
    }

    @Test func aTableThatGotAColumnIsReadAnew() async throws {
        let connection = try await Connections.shared()
        try connection.execute(script: "CREATE TEMP TABLE kept(a bigint); INSERT INTO kept VALUES (1)")
        #expect(try connection.rows("SELECT * FROM kept") == [[.int(1)]])
        try connection.execute("ALTER TABLE kept ADD COLUMN b text DEFAULT 'x'")
        #expect(try connection.rows("SELECT * FROM kept") == [[.int(1), .text("x")]])
    }

    @Test func statementsThatTheServerForgotArePreparedAnew() async throws {
        let connection = try await Connections.shared()
        #expect(try connection.rows("SELECT 'kept'") == [[.text("kept")]])
        try connection.execute(script: "DEALLOCATE ALL")
        #expect(try connection.rows("SELECT 'kept'") == [[.text("kept")]])
    }

    @Test func aScriptIsAllOrNothing() async throws {
        let connection = try await Connections.shared()
        let error = failure {
            try connection.execute(script: "CREATE TEMP TABLE kept(a bigint); SELECT 1; SELECT wrong; SELECT 2")
        }
        #expect(error?.state == "42703")
        #expect(try connection.rows("SELECT to_regclass('kept')") == [[.null]])
        try connection.execute(script: "")
    }

    @Test func copyIsRefusedAndClosesTheConnection() async throws {
        let connection = try await Connections.shared()
        #expect(failure { try connection.execute(script: "COPY (SELECT 1) TO STDOUT") }?.isConnectionLost == true)
        #expect(connection.isBroken)
        let other = try await Connections.shared()
        #expect(failure { try other.execute("COPY (SELECT 1) TO STDOUT") } != nil)
        #expect(other.isBroken || !other.isInTransaction)
    }

    @Test func namesWithoutASchemaAreThoseOfTheTarget() async throws {
        let target = PostgreSQLTarget(
            try await PostgreSQLServer.shared.newDatabase(), schema: #"the "shop""#, applicationName: "satchel-tests",
            settings: ["statement_timeout": "12345"])
        let connection = try PostgreSQLConnection(target)
        try connection.execute(script: #"CREATE SCHEMA "the ""shop"""; CREATE TABLE kept(a bigint)"#)
        #expect(
            try connection.rows("SELECT table_schema FROM information_schema.tables WHERE table_name = 'kept'")
                == [[.text(#"the "shop""#)]])
        let settings = ["application_name", "statement_timeout", "TimeZone", "client_encoding"]
        let values = try settings.map { try connection.rows("SELECT current_setting($1)", [.text($0)]) }
        #expect(
            values == [
                [[.text("satchel-tests")]], [[.text("12345ms")]], [[.text("UTC")]], [[.text("UTF8")]],
            ])
    }
}
