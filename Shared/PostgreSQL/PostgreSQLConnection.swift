import CPostgreSQL

/// One connection to a PostgreSQL server, with its cached prepared statements. One thread at a time uses it. Its calls
/// block until the server answers or the deadline passes.
///
/// Queued statements (`enqueue`, `PostgreSQLStatement.send`) go to the server in one round trip, together with the next
/// statement whose result the caller waits for. Without a BEGIN such a group is one transaction.
package final class PostgreSQLConnection {
    let session: Session
    /// Cancels the running statement, from any thread.
    package let canceller: PostgreSQLCanceller
    private var statements: [String: PostgreSQLStatement] = [:]
    private var uses = 0

    /// Limit of the cached prepared statements. Clients choose the shapes of queries, so their number is otherwise
    /// unbounded.
    package static let statementsMax = 256
    /// Longer SQL is not cached but prepared for each call: it is rare, and its plan takes many times the memory of its
    /// text.
    package static let cachedBytesMax = 16_384

    /// Why libpq cannot be used; nil when it is loaded.
    package static var libraryProblem: String? { satchel_pq_problem().map { String(cString: $0) } }

    /// Connects, and waits until the server accepts statements.
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

    /// Closes the connection and drops all queued statements. It cannot be used again.
    package func close() { session.close() }

    /// Whether the connection is lost or closed, so that the caller must replace it.
    package var isBroken: Bool { session.wire.handle == nil || !session.wire.isUsable }
    /// Whether a transaction is open, even a failed one, or a queued statement may open one.
    package var isInTransaction: Bool { session.isInTransaction }
    /// Round trips since the connection was made: how often the client waited for the server.
    package var roundTrips: Int { session.roundTrips }
    /// Nanoseconds spent waiting for the server since the connection was made: an upper bound of the server's work for
    /// this connection.
    package var nanosecondsWaited: UInt64 { session.wire.waited }
    /// The number of cached prepared statements.
    package var statementCount: Int { statements.count }

    /// The statement for this SQL, ready for binding. The SQL names its parameters `$1`, `$2` and so on. The server
    /// receives the SQL with the first run.
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

    /// Drops the least recently used quarter of the cache.
    private func dropStatements() {
        let oldest = statements.values.sorted { $0.lastUse < $1.lastUse }.prefix(Self.statementsMax / 4)
        for statement in oldest { statements[statement.sql] = nil }
    }

    /// Runs a statement to its end.
    /// - Returns: the number of rows that it inserted, changed, removed or returned.
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

    /// Queues a statement whose result the caller does not need; see `PostgreSQLStatement.enqueue`.
    package func enqueue(_ sql: String, _ values: [PostgreSQLValue] = []) throws(PostgreSQLError) {
        let statement = try statement(sql)
        try statement.bind(values)
        try statement.enqueue()
    }

    /// Waits until the server has completed all queued statements.
    /// - Throws: the first failure among them.
    package func settle() throws(PostgreSQLError) { try session.settle() }
}
