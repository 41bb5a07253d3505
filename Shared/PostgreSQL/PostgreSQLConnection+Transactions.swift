import CPostgreSQL

extension PostgreSQLConnection {
    /// Queues the begin of a transaction; it goes to the server with what follows.
    /// - Parameter mode: what stands behind BEGIN, `ISOLATION LEVEL SERIALIZABLE` for example.
    package func begin(_ mode: String = "") throws(PostgreSQLError) {
        try enqueue(mode.isEmpty ? "BEGIN" : "BEGIN \(mode)")
    }

    /// Ends the transaction, with all that is queued.
    /// - Throws: `PostgreSQLError` when nothing of it is kept; with `isConnectionLost` or `isTimedOut` it may be.
    package func commit() throws(PostgreSQLError) {
        let statement = try statement("COMMIT")
        _ = try statement.step()
        // The answer for a transaction that failed before.
        let hasRolledBack = statement.commandTag == "ROLLBACK"
        statement.reset()
        if hasRolledBack {
            throw PostgreSQLError(state: "25P02", message: "the transaction had failed and was rolled back")
        }
    }

    /// Undoes the transaction, with all that is queued. Failures of what is queued are dropped, and a deadline is not
    /// asked: the server has five seconds.
    /// - Throws: `PostgreSQLError` when the connection is gone, and with it the transaction.
    package func rollback() throws(PostgreSQLError) {
        let deadline = session.wire.deadline
        session.wire.deadline = .now + .seconds(5)
        defer { session.wire.deadline = deadline }
        guard session.isInTransaction else { return }
        // In the same group as what is queued: without a BEGIN its end would be a commit.
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
    /// - Returns: the rows that each inserted, changed, removed or gave.
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
