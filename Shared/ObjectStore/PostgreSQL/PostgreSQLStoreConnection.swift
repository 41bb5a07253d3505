import ParseProtocol
import PostgreSQL

/// A connection to a PostgreSQL server, as the store needs it. A reader's that was lost is made anew at the next
/// statement that stands in no transaction.
final class PostgreSQLStoreConnection: StoreConnection {
    let dialect: Dialect
    let timeLimit = TimeLimit()
    var takesOnlyProven = false
    /// Patterns, words and places are the server's own work.
    let functionCalls = 0
    private(set) var changes = 0
    private(set) var totalChanges: Int64 = 0

    let target: PostgreSQLTarget
    /// Nanoseconds that its server was waited for.
    private(set) var waited: UInt64 = 0
    /// The shortest wait for an answer, which is about the way there and back.
    private(set) var shortestWait: UInt64 = .max
    private let isWriting: Bool
    private(set) var server: PostgreSQLConnection
    /// Grows with each new connection, on which statements are other ones.
    private(set) var number = 0
    private var statements: [String: PostgreSQLStoreStatement] = [:]
    private var isClosed = false
    /// Whether other processes write too.
    let isShared: Bool
    private var failure: StoreError?
    var overtaken: StoreError? { definitions.isWanting ? .definitionsWanted : failure }
    private(set) var refusals = 0
    private var isEnding = false
    /// Where tables and indexes are no part of transactions.
    var definitions = Definitions()
    /// Triggers that are made later, when rows were added that they would count.
    var heldTriggers: [String]?
    /// Of the migration under way, where a start may be interrupted in it.
    var progress: DefinitionProgress?
    /// Ends what the process itself does to indexes beside its writes.
    let interruptBuilder: () -> Void
    /// Looked at by each transaction of a group, where a lease and no lock says who writes.
    var fence: StoreFence?

    /// - Parameters:
    ///   - isWriting: makes this the writing connection, which is never made anew: the lock without which nobody writes
    ///     went with it.
    ///   - isShared: other processes write too.
    ///   - interruptBuilder: ends what this process does to indexes beside its writes.
    /// - Throws: `StoreError` when no server answers.
    init(
        _ database: PostgreSQLDatabase, isWriting: Bool = false, isShared: Bool = false,
        interruptBuilder: @escaping () -> Void = {}
    ) throws {
        target = database.target
        dialect = database.dialect
        self.isWriting = isWriting
        self.isShared = isShared
        self.interruptBuilder = interruptBuilder
        server = try Self.translated { () throws(PostgreSQLError) in try PostgreSQLConnection(database.target) }
    }

    /// Whether nothing can be done on it any more.
    var isBroken: Bool { isClosed || server.isBroken }

    /// Also one in which a statement failed: a savepoint takes it back.
    var isInTransaction: Bool { server.isInTransaction && !server.isBroken }

    func close() {
        isClosed = true
        statements = [:]
        server.close()
    }

    /// Replaces a reader's connection that was lost.
    /// - Throws: `StoreError` for a writer's, and when no server answers.
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
        if statements.count >= PostgreSQLConnection.statementsMax { statements = [:] }
        statements[sql] = statement
        return statement
    }

    func query(_ sql: String) throws -> any StoreStatement {
        let statement = prepared(sql)
        if takesOnlyProven, !statement.isProven {
            timeLimit.decline()
            throw ReadOverrun()
        }
        statement.uses += 1
        return statement
    }

    /// Tables and indexes of the store and the services are written as SQLite takes them (`PostgreSQLText`).
    func executeOnce(_ sql: String) throws {
        try revive()
        let statements = PostgreSQLText.definitions(sql)
        if heldTriggers != nil, statements.count > 1 {
            heldTriggers?.append(sql)
            return
        }
        for statement in statements {
            if dialect == .plain, progress != nil || Definitions.isOne(statement) {
                try define(statement)
            } else {
                try run { () throws(PostgreSQLError) in try server.execute(script: statement) }
            }
        }
    }

    /// Nobody else writes (`PostgreSQLWriter`), so that each statement sees what the one before it left. Where every
    /// process writes it is for what nobody else does at the same time.
    func beginWriting() throws {
        try begin("ISOLATION LEVEL READ COMMITTED")
        try fence?.check()
    }

    func beginReading() throws { try begin("ISOLATION LEVEL REPEATABLE READ READ ONLY") }

    /// - Parameter mode: what stands behind BEGIN.
    func begin(_ mode: String) throws {
        try revive()
        (failure, refusals) = (nil, 0)
        definitions.begin()
        try run { () throws(PostgreSQLError) in try server.begin(mode) }
    }

    /// Commits, with all that is queued.
    func commit() throws {
        try run { () throws(PostgreSQLError) in try server.commit() }
        definitions.committed()
    }

    func rollback() throws {
        isEnding = true
        defer { isEnding = false }
        try run { () throws(PostgreSQLError) in try server.rollback() }
    }

    /// Queues a statement whose result nobody needs.
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

    /// What is removed stays in the server's files until it tidies up.
    func usedBytes() throws -> Int64? { nil }

    // MARK: The schema's number

    /// Runs a read outside of transactions, once more when the connection was lost under it.
    /// - Returns: what it gave or threw, of which another schema may be the reason.
    /// - Throws: its failure, when it is the server's or one of time.
    func attempted<T>(_ body: () throws -> T) throws -> Result<T, any Error> {
        try revive()
        do {
            return .success(try body())
        } catch  where isRevivable && !Self.isOver(error) {
            try revive()
        } catch {
            return .failure(try blamed(error))
        }
        do {
            return .success(try body())
        } catch {
            return .failure(try blamed(error))
        }
    }

    /// The failure that another schema may be the reason of.
    private func blamed(_ error: any Error) throws -> any Error {
        guard StorageTrouble(error) == nil, !Self.isOver(error) else { throw error }
        return error
    }

    private static func isOver(_ error: any Error) -> Bool {
        error is ReadOverrun || (error as? ParseError)?.code == .timeout
    }

    /// Whether its end is no end of anything: the next statement goes by another one.
    var isRevivable: Bool { !isClosed && !isWriting && server.isBroken }

    // MARK: Where every process writes

    /// Not used by anything else, so that the answer stays until it is taken.
    private lazy var beginStatement = PostgreSQLStoreStatement(
        "SELECT generation FROM storeState WHERE id = 1", self)

    /// The schema's number is asked for on the way. Nobody prepares tables meanwhile: the lock is there before the
    /// transaction looks at anything.
    func beginGroup(waitsLong: Bool) throws {
        try prepareGroup()
        guard isShared else {
            try begin("ISOLATION LEVEL READ COMMITTED")
            try fence?.send()
            return
        }
        try begin("ISOLATION LEVEL SERIALIZABLE")
        if waitsLong { try enqueue("SET LOCAL lock_timeout = \(Self.longWait)") }
        try enqueue("LOCK TABLE storeState IN ROW SHARE MODE")
        try beginStatement.send()
    }

    func generationAtBegin() throws -> Int64? {
        guard isShared else {
            try fence?.require()
            return nil
        }
        defer { beginStatement.reset() }
        return try beginStatement.step() ? beginStatement.int(0) : nil
    }

    /// Readers are let through.
    func beginPreparing() throws {
        try beginWriting()
        if isShared { try executeOnce("LOCK TABLE storeState IN EXCLUSIVE MODE") }
    }

    /// Milliseconds that a transaction waits for a row that another one is changing. The server finds a deadlock after
    /// a second, for which the jobs of a group do not wait.
    private static let (shortWait, longWait) = (200, 2500)

    /// Begins to write together with others. Transactions that are serializable remember what they read; of a table
    /// that is read from one end to the other that is all of it, which every change of others overtakes.
    func share() throws {
        for setting in ["lock_timeout = \(Self.shortWait)", "enable_seqscan = off"] {
            try executeOnce("SET \(setting)")
        }
    }

    /// - Throws: `StoreError` when the connection is gone, as far as this end knows.
    func requireConnected() throws {
        _ = try run { () throws(PostgreSQLError) in try server.notifications() }
    }

    // MARK: Running

    static let timedOut = "57014"

    /// Runs something on the server, whose failures are the store's. In a transaction that was overtaken nothing more
    /// is done, also behind a savepoint from before.
    func run<T>(_ body: () throws(PostgreSQLError) -> T) throws -> T {
        let before = server.nanosecondsWaited
        // The server's work is on the account of the request that caused it.
        defer { note(waited: server.nanosecondsWaited &- before) }
        guard isWriting else { return try Self.translated(body) }
        if let failure, !isEnding, isInTransaction { throw failure }
        do {
            return try Self.translated(body)
        } catch let error as StoreError {
            guard isInTransaction else { throw error }
            if error.isOvertaken { failure = failure ?? error }
            if isShared, error.mayBeOfUnseen { refusals += 1 }
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
            // The failures that a client's own words make: a pattern that is beyond the server, a zero in a text.
            if error.state == "2201B" { throw PostgreSQLPattern.impossible("What is written") }
            if error.state == "22021" {
                throw ParseError(.incorrectType, "A text has a character that cannot be stored, U+0000.")
            }
            throw StoreError(sqlState: error.state, message: error.message)
        }
    }

    /// The statement on the server that there is now.
    func serverStatement(_ sql: String) throws -> PostgreSQLStatement {
        try revive()
        return try run { () throws(PostgreSQLError) in try server.statement(sql) }
    }

    /// Counts what a statement changed.
    func note(_ statement: PostgreSQLStatement) {
        changes = statement.affectedRows
        guard statement.changesRows else { return }
        totalChanges += Int64(changes)
    }
}
