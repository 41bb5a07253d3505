import ParseProtocol
import PostgreSQL
import Synchronization

/// Makes and removes the automatic indexes of a schema on a connection of its own, without locking its writers
/// (https://www.postgresql.org/docs/15/sql-createindex.html#SQL-CREATEINDEX-CONCURRENTLY).
///
/// Only one process is at it: the one that has the builder's lock. Whoever has it knows that an index which is not
/// valid is what a failure or a death left, and not what is being built.
final class IndexBuilder: Sendable {
    private let target: PostgreSQLTarget
    private let queue = BlockingQueue("indexes")
    private let state = Mutex(State())

    private struct State {
        var isStopped = false
        /// Ends what the server does now.
        var canceller: PostgreSQLCanceller?
    }

    init(_ target: PostgreSQLTarget) {
        var target = target
        target.applicationName = Self.applicationName(of: target)
        // Whatever the role's settings are.
        target.settings["statement_timeout"] = "0"
        target.settings["lock_timeout"] = "0"
        self.target = target
    }

    /// The name by which the server knows the builder of a schema; it keeps 63 bytes of it.
    static func applicationName(of target: PostgreSQLTarget) -> String {
        String(target.applicationName.prefix(55)) + " indexes"
    }

    /// Ends what is under way and does nothing from then on.
    func stop() {
        let canceller = state.withLock { state in
            state.isStopped = true
            return state.canceller
        }
        canceller?.cancel()
    }

    /// Does one thing, which may take minutes. The end of the task ends it and all that would follow.
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
        // Cancelled, or another transaction waited for it; its table or a function is gone.
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
        // It does not wait: whoever waits in a statement has a snapshot, for which the other one's index would wait.
        guard mayBegin, try connection.rows("SELECT pg_try_advisory_lock(\(lock))")[0][0] == .int(1) else {
            return .later
        }
        switch work {
        case .drop: try drop(work.index, connection)
        case .build(_, let table, let columns):
            let found = try connection.rows(
                "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('\(work.index)')"
            ).first?[0]
            if found != .int(1) {
                if found != nil { try drop(work.index, connection) }
                try connection.execute(script: "CREATE INDEX CONCURRENTLY \(work.index) ON \(table)\(columns)")
            }
            // The server knows nothing of an expression's values before, and looks by itself only after many changes.
            try connection.execute(script: "ANALYZE \(table)")
        }
        return .done
    }

    private func drop(_ index: String, _ connection: PostgreSQLConnection) throws(PostgreSQLError) {
        try connection.execute(script: "DROP INDEX CONCURRENTLY IF EXISTS \(index)")
    }

    /// The builder's lock among those of the database.
    private var lock: String {
        "hashtextextended('satchel indexes \((target.schema ?? "").replacing("'", with: "''"))', 0)"
    }
}
