import ParseProtocol

/// One connection to an engine with its prepared statements, used by one thread at a time: what the store needs of
/// SQLite or PostgreSQL.
///
/// Parameters of statements are written `?` or `?1`, `?2` … for both engines. What else differs in their SQL is
/// `Dialect`'s to know.
protocol StoreConnection: AnyObject {
    var dialect: Dialect { get }
    /// Ends statements that run for too long.
    var timeLimit: TimeLimit { get }
    /// Takes only queries that were quick before: set while others bring slow ones to this thread.
    var takesOnlyProven: Bool { get set }
    /// Calls of functions that look into rows, since the connection was opened; 0 where the engine has its own.
    var functionCalls: Int { get }
    /// Rows changed by the last statement.
    var changes: Int { get }
    /// Rows changed since the connection was opened.
    var totalChanges: Int64 { get }
    /// False when the engine itself gave the transaction up, so that nothing can be done in it any more.
    var isInTransaction: Bool { get }

    /// Releases every statement and ends the connection, which is unusable afterwards.
    func close()
    /// The prepared statement for this SQL, ready to be bound.
    func statement(_ sql: String) throws -> any StoreStatement
    /// The prepared statement of a client's query.
    /// - Throws: `ReadOverrun` for one that was not quick before, while only such are taken.
    func query(_ sql: String) throws -> any StoreStatement
    /// Runs statements that are not worth keeping, one after the other.
    func executeOnce(_ sql: String) throws
    /// Begins a transaction that changes something, of the one writer.
    func beginWriting() throws
    /// Begins a transaction in which all reads see the same commits.
    func beginReading() throws
    /// Runs reads that are ended after `limit`.
    /// - Throws: `.timeout` (124) when the time is over.
    func limited<T>(to limit: Duration, _ body: () throws -> T) throws -> T

    // MARK: Where every process writes

    /// Whether other processes write too while this connection does.
    var isShared: Bool { get }
    /// The first failure of the transaction by which another one overtook it: it can only be taken back, whatever was
    /// made of the failure.
    var overtaken: StoreError? { get }
    /// Failures in the transaction that may come of what it does not see: a row in the way of a unique index, a table
    /// that another process changed.
    var refusals: Int { get }
    /// Begins the transaction of a group of jobs.
    /// - Parameter waitsLong: for rows that others are changing; else the transaction is soon overtaken by them.
    func beginGroup(waitsLong: Bool) throws
    /// The schema's number as the transaction sees it; nil where nobody else changes it.
    func generationAtBegin() throws -> Int64?
    /// Begins a transaction during which no other process writes.
    func beginPreparing() throws

    /// The bytes of the pages that hold something; nil where the engine does not know as of now.
    func usedBytes() throws -> Int64?

    // MARK: The schema

    /// The number that changes in each transaction that changes a class.
    func generation() throws -> Int64
    func setGeneration(_ generation: Int64) throws
    func hasTable(_ name: String) throws -> Bool
    /// The columns of the indexes on tables of classes, by table.
    func indexColumns() throws -> [String: [[String]]]
    /// The names of a table's indexes that `createIndex` made.
    func indexNames(of table: String) throws -> [String]
    /// - Throws: `StoreError` with `isUniqueViolation` when stored rows are not unique.
    func createIndex(_ name: String, on table: String, columns: [SortedColumn], isUnique: Bool) throws
    /// Drops it where it is there.
    func dropIndex(_ name: String) throws
    /// Ends what is done to indexes beside the writes, which would have to wait for this transaction, as it would for
    /// that. Called before a table or index of a class is changed.
    func makeWay() throws
    /// Called when a table is dropped.
    func forgetIndexes(of table: String) throws
    /// The tables `o<id>` of a class's objects and `p<id>` of their ACLs. The document is the complete wire object; the
    /// columns repeat what queries decide by.
    func createClassTables(_ id: Int64) throws

    // MARK: Where tables and indexes are no part of transactions

    /// Takes tables for a class that were made before.
    /// - Returns: the class's number; nil where they are made for a number, by `createClassTables`.
    func takeClassTables() throws -> Int64?
    /// Leaves the tables of a class that is dropped to `IndexWork`, in this transaction.
    /// - Returns: false where they are dropped in it.
    func leaveTables(of info: ClassInfo) throws -> Bool
    /// The number of a class whose tables were left; nil for none.
    func leftTables() throws -> Int64?
    /// They were dropped.
    func forgetTables(_ id: Int64) throws
    /// Statements that follow are those of a migration, of which an interrupted start may have run some.
    func beginStep(_ identifier: String) throws
    func endStep()
}

extension StoreConnection {
    var isShared: Bool { false }
    var overtaken: StoreError? { nil }
    var refusals: Int { 0 }
    func beginGroup(waitsLong _: Bool) throws { try beginWriting() }
    func generationAtBegin() throws -> Int64? { nil }
    func beginPreparing() throws { try beginWriting() }
    func makeWay() throws {}
    func takeClassTables() throws -> Int64? { nil }
    func leaveTables(of _: ClassInfo) throws -> Bool { false }
    func leftTables() throws -> Int64? { nil }
    func forgetTables(_: Int64) throws {}
    func beginStep(_: String) throws {}
    func endStep() {}

    func execute(_ sql: String, _ arguments: [SQLValue] = []) throws {
        let statement = try statement(sql)
        try statement.bind(arguments)
        while try statement.step() {}
        statement.reset()
    }

    func rows(_ sql: String, _ arguments: [SQLValue] = []) throws -> [SQLRow] {
        let statement = try statement(sql)
        defer { statement.reset() }
        try statement.bind(arguments)
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

/// A column, or the expression of one, of an index.
struct SortedColumn {
    let column: String
    var isDescending = false
}

/// A prepared statement. Belongs to one connection and is used by one thread at a time.
protocol StoreStatement: AnyObject {
    /// The number of queries it was taken for since it last took too long.
    var uses: Int { get set }
    var columnNames: [String] { get }

    /// Steps to the next row.
    /// - Returns: false when there is none.
    func step() throws -> Bool
    /// Ends it, so that it can be bound and run again.
    func reset()
    /// Runs an INSERT of one row, made with `Dialect.returningId`.
    /// - Returns: the row's number.
    func insert() throws -> Int64
    /// The engine's own figure for the work since it was asked last; 0 where it has none.
    func takeSteps() -> Int
    /// What it took since it was asked last, in SQLite's instructions: its own figure, or such as take as long as the
    /// server did.
    func takeCost() -> Int

    /// Binds the parameter with this number (from 1); a number the statement does not use is ignored.
    func bind(_ value: SQLValue, at index: Int32) throws
    func bind(_ text: String, at index: Int32) throws
    /// Binds UTF-8 bytes as text.
    func bind(utf8 bytes: [UInt8], at index: Int32) throws
    func bind(_ value: Int64, at index: Int32) throws
    func bind(_ regex: Regex, at index: Int32) throws
    /// Binds what another statement of the same connection has in a column of its current row.
    func bind(column: Int32, of source: any StoreStatement, at index: Int32) throws

    /// The text of a column of the current row, valid until the next step.
    func bytes(_ column: Int32) -> UnsafeBufferPointer<UInt8>
    func int(_ column: Int32) -> Int64
    func real(_ column: Int32) -> Double
    func value(_ column: Int32) -> SQLValue
}

extension StoreStatement {
    func takeCost() -> Int { takeSteps() }

    /// The weight of one interruption: after so many quick runs it counts as quick again.
    static var distrust: Int { -200 }

    /// Whether it was quick every time of some, whatever was bound to it.
    var isProven: Bool { uses >= 3 }

    func bind(_ arguments: [SQLValue]) throws {
        for (index, argument) in arguments.enumerated() { try bind(argument, at: Int32(index + 1)) }
    }

    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }

    func bind(column: Int32, of source: any StoreStatement, at index: Int32) throws {
        try bind(source.value(column), at: index)
    }
}
