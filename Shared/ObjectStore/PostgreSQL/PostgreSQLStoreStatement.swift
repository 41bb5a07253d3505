import ParseProtocol
import PostgreSQL

/// A prepared statement of the store on a PostgreSQL server.
final class PostgreSQLStoreStatement: StoreStatement {
    private let sql: String
    private unowned let connection: PostgreSQLStoreConnection
    private var statement: PostgreSQLStatement?
    /// The number of the server connection (`PostgreSQLStoreConnection.number`) that `statement` belongs to.
    private var number = -1
    /// A twin ends with its server connection.
    private let isTwin: Bool
    /// Twins without a run under way.
    private var spareTwins: [PostgreSQLStoreStatement] = []
    var uses = 0
    /// Nanoseconds waited for the server since the last `takeCost`.
    private var nanoseconds: UInt64 = 0
    private let kind: Kind

    private static let uniqueViolation = "23505"

    private enum Kind {
        case plain
        case commit, rollback
        /// It returns nothing, so it is queued and sent with the next statement.
        case quiet
    }

    init(_ sql: String, _ connection: PostgreSQLStoreConnection) {
        self.sql = sql
        self.connection = connection
        isTwin = false
        kind =
            switch sql.prefix(12).uppercased() {
            case "COMMIT": .commit
            case "ROLLBACK": .rollback
            case let start where start.hasPrefix("SAVEPOINT") || start.hasPrefix("RELEASE"): .quiet
            default: .plain
            }
    }

    private init(twin statement: PostgreSQLStatement, of original: PostgreSQLStoreStatement) {
        sql = original.sql
        connection = original.connection
        isTwin = true
        kind = original.kind
        self.statement = statement
        number = original.number
    }

    /// A statement with the same SQL, for a run that is under way beside others. `takeBack` ends its use.
    func twin() throws -> PostgreSQLStoreStatement {
        let statement = try current()
        while let twin = spareTwins.popLast() { if twin.number == number { return twin } }
        return PostgreSQLStoreStatement(twin: PostgreSQLStatement(besides: statement), of: self)
    }

    /// Drops the twin's result.
    func takeBack(_ twin: PostgreSQLStoreStatement) {
        twin.reset()
        spareTwins.append(twin)
    }

    private func current() throws -> PostgreSQLStatement {
        if let statement, number == connection.number, !connection.isBroken { return statement }
        guard !isTwin else { throw StoreError(sqlState: "08003", message: "the connection of a sent read is lost") }
        let new = try connection.serverStatement(sql)
        (statement, number) = (new, connection.number)
        return new
    }

    var columnNames: [String] { statement?.columnNames ?? [] }

    func step() throws -> Bool {
        switch kind {
        case .commit:
            try connection.commit()
            return false
        case .rollback:
            try connection.rollback()
            return false
        case .quiet:
            try connection.enqueue(sql)
            return false
        case .plain:
            let statement = try current()
            let before = connection.waited
            defer { nanoseconds &+= connection.waited &- before }
            let hasRow: Bool
            do {
                hasRow = try connection.run { () throws(PostgreSQLError) in try statement.step() }
            } catch let error as StoreError where error.sqlState == PostgreSQLStoreConnection.timedOut {
                uses = Self.slowRunPenalty
                throw error
            }
            if !hasRow { connection.note(statement) }
            return hasRow
        }
    }

    func reset() { statement?.reset() }

    /// Queues a run, which is sent with the next statement; `step` reads its result.
    func send() throws {
        let statement = try current()
        try connection.run { () throws(PostgreSQLError) in try statement.send() }
    }

    /// Queues a run whose result is not needed. Its failure is reported by the next statement that is waited for.
    func enqueue() throws {
        let statement = try current()
        try connection.run { () throws(PostgreSQLError) in try statement.enqueue() }
    }

    func insert() throws -> Int64 {
        // Only a statement with ON CONFLICT DO NOTHING returns no row.
        guard try step() else { throw StoreError(sqlState: Self.uniqueViolation, message: "the row is there already") }
        let number = int(0)
        // Steps to the end, where the changed rows are counted.
        _ = try step()
        reset()
        return number
    }

    func takeSteps() -> Int { 0 }

    /// A microsecond counts as five SQLite instructions, the cost of checking a row. The round trip is not work.
    func takeCost() -> Int {
        defer { nanoseconds = 0 }
        return Int(clamping: (nanoseconds - min(nanoseconds, connection.shortestWait)) / 1000 * 5)
    }

    // MARK: Parameters

    func bind(_ value: SQLValue, at index: Int32) throws {
        let bound: PostgreSQLValue =
            switch value {
            case .null: .null
            case .int(let value): .int(value)
            case .real(let value): .real(value)
            case .text(let value): .text(value)
            case .blob(let value): .blob(value)
            }
        try bind(bound, index)
    }

    func bind(_ text: String, at index: Int32) throws { try bind(.text(text), index) }
    func bind(utf8 bytes: [UInt8], at index: Int32) throws { try bind(.utf8(bytes), index) }
    func bind(_ value: Int64, at index: Int32) throws { try bind(.int(value), index) }

    func bind(_ regex: Regex, at index: Int32) throws {
        try bind(.text(PostgreSQLPattern(regex.pattern, options: regex.options).text), index)
    }

    private func bind(_ value: PostgreSQLValue, _ index: Int32) throws {
        let statement = try current()
        try connection.run { () throws(PostgreSQLError) in try statement.bind(value, at: index) }
    }

    // MARK: Columns

    func bytes(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
        statement?.bytes(column) ?? UnsafeBufferPointer(start: nil, count: 0)
    }

    func int(_ column: Int32) -> Int64 { statement?.int(column) ?? 0 }
    func real(_ column: Int32) -> Double { statement?.real(column) ?? 0 }

    func value(_ column: Int32) -> SQLValue {
        switch statement?.value(column) {
        case .int(let value): .int(value)
        case .real(let value): .real(value)
        case .text(let value): .text(value)
        case .blob(let value): .blob(value)
        case .null, .utf8, .bool, nil: .null
        }
    }
}

extension PostgreSQLStatement {
    /// Whether the rows of this statement count as changed.
    var changesRows: Bool {
        ["INSERT", "UPDATE", "DELETE"].contains { commandTag.hasPrefix($0) }
    }
}
