import CPostgreSQL

extension PostgreSQLConnection {
    /// Queues a BEGIN. It goes to the server together with the next statements.
    /// - Parameter mode: the text after BEGIN, for example `ISOLATION LEVEL SERIALIZABLE`.
    package func begin(_ mode: String = "") throws(PostgreSQLError) {
        try enqueue(mode.isEmpty ? "BEGIN" : "BEGIN \(mode)")
    }

    /// Commits the transaction, including all queued statements.
    /// - Throws: `PostgreSQLError` when the server committed nothing. With `isConnectionLost` or `isTimedOut` the
    ///   outcome is unknown: the server may have committed.
    package func commit() throws(PostgreSQLError) {
        let statement = try statement("COMMIT")
        _ = try statement.step()
        // The server's answer to the COMMIT of a transaction that had already failed.
        let hasRolledBack = statement.commandTag == "ROLLBACK"
        statement.reset()
        if hasRolledBack {
            throw PostgreSQLError(state: "25P02", message: "the transaction had failed and was rolled back")
        }
    }

    /// Rolls back the transaction, including all queued statements. Failures of queued statements are dropped. The
    /// caller's deadline does not apply: the server has five seconds.
    /// - Throws: `PostgreSQLError` when the connection is lost, and the transaction with it.
    package func rollback() throws(PostgreSQLError) {
        let deadline = session.wire.deadline
        session.wire.deadline = .now + .seconds(5)
        defer { session.wire.deadline = deadline }
        guard session.isInTransaction else { return }
        // ROLLBACK goes into the same group as the queued statements. If the group ended before it, a group without a
        // BEGIN would commit.
        if !session.isQuiet {
            do throws(PostgreSQLError) {
                try enqueue("ROLLBACK")
                try session.settle()
            } catch {
                guard !isBroken else { throw error }
            }
        }
        if session.isInTransaction { try execute("ROLLBACK") }
    }

    /// Runs several statements in one round trip; without a BEGIN they are one transaction.
    /// - Returns: for each statement the number of rows that it inserted, changed, removed or returned.
    /// - Throws: the first failure.
    @discardableResult
    package func execute(
        batch: [(sql: String, values: [PostgreSQLValue])]
    ) throws(PostgreSQLError) -> [Int] {
        let tally = Tally()
        for (sql, values) in batch {
            let statement = try statement(sql)
            try statement.bind(values)
            try session.send(statement, run: nil, tally)
        }
        try session.settle()
        return tally.counts
    }
}
