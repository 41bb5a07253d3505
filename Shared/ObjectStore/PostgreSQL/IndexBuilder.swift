import ParseProtocol
import PostgreSQL
import Synchronization

/// Builds and removes the automatic indexes of a schema on a separate connection, without locking out its writers
/// (https://www.postgresql.org/docs/15/sql-createindex.html#SQL-CREATEINDEX-CONCURRENTLY).
///
/// Only the process that holds the builder's lock does so. It therefore knows that an invalid index is the remains of a
/// failure or crash, and not one that is being built.
final class IndexBuilder: Sendable {
    private let target: PostgreSQLTarget
    private let queue = BlockingQueue("indexes")
    private let state = Mutex(State())

    private struct State {
        var isStopped = false
        /// Cancels the running statement.
        var canceller: PostgreSQLCanceller?
    }

    init(_ database: PostgreSQLDatabase) {
        var target = database.target
        target.applicationName = Self.applicationName(of: target)
        // Overrides the role's settings.
        target.settings["statement_timeout"] = "0"
        target.settings["lock_timeout"] = "0"
        self.target = target
    }

    /// The application name of a schema's builder; the server keeps 63 bytes of it.
    static func applicationName(of target: PostgreSQLTarget) -> String {
        String(target.applicationName.prefix(55)) + " indexes"
    }

    /// Cancels the running work and accepts no more.
    func stop() {
        let canceller = state.withLock { state in
            state.isStopped = true
            return state.canceller
        }
        canceller?.cancel()
    }

    /// Does one piece of work, which may take minutes. Cancelling the task cancels this work and stops the builder.
    /// - Throws: `StoreError`.
    func perform(_ work: IndexWork) async throws -> IndexOutcome {
        try await withTaskCancellationHandler {
            try await queue.run { [self] () throws(StoreError) in
                do throws(PostgreSQLError) {
                    return try run(work)
                } catch {
                    return try Self.outcome(of: error)
                }
            }
        } onCancel: {
            stop()
        }
    }

    private static func outcome(of error: PostgreSQLError) throws(StoreError) -> IndexOutcome {
        // Cancelled; or another transaction waited for it; or its table or a function no longer exists.
        if error.isCancelled || error.isDeadlock || ["42P01", "42704", "55P03"].contains(error.state) { return .later }
        let error = StoreError(sqlState: error.state, message: error.message)
        guard error.isTooLongForIndex else { throw error }
        return .unfit
    }

    private func run(_ work: IndexWork) throws(PostgreSQLError) -> IndexOutcome {
        let connection = try PostgreSQLConnection(target)
        let mayBegin = state.withLock { state in
            if !state.isStopped { state.canceller = connection.canceller }
            return !state.isStopped
        }
        defer {
            state.withLock { $0.canceller = nil }
            connection.close()
        }
        // Does not wait for the lock: a waiting statement has a snapshot, and the other builder's index would wait for
        // that.
        guard mayBegin else { return .later }
        let hasLock = try connection.rows("SELECT pg_try_advisory_lock(\(lock))")[0][0] == .int(1)
        guard hasLock else { return .later }
        switch work {
        case .drop: try drop(work.index, connection)
        case .build(_, let table, let columns):
            if try !isBuilt(work.index, connection) {
                try connection.execute(script: "CREATE INDEX CONCURRENTLY \(work.index) ON \(table)\(columns)")
            }
            // The server has no statistics on an expression's values yet, and collects them itself only after many
            // changes.
            try connection.execute(script: "ANALYZE \(table)")
        }
        return .done
    }

    /// Whether the index is complete; removes an incomplete one.
    private func isBuilt(_ index: String, _ connection: PostgreSQLConnection) throws(PostgreSQLError) -> Bool {
        let found = try connection.rows(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('\(index)')"
        ).first?[0]
        if found == .int(0) { try drop(index, connection) }
        return found == .int(1)
    }

    private func drop(_ index: String, _ connection: PostgreSQLConnection) throws(PostgreSQLError) {
        try connection.execute(script: "DROP INDEX CONCURRENTLY IF EXISTS \(index)")
    }

    /// The key of the builder's lock. Advisory locks are shared by all schemas of a database.
    private var lock: String {
        "hashtextextended('satchel indexes \((target.schema ?? "").replacing("'", with: "''"))', 0)"
    }
}
