import PostgreSQL
import TestSupport
import Testing

/// Failures that callers distinguish, and data that error texts must not contain.
@Suite struct PostgreSQLErrorTests {
    @Test func aUniqueValueThatIsThereIsToldWithItsConstraintAndWithoutTheValue() async throws {
        let connection = try await Connections.shared()
        try connection.execute("CREATE TEMP TABLE kept(mail text CONSTRAINT one_mail UNIQUE)")
        try connection.execute("INSERT INTO kept VALUES ($1)", [.text("ann@example.org")])
        let error = failure { try connection.execute("INSERT INTO kept VALUES ($1)", [.text("ann@example.org")]) }
        #expect(error?.isUniqueViolation == true)
        #expect(error?.constraint == "one_mail")
        #expect(error?.description.contains("ann@") == false)
    }

    @Test(
        arguments: [
            ("SELECT $1::bigint", "22P02"), ("SELECT $1::jsonb", "22P02"), ("SELECT $1::timestamptz", "22007"),
            ("SELECT ($1 || '99999999999')::text::integer", "22P02"),
        ])
    func dataThatDoesNotFitIsNotInTheText(sql: String, state: String) async throws {
        let connection = try await Connections.shared()
        let error = failure { try connection.execute(sql, [.text("{secret\"word")]) }
        #expect(error?.state == state)
        #expect(error?.description.contains("secret") == false)
        #expect(error?.description.contains("word") == false)
    }

    @Test func transactionsThatMeetAreTold() async throws {
        let (one, other) = try await Connections.pair()
        try one.execute(script: "CREATE TABLE kept(id bigint PRIMARY KEY, n bigint); INSERT INTO kept VALUES (1, 0)")
        for connection in [one, other] {
            try connection.begin("ISOLATION LEVEL REPEATABLE READ")
            #expect(try connection.rows("SELECT n FROM kept") == [[.int(0)]])
        }
        try one.execute("UPDATE kept SET n = n + 1")
        try one.commit()
        let error = failure { try other.execute("UPDATE kept SET n = n + 1") }
        #expect(error?.state == "40001")
        #expect(error?.isUniqueViolation == false)
        try other.rollback()
        #expect(try other.execute("UPDATE kept SET n = n + 1") == 1)
    }

    @Test func aReadOnlyServerIsReported() async throws {
        let connection = try await Connections.shared(["default_transaction_read_only": "on"])
        let error = failure { try connection.execute("CREATE TABLE kept(a bigint)") }
        #expect(error?.isReadOnly == true)
        #expect(error?.isConnectionLost == false)
    }

    @Test func aWrongPasswordIsNotInTheText() async throws {
        let server = try await PostgreSQLServer.shared
        let right = server.connection(
            to: "postgres", as: PostgreSQLServer.guarded, password: PostgreSQLServer.guardedPassword)
        let wrong = server.connection(to: "postgres", as: PostgreSQLServer.guarded, password: "wrong-77af31")
        #expect(failure { try PostgreSQLConnection(PostgreSQLTarget(right)).close() } == nil)
        let error = failure { _ = try PostgreSQLConnection(PostgreSQLTarget(wrong)) }
        #expect(error?.message.contains("password authentication failed") == true)
        #expect(error?.description.contains("77af31") == false)
    }

    /// libpq's own messages for the last four would contain the misplaced password.
    @Test(
        arguments: [
            "host=/nowhere password=77af31", "postgresql://ann:77af31@/x?host=/nowhere",
            "postgresql://ann:77af31@%zz/x", "postgresql://ann:a@77af31@host/x", "postgresql://ann:77af31/b@host/x",
            "postgresql://ann:12/77af31@host/x", "postgresql://ann:x@host/x?77af31=y", "password = 'a\\'77af31",
            "77af31", "postgresql://ann:x y77af31@host",
        ])
    func aConnectionStringThatDoesNotWorkIsNotInTheText(string: String) async throws {
        let target = PostgreSQLTarget(string, connectSeconds: 2)
        let error = failure { _ = try PostgreSQLConnection(target) }
        #expect(error?.isConnectionLost == true)
        #expect(error.map { "\($0)" }?.contains("77af31") == false)
        #expect(!"\(target)".contains("77af31"))
        #expect(!String(reflecting: target).contains("77af31"))
        var dumped = ""
        dump(target, to: &dumped)
        #expect(!dumped.contains("77af31"))
    }

    @Test func whatIsClosedThrowsAndTrapsNowhere() async throws {
        let connection = try await Connections.shared()
        let statement = try connection.statement("SELECT 1")
        let hasRow = try statement.step()
        #expect(hasRow)
        connection.close()
        #expect(connection.isBroken)
        #expect(!connection.isInTransaction)
        // Values already read remain available.
        #expect(statement.int(0) == 1)
        statement.reset()
        #expect(failure { _ = try statement.step() }?.isConnectionLost == true)
        #expect(failure { try connection.execute("SELECT 1") }?.isConnectionLost == true)
        #expect(failure { try connection.execute(script: "SELECT 1") }?.isConnectionLost == true)
        #expect(failure { try connection.enqueue("SELECT 1") }?.isConnectionLost == true)
        #expect(failure { _ = try connection.notifications() }?.isConnectionLost == true)
        #expect(failure { try connection.rollback() } == nil)
        #expect(connection.descriptor == -1)
        connection.canceller.cancel()
        connection.close()
    }
}
