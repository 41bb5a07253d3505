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
    /// Whether the server has no locks of sessions. Only the one writer is at it then.
    private let isPlain: Bool
    private let queue = BlockingQueue("indexes")
    private let state = Mutex(State())

    private struct State {
        var isStopped = false
        /// Ends what the server does now.
        var canceller: PostgreSQLCanceller?
    }

    init(_ database: PostgreSQLDatabase) {
        isPlain = database.dialect == .plain
        var target = database.target
        target.applicationName = Self.applicationName(of: target)
        // Whatever the role's settings are.
        target.settings["statement_timeout"] = "0"
        if !isPlain { target.settings["lock_timeout"] = "0" }
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

    /// Ends what is under way; it is tried again later.
    func interrupt() { state.withLock { $0.canceller }?.cancel() }

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
        guard mayBegin else { return .later }
        if !isPlain {
            let hasLock = try connection.rows("SELECT pg_try_advisory_lock(\(lock))")[0][0] == .int(1)
            guard hasLock else { return .later }
        }
        switch work {
        case .drop: try drop(work.index, connection)
        case .dropTables(let id):
            for letter in ["w", "p", "o"] { try connection.execute(script: "DROP TABLE IF EXISTS \(letter)\(id)") }
        case .build(_, let table, let columns):
            if try !isBuilt(work.index, connection) {
                try connection.execute(script: "CREATE INDEX CONCURRENTLY \(work.index) ON \(table)\(columns)")
            }
            // The server knows nothing of an expression's values before, and looks by itself only after many changes.
            try connection.execute(script: "ANALYZE \(table)")
        }
        return .done
    }

    /// Whether the index is there as a whole. One that is not, is removed.
    private func isBuilt(_ index: String, _ connection: PostgreSQLConnection) throws(PostgreSQLError) -> Bool {
        if isPlain {
            try drop(index, connection)
            return false
        }
        let found = try connection.rows(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('\(index)')"
        ).first?[0]
        if found == .int(0) { try drop(index, connection) }
        return found == .int(1)
    }

    private func drop(_ index: String, _ connection: PostgreSQLConnection) throws(PostgreSQLError) {
        try connection.execute(script: "DROP INDEX \(isPlain ? "" : "CONCURRENTLY ")IF EXISTS \(index)")
    }

    /// The builder's lock among those of the database.
    private var lock: String {
        "hashtextextended('satchel indexes \((target.schema ?? "").replacing("'", with: "''"))', 0)"
    }
}
