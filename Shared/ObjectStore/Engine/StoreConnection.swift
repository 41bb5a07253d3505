import ParseProtocol

/// One connection to an engine with its prepared statements: the interface that the store needs of SQLite or
/// PostgreSQL. Used by one thread at a time.
///
/// Statement parameters are written `?` or `?1`, `?2` … for both engines. `Dialect` contains the other differences in
/// SQL.
protocol StoreConnection: AnyObject {
    var dialect: Dialect { get }
    /// Interrupts statements that run for too long.
    var timeLimit: TimeLimit { get }
    /// Whether `query` refuses queries that were not quick before. The lane sets it while slow queries of other clients
    /// wait.
    var acceptsOnlyQuick: Bool { get set }
    /// The queries that were quick on other connections; nil where the store shares no such knowledge.
    var quickQueries: QuickQueries? { get set }
    /// The client queries since it was set to an empty list; nil to keep none.
    var queried: [String]? { get set }
    /// Calls of Satchel's own functions since the connection was opened; 0 where the engine uses built-in ones.
    var functionCalls: Int { get }
    /// Rows changed by the last statement.
    var changes: Int { get }
    /// Rows changed since the connection was opened.
    var totalChanges: Int64 { get }
    /// False when the engine itself aborted the transaction, so that no statement can run in it.
    var isInTransaction: Bool { get }

    /// Releases every statement and closes the connection, which is unusable afterwards.
    func close()
    /// The prepared statement for this SQL, ready to be bound.
    func statement(_ sql: String) throws -> any StoreStatement
    /// The prepared statement of a client's query.
    /// - Throws: `ReadOverrun` for a query that was not quick before, while `acceptsOnlyQuick` is set.
    func query(_ sql: String) throws -> any StoreStatement
    /// Runs statements one after the other without caching them.
    func executeOnce(_ sql: String) throws
    /// Begins a write transaction of the single writer.
    func beginWriting() throws
    /// Begins a transaction in which all reads see the same commits.
    func beginReading() throws
    /// Runs reads and interrupts them after `limit`.
    /// - Throws: `.timeout` (124) when the time is over.
    func limited<T>(to limit: Duration, _ body: () throws -> T) throws -> T

    // MARK: Where every process writes

    /// Whether other processes also write while this connection does.
    var isShared: Bool { get }
    /// The transaction's first conflict with another transaction. The transaction can only be rolled back, even if a
    /// job handled the failure.
    var overtaken: StoreError? { get }
    /// Failures in the transaction that rows or tables invisible to it may have caused: a row that violates a unique
    /// index, a table that another process changed.
    var refusals: Int { get }
    /// Begins the transaction of a group of jobs.
    /// - Parameters:
    ///   - waitsLong: wait long for rows that other transactions have locked; else such a row soon counts as a
    ///     conflict.
    ///   - isExclusive: no other process writes from the transaction's first read of the data to its end.
    func beginGroup(waitsLong: Bool, isExclusive: Bool) throws
    /// Called before a class changes.
    /// - Throws: `StoreError.exclusiveWanted` where other processes may write during this transaction. The caller then
    ///   rolls it back and retries it as an exclusive one.
    func requireExclusive() throws
    /// The schema's number as the transaction sees it; nil where no other process changes it.
    func generationAtBegin() throws -> Int64?
    /// Begins a transaction during which no other process writes.
    func beginPreparing() throws

    /// The size in bytes of the pages in use; nil while the engine has no current figure.
    func usedBytes() throws -> Int64?

    // MARK: The schema

    /// The number that every transaction that changes a class increments.
    func generation() throws -> Int64
    func setGeneration(_ generation: Int64) throws
    func hasTable(_ name: String) throws -> Bool
    /// The columns of the indexes on class tables, by table.
    func indexColumns() throws -> [String: [[String]]]
    /// The names of a table's indexes that `createIndex` created.
    func indexNames(of table: String) throws -> [String]
    /// Creates an index.
    /// - Throws: `StoreError` with `isUniqueViolation` when stored rows are not unique.
    func createIndex(_ name: String, on table: String, columns: [SortedColumn], isUnique: Bool) throws
    /// Drops an index if it exists.
    func dropIndex(_ name: String) throws
    /// Interrupts index builds that run concurrently with writes: the build and this transaction would wait for each
    /// other. Called before a table or index of a class is changed.
    func interruptIndexBuilds() throws
    /// Called when a table is dropped.
    func forgetIndexes(of table: String) throws
    /// Creates the tables `o<id>` of a class's objects and `p<id>` of their ACLs. The document is the complete wire
    /// object; the columns repeat the values that queries filter by.
    func createClassTables(_ id: Int64) throws
}

extension StoreConnection {
    var isShared: Bool { false }
    var overtaken: StoreError? { nil }
    var refusals: Int { 0 }
    func beginGroup(waitsLong _: Bool, isExclusive _: Bool) throws { try beginWriting() }
    func requireExclusive() throws {}
    func generationAtBegin() throws -> Int64? { nil }
    func beginPreparing() throws { try beginWriting() }
    func interruptIndexBuilds() throws {}

    func execute(_ sql: String, _ arguments: [SQLValue] = []) throws {
        let statement = try statement(sql)
        try statement.bind(arguments)
        while try statement.step() {}
        statement.reset()
    }

    /// - Parameter bound: called before the statement runs.
    func rows(
        _ sql: String, _ arguments: [SQLValue] = [], bound: (any StoreStatement) throws -> Void = { _ in }
    ) throws -> [SQLRow] {
        let statement = try statement(sql)
        defer { statement.reset() }
        try statement.bind(arguments)
        try bound(statement)
        var rows: [SQLRow] = []
        var names: [String] = []
        while try statement.step() {
            if rows.isEmpty { names = statement.columnNames }
            rows.append(SQLRow(names: names, values: names.indices.map { statement.value(Int32($0)) }))
        }
        return rows
    }

    /// Runs an INSERT of one row into a table with a number `id`.
    /// - Returns: the row's number.
    func insert(_ sql: String, _ arguments: [SQLValue]) throws -> Int64 {
        let statement = try statement(sql + dialect.returningId)
        try statement.bind(arguments)
        return try statement.insert()
    }
}

/// A column of an index, or an expression in its place.
struct SortedColumn {
    let column: String
    var isDescending = false
}

/// A prepared statement. It belongs to one connection and is used by one thread at a time.
protocol StoreStatement: AnyObject {
    /// The number of queries that used it; begins at `slowRunPenalty` after a slow run.
    var uses: Int { get set }
    var columnNames: [String] { get }

    /// Steps to the next row.
    /// - Returns: false when there is none.
    func step() throws -> Bool
    /// Resets the statement, so that it can be bound and run again.
    func reset()
    /// Runs an INSERT of one row, made with `Dialect.returningId`.
    /// - Returns: the row's number.
    func insert() throws -> Int64
    /// The engine's own measure of the work since the last call; 0 where it has none.
    func takeSteps() -> Int
    /// The cost since the last call, in SQLite instructions: SQLite's count, or for PostgreSQL the server's time
    /// converted to such instructions.
    func takeCost() -> Int

    /// Binds the parameter with this number (from 1); a number that the statement does not use is ignored.
    func bind(_ value: SQLValue, at index: Int32) throws
    func bind(_ text: String, at index: Int32) throws
    /// Binds UTF-8 bytes as text.
    func bind(utf8 bytes: [UInt8], at index: Int32) throws
    func bind(_ value: Int64, at index: Int32) throws
    func bind(_ regex: Regex, at index: Int32) throws
    /// Binds the value in a column of another statement's current row; both belong to the same connection.
    func bind(column: Int32, of source: any StoreStatement, at index: Int32) throws

    /// The text of a column of the current row, valid until the next step.
    func bytes(_ column: Int32) -> UnsafeBufferPointer<UInt8>
    func int(_ column: Int32) -> Int64
    func real(_ column: Int32) -> Double
    func value(_ column: Int32) -> SQLValue
}

extension StoreStatement {
    func takeCost() -> Int { takeSteps() }

    /// The value of `uses` after an interruption. The statement counts as quick again after so many quick runs and
    /// those that `isKnownQuick` needs.
    static var slowRunPenalty: Int { -200 }

    /// Whether its recent runs were all quick, whatever values were bound.
    var isKnownQuick: Bool { uses >= 3 }

    /// Whether a recent run was interrupted.
    var wasSlow: Bool { uses < 0 }

    func bind(_ arguments: [SQLValue]) throws {
        for (index, argument) in arguments.enumerated() { try bind(argument, at: Int32(index + 1)) }
    }

    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }

    func bind(column: Int32, of source: any StoreStatement, at index: Int32) throws {
        try bind(source.value(column), at: index)
    }
}

extension Dictionary where Key == String, Value: StoreStatement {
    /// Makes room for another statement. Known quick statements stay. Otherwise a flood of different queries would
    /// evict them, and the lane would refuse ordinary queries.
    mutating func makeRoom(limit: Int) {
        guard count >= limit else { return }
        self = filter { $0.value.isKnownQuick }
        if count > limit / 2 { self = [:] }
    }
}
