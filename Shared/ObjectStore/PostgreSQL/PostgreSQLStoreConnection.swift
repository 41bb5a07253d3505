import ParseProtocol
import PostgreSQL

/// The store's connection to a PostgreSQL server. A reader's connection that was lost is re-established at the next
/// statement outside of a transaction.
final class PostgreSQLStoreConnection: StoreConnection {
    let dialect = Dialect.postgresql
    let timeLimit = TimeLimit()
    var acceptsOnlyQuick = false
    var quickQueries: QuickQueries?
    var queried: [String]?
    /// Patterns, words and points are evaluated by the server.
    let functionCalls = 0
    private(set) var changes = 0
    private(set) var totalChanges: Int64 = 0

    let target: PostgreSQLTarget
    /// Nanoseconds spent waiting for the server.
    private(set) var waited: UInt64 = 0
    /// The shortest wait for a response, about one round trip.
    private(set) var shortestWait: UInt64 = .max
    private let isWriting: Bool
    private(set) var server: PostgreSQLConnection
    /// Incremented with each new server connection, which has no prepared statements.
    private(set) var number = 0
    private var statements: [String: PostgreSQLStoreStatement] = [:]
    private var isClosed = false
    /// Whether other processes also write.
    let isShared: Bool
    private(set) var overtaken: StoreError?
    /// Whether no other process writes during the current transaction.
    private var isExclusive = false
    private(set) var refusals = 0
    private var isEnding = false
    /// Definitions of triggers that are created later, because they would count the rows added before; nil to create
    /// triggers at once.
    var heldTriggers: [String]?

    /// - Parameters:
    ///   - isWriting: makes this the writing connection. It is never re-established, because the writer's lock is lost
    ///     with it.
    ///   - isShared: other processes also write.
    /// - Throws: `StoreError` when no server responds.
    init(_ database: PostgreSQLDatabase, isWriting: Bool = false, isShared: Bool = false) throws {
        target = database.target
        self.isWriting = isWriting
        self.isShared = isShared
        server = try Self.translated { () throws(PostgreSQLError) in try PostgreSQLConnection(database.target) }
    }

    /// Whether the connection is closed or lost.
    var isBroken: Bool { isClosed || server.isBroken }

    /// True even if a statement failed: a savepoint can roll back to the state before it.
    var isInTransaction: Bool { server.isInTransaction && !server.isBroken }

    func close() {
        isClosed = true
        statements = [:]
        server.close()
    }

    /// Re-establishes a reader's lost connection.
    /// - Throws: `StoreError` for the writing connection, and when no server responds.
    func revive() throws {
        guard !isClosed, server.isBroken else { return }
        guard !isWriting else { throw StoreError(sqlState: "08003", message: "the writing connection is lost") }
        server = try Self.translated { () throws(PostgreSQLError) in try PostgreSQLConnection(target) }
        number += 1
    }

    // MARK: Statements

    func statement(_ sql: String) throws -> any StoreStatement { prepared(sql) }

    private func prepared(_ sql: String) -> PostgreSQLStoreStatement {
        if let statement = statements[sql] { return statement }
        let definitions = PostgreSQLText.definitions(sql)
        let text = definitions.count == 1 ? definitions[0] : sql
        let statement = PostgreSQLStoreStatement(PostgreSQLText.numbered(text), self)
        if sql.utf8.count > PostgreSQLConnection.cachedBytesMax { return statement }
        statements.makeRoom(limit: PostgreSQLConnection.statementsMax)
        statements[sql] = statement
        return statement
    }

    func query(_ sql: String) throws -> any StoreStatement {
        let statement = prepared(sql)
        if acceptsOnlyQuick, !statement.isKnownQuick, statement.wasSlow || quickQueries?.knows(sql) != true {
            timeLimit.decline()
            throw ReadOverrun()
        }
        queried?.append(sql)
        statement.uses += 1
        return statement
    }

    /// Definitions of tables and indexes are written in SQLite's form and translated (`PostgreSQLText`).
    func executeOnce(_ sql: String) throws {
        try revive()
        let statements = PostgreSQLText.definitions(sql)
        if heldTriggers != nil, statements.count > 1 {
            heldTriggers?.append(sql)
            return
        }
        for statement in statements {
            try run { () throws(PostgreSQLError) in try server.execute(script: statement) }
        }
    }

    /// With a single writer (`PostgreSQLWriter`), each statement sees the effects of the one before it. Where every
    /// process writes, this is only used for work that no other process does at the same time.
    func beginWriting() throws { try begin("ISOLATION LEVEL READ COMMITTED") }

    func beginReading() throws { try begin("ISOLATION LEVEL REPEATABLE READ READ ONLY") }

    /// - Parameter mode: the text after BEGIN.
    func begin(_ mode: String) throws {
        try revive()
        (overtaken, refusals, isExclusive) = (nil, 0, false)
        try run { () throws(PostgreSQLError) in try server.begin(mode) }
    }

    /// Commits, including all queued statements.
    func commit() throws { try run { () throws(PostgreSQLError) in try server.commit() } }

    func rollback() throws {
        isEnding = true
        defer { isEnding = false }
        try run { () throws(PostgreSQLError) in try server.rollback() }
    }

    /// Queues a statement whose result is not needed.
    func enqueue(_ sql: String) throws { try run { () throws(PostgreSQLError) in try server.enqueue(sql) } }

    func limited<T>(to limit: Duration, _ body: () throws -> T) throws -> T {
        let isOuter = timeLimit.start(limit)
        defer { if isOuter { timeLimit.stop() } }
        let left = timeLimit.left ?? limit
        do {
            return try server.limited(to: min(limit, left), body)
        } catch let error as StoreError where error.sqlState == Self.timedOut {
            if left < limit { timeLimit.decline() }
            throw timeLimit.error
        }
    }

    /// Nil: removed rows occupy the server's files until VACUUM.
    func usedBytes() throws -> Int64? { nil }

    // MARK: The schema's number

    /// Runs a read outside of transactions, and again if the connection was lost during it or a prepared statement is
    /// outdated, which the server prepares anew in the second run.
    /// - Returns: its result, or an error that a changed schema may have caused.
    /// - Throws: errors of the server and timeouts.
    func attempted<T>(_ body: () throws -> T) throws -> Result<T, any Error> {
        try revive()
        do {
            return .success(try body())
        } catch  where isRevivable && !Self.isOver(error) {
            try revive()
        } catch let error as StoreError where ["0A000", "26000"].contains(error.sqlState) {
            // Runs again below.
        } catch {
            return .failure(try blamed(error))
        }
        do {
            return .success(try body())
        } catch {
            return .failure(try blamed(error))
        }
    }

    /// Returns an error that a changed schema may have caused, and throws all others.
    private func blamed(_ error: any Error) throws -> any Error {
        guard StorageTrouble(error) == nil, !Self.isOver(error) else { throw error }
        return error
    }

    /// Whether the time of a read is over.
    static func isOver(_ error: any Error) -> Bool {
        error is ReadOverrun || (error as? ParseError)?.code == .timeout
    }

    /// Whether the lost connection may be replaced: it is a reader's, so nothing is lost with it.
    var isRevivable: Bool { !isClosed && !isWriting && server.isBroken }

    /// Used only here, so that its result remains available until it is read.
    private lazy var generationStatement = PostgreSQLStoreStatement(
        "SELECT generation FROM storeState WHERE id = 1", self)

    /// Requests the schema's number in the round trip of the next statement that is waited for.
    func sendGeneration() throws { try generationStatement.send() }

    /// The number that was requested.
    func sentGeneration() throws -> Int64? {
        defer { generationStatement.reset() }
        return try generationStatement.step() ? generationStatement.int(0) : nil
    }

    // MARK: Where every process writes

    /// Also requests the schema's number in the same round trip. The transaction gets its lock before its snapshot.
    /// Transactions that change classes, or prepare tables at a start, lock exclusively, so that none of them overlaps
    /// with another writing transaction.
    ///
    /// The serializable level alone does not separate a change of a class from a write. PostgreSQL (including 15.18)
    /// misses a row that another transaction inserts into an empty table while this one reads the table's empty index
    /// without a condition: nothing protects the time between the look at the index and its predicate lock (`_bt_first`
    /// for a scan without keys). Without the lock, a class could be dropped together with an object whose creation was
    /// just acknowledged.
    func beginGroup(waitsLong: Bool, isExclusive: Bool) throws {
        guard isShared else { return try beginWriting() }
        try begin("ISOLATION LEVEL SERIALIZABLE")
        try enqueue("LOCK TABLE storeState IN \(isExclusive ? "EXCLUSIVE" : "ROW SHARE") MODE")
        if !waitsLong { try enqueue("SET LOCAL lock_timeout = \(Self.shortWait)") }
        self.isExclusive = isExclusive
        try sendGeneration()
    }

    func requireExclusive() throws {
        guard isShared, !isExclusive else { return }
        overtaken = overtaken ?? .exclusiveWanted
        throw StoreError.exclusiveWanted
    }

    func generationAtBegin() throws -> Int64? {
        guard isShared else { return nil }
        return try sentGeneration()
    }

    /// Does not block readers.
    func beginPreparing() throws {
        try beginWriting()
        if isShared { try executeOnce("LOCK TABLE storeState IN EXCLUSIVE MODE") }
    }

    /// Milliseconds that a transaction waits for a row that another one is changing. The server detects a deadlock only
    /// after a second, which is too long for the jobs of a group. For the lock at its start each transaction waits
    /// long, because it holds nothing by then, and a class may be changing.
    private static let (shortWait, longWait) = (200, 2500)

    /// Configures the connection to write next to other processes. Serializable transactions track what they read. A
    /// sequential scan counts as a read of the whole table, which conflicts with every change; the planner therefore
    /// avoids it.
    func share() throws {
        for setting in ["lock_timeout = \(Self.longWait)", "enable_seqscan = off"] {
            try executeOnce("SET \(setting)")
        }
    }

    /// - Throws: `StoreError` when this end knows that the connection is lost.
    func requireConnected() throws {
        _ = try run { () throws(PostgreSQLError) in try server.notifications() }
    }

    // MARK: Running

    static let timedOut = "57014"

    /// Runs something on the server and translates its errors. After a conflict the transaction runs nothing more, even
    /// after a return to an earlier savepoint.
    func run<T>(_ body: () throws(PostgreSQLError) -> T) throws -> T {
        let before = server.nanosecondsWaited
        // The server's time is charged to the request that caused it.
        defer { note(waited: server.nanosecondsWaited &- before) }
        guard isWriting else { return try Self.translated(body) }
        if let overtaken, !isEnding, isInTransaction { throw overtaken }
        do {
            return try Self.translated(body)
        } catch let error as StoreError {
            guard isInTransaction else { throw error }
            if error.isOvertaken { overtaken = overtaken ?? error }
            if isShared, error.mayBeFromInvisible { refusals += 1 }
            throw error
        }
    }

    private func note(waited nanoseconds: UInt64) {
        guard nanoseconds > 0 else { return }
        timeLimit.add(waited: nanoseconds)
        waited &+= nanoseconds
        shortestWait = min(shortestWait, nanoseconds)
    }

    private static func translated<T>(_ body: () throws(PostgreSQLError) -> T) throws -> T {
        do {
            return try body()
        } catch {
            // Errors caused by a client's values: a pattern that the server does not support, and U+0000 in a text.
            if error.state == "2201B" { throw PostgreSQLPattern.impossible("What is written") }
            if error.state == "22021" {
                throw ParseError(.incorrectType, "A text has a character that cannot be stored, U+0000.")
            }
            throw StoreError(sqlState: error.state, message: error.message)
        }
    }

    /// The prepared statement on the current server connection.
    func serverStatement(_ sql: String) throws -> PostgreSQLStatement {
        try revive()
        return try run { () throws(PostgreSQLError) in try server.statement(sql) }
    }

    /// Counts the rows that a statement changed.
    func note(_ statement: PostgreSQLStatement) {
        changes = statement.affectedRows
        guard statement.changesRows else { return }
        totalChanges += Int64(changes)
    }
}
