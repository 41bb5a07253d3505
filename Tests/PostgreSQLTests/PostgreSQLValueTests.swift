import PostgreSQL
import Testing

/// Values sent to the server and back.
@Suite struct PostgreSQLValueTests {
    /// The value of a column of that type for a value that was bound to `$1`.
    private func returned(_ value: PostgreSQLValue, _ type: String) async throws -> PostgreSQLValue? {
        let connection = try await Connections.shared()
        try connection.execute("CREATE TEMP TABLE kept(value \(type))")
        try connection.execute("INSERT INTO kept VALUES ($1)", [value])
        return try connection.rows("SELECT value FROM kept").first?.first
    }

    @Test(arguments: [Int64.min, -1, 0, 1, .max])
    func integersAreTheSame(value: Int64) async throws {
        #expect(try await returned(.int(value), "bigint") == .int(value))
        #expect(try await returned(.int(value), "numeric") == .int(value))
    }

    @Test(
        arguments: [
            0, -0.0, 0.1, 1.0 / 3, 1e308, -.greatestFiniteMagnitude, .leastNonzeroMagnitude, .infinity, -.infinity,
        ])
    func realsAreTheSameToTheLastBit(value: Double) async throws {
        let returned = try await returned(.real(value), "double precision")
        #expect(returned?.realValue?.bitPattern == value.bitPattern)
    }

    @Test func whatIsNoNumberStaysSo() async throws {
        #expect(try await returned(.real(.nan), "double precision")?.realValue?.isNaN == true)
    }

    @Test(
        arguments: [
            "", " ", "it's \\ and \"quoted\"", "$1", "ä€😀 e\u{301}", "\u{1}\u{7f}\n\r\t", "NULL",
        ])
    func textsAreTheSame(text: String) async throws {
        #expect(try await returned(.text(text), "text") == .text(text))
        #expect(try await returned(.utf8(Array(text.utf8)), "text") == .text(text))
    }

    @Test(arguments: [[], [0], [0, 255, 0], Array("\\x00".utf8)])
    func blobsAreTheSame(bytes: [UInt8]) async throws {
        #expect(try await returned(.blob(bytes), "bytea") == .blob(bytes))
    }

    @Test func aMegabyteIsTheSame() async throws {
        let text = String(repeating: "0123456789abcdeä", count: 65_536)
        let bytes = (0..<1_048_576).map { UInt8($0 & 255) }
        // Compared outside of the expectations, which would print the values.
        let isSameText = try await returned(.text(text), "text") == .text(text)
        let areSameBytes = try await returned(.blob(bytes), "bytea") == .blob(bytes)
        #expect(isSameText)
        #expect(areSameBytes)
    }

    @Test func nothingIsNotAnEmptyText() async throws {
        #expect(try await returned(.null, "text") == .null)
        #expect(try await returned(.text(""), "text") == .text(""))
        #expect(try await returned(.null, "bytea") == .null)
    }

    @Test func booleansAreOneAndZero() async throws {
        #expect(try await returned(.bool(true), "boolean") == .int(1))
        #expect(try await returned(.bool(false), "boolean") == .int(0))
        #expect(try await returned(.bool(true), "bigint") == .int(1))
    }

    @Test func columnsAreReadByTheirTypes() async throws {
        let connection = try await Connections.shared()
        let row = try connection.rows(
            """
            SELECT 7::smallint, 7::integer, 1.5::real, 12.00::numeric, 12.50::numeric, 99999999999999999999::numeric,
                '{"a": 1}'::jsonb, 'x'::varchar, 'name'::name, '00000000-0000-0000-0000-000000000001'::uuid
            """
        ).first
        #expect(
            row == [
                .int(7), .int(7), .real(1.5), .int(12), .real(12.5), .real(1e20), .text(#"{"a": 1}"#), .text("x"),
                .text("name"), .text("00000000-0000-0000-0000-000000000001"),
            ])
    }

    @Test func columnsAreReadInOtherTypes() async throws {
        let connection = try await Connections.shared()
        let statement = try connection.statement(
            "SELECT true AS t, -3.9::float8 AS r, 'x' AS x, NULL AS n, 1e300::float8 AS b, 12 AS i, 'NaN'::float8 AS m")
        let hasRow = try statement.step()
        #expect(hasRow)
        #expect(statement.columnNames == ["t", "r", "x", "n", "b", "i", "m"])
        #expect((0..<7).map { statement.int($0) } == [1, -3, 0, 0, .max, 12, 0])
        #expect((0..<6).map { statement.real($0) } == [1, -3.9, 0, 0, 1e300, 12])
        #expect(statement.isNull(3))
        #expect(statement.bytes(3).isEmpty)
        #expect(Array(statement.bytes(2)) == Array("x".utf8))
        // A missing column gives NULL and causes no crash.
        #expect(statement.value(7) == .null)
        #expect(statement.value(-1) == .null)
        #expect(statement.blob(2) == [])
    }

    @Test func aTextWithAZeroByteIsRefused() async throws {
        let connection = try await Connections.shared()
        let error = failure { try connection.execute("SELECT $1::text", [.text("a\0secret")]) }
        #expect(error?.state == "22021")
        #expect(error?.message.contains("secret") == false)
        #expect(try connection.rows("SELECT $1::text", [.text("b")]) == [[.text("b")]])
    }

    @Test func bytesThatAreNoTextAreRefused() async throws {
        let connection = try await Connections.shared()
        #expect(failure { try connection.execute("SELECT $1::text", [.utf8([0xC3, 0x28])]) }?.state == "22021")
        #expect(!connection.isBroken)
    }

    @Test func numbersThatTheSQLDoesNotUseAreIgnored() async throws {
        let connection = try await Connections.shared()
        let values: [PostgreSQLValue] = [.text("one"), .int(2), .blob([3]), .text("four"), .text("five")]
        #expect(try connection.rows("SELECT $2::bigint, $4::text", values) == [[.int(2), .text("four")]])
        #expect(try connection.rows("SELECT 1", values) == [[.int(1)]])
    }

    @Test func whatIsNotBoundIsNull() async throws {
        let connection = try await Connections.shared()
        #expect(try connection.rows("SELECT $1::text, $2::bytea") == [[.null, .null]])
    }
}
