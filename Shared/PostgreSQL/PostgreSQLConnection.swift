import CPostgreSQL

/// One connection to a PostgreSQL server with its cached statements, used by one thread at a time. Its calls block
/// until the server has answered or the deadline is over.
///
/// What is only queued (`enqueue`, `PostgreSQLStatement.send`) goes to the server together with the next thing that is
/// waited for, in one round trip. Without a BEGIN such a group is one transaction.
package final class PostgreSQLConnection {
    let session: Session
    /// Ends what runs, from any thread.
    package let canceller: PostgreSQLCanceller
    private var statements: [String: PostgreSQLStatement] = [:]
    private var uses = 0

    /// Statements kept prepared. Clients choose the shapes of queries, so the number has to end somewhere.
    package static let statementsMax = 256
    /// Longer SQL is prepared each time: it is rare, and a plan takes many times its text.
    package static let cachedBytesMax = 16_384

    /// Connects, and waits until the server takes statements.
    /// - Throws: `PostgreSQLError`, with `isConnectionLost` when no host could be reached.
    package init(_ target: PostgreSQLTarget) throws(PostgreSQLError) {
        session = try Session(target)
        canceller = session.wire.canceller
        let settings = target.sessionSettings
        let calls = settings.indices.map { "set_config($\($0 * 2 + 1), $\($0 * 2 + 2), false)" }
        try execute(
            "SELECT \(calls.joined(separator: ", "))", settings.flatMap { [.text($0.0), .text($0.1)] })
    }

    deinit { close() }

    /// Ends the connection; what is queued is dropped. It is unusable afterwards.
    package func close() { session.close() }

    /// Whether the connection is gone and has to be replaced by another.
    package var isBroken: Bool { session.wire.handle == nil || !session.wire.isUsable }
    /// Whether a transaction is open, failed ones too, or something that is queued may open one.
    package var isInTransaction: Bool { session.isInTransaction }
    /// The number of times that the server was waited for since the connection was made.
    package var roundTrips: Int { session.roundTrips }
    /// Nanoseconds that the server was waited for since the connection was made: no less than it worked for it.
    package var nanosecondsWaited: UInt64 { session.wire.waited }
    /// The number of statements that are kept prepared.
    package var statementCount: Int { statements.count }
    /// The server's version: 150004 is 15.4.
    package var serverVersion: Int { Int(session.wire.handle.map(PQserverVersion) ?? 0) }

    /// The statement for this SQL, ready to be bound, with `$1` and on for its parameters. The server sees it when it
    /// first runs.
    package func statement(_ sql: String) throws(PostgreSQLError) -> PostgreSQLStatement {
        _ = try session.wire.open()
        uses += 1
        if let statement = statements[sql] {
            statement.lastUse = uses
            statement.reset()
            statement.streams = false
            return statement
        }
        let statement = PostgreSQLStatement(sql, session)
        if sql.utf8.count > Self.cachedBytesMax { return statement }
        if statements.count >= Self.statementsMax { dropStatements() }
        statement.lastUse = uses
        statements[sql] = statement
        return statement
    }

    /// Drops the quarter that was not used for the longest time.
    private func dropStatements() {
        let oldest = statements.values.sorted { $0.lastUse < $1.lastUse }.prefix(Self.statementsMax / 4)
        for statement in oldest { statements[statement.sql] = nil }
    }

    /// Runs a statement to its end.
    /// - Returns: the rows that it inserted, changed, removed or gave.
    @discardableResult
    package func execute(_ sql: String, _ values: [PostgreSQLValue] = []) throws(PostgreSQLError) -> Int {
        let statement = try statement(sql)
        try statement.bind(values)
        _ = try statement.step()
        defer { statement.reset() }
        return statement.affectedRows
    }

    /// Runs a statement and returns its rows.
    package func rows(
        _ sql: String, _ values: [PostgreSQLValue] = []
    ) throws(PostgreSQLError) -> [[PostgreSQLValue]] {
        let statement = try statement(sql)
        try statement.bind(values)
        var rows: [[PostgreSQLValue]] = []
        while try statement.step() { rows.append((0..<statement.columnCount).map { statement.value($0) }) }
        statement.reset()
        return rows
    }

    /// Queues a statement whose result nobody needs; see `PostgreSQLStatement.enqueue`.
    package func enqueue(_ sql: String, _ values: [PostgreSQLValue] = []) throws(PostgreSQLError) {
        let statement = try statement(sql)
        try statement.bind(values)
        try statement.enqueue()
    }

    /// Waits until everything that is queued is done.
    /// - Throws: the first failure of it.
    package func settle() throws(PostgreSQLError) { try session.settle() }
}
