import ParseProtocol

/// A claim on stored work. Work is stored as rows of a table; each writing process claims some rows, so that no other
/// process does the same work at the same time (`ClassStore.claim`).
///
/// A claim postpones its rows: they become due again after a time, because the process may end before the work is done.
/// Work may be done twice: when a process ends, or when the work takes longer than the claim.
public struct RowClaim: Sendable {
    private let table: String
    private let columns: String
    private let condition: String
    private let arguments: [SQLValue]
    private let order: String
    private let limit: Int
    private let time: Duration

    /// - Parameters:
    ///   - columns: the columns to return, in SQL; `id` is one of them. The column `wasDueAt` is added: the time at
    ///     which the row became due.
    ///   - table: a table with a number `id` and a column `dueAt`, in milliseconds since 1970.
    ///   - condition: which due rows may be claimed, in SQL; its parameters are `arguments`.
    ///   - order: which rows are claimed first, in SQL.
    ///   - limit: the maximum number of rows, 1 or more.
    ///   - time: how long the claim holds; longer than the work takes.
    public init(
        _ columns: String, of table: String, where condition: String, _ arguments: [SQLValue] = [],
        orderedBy order: String, limit: Int, for time: Duration
    ) {
        self.table = table
        self.columns = columns
        self.condition = condition
        self.arguments = arguments
        self.order = order
        self.limit = limit
        self.time = time
    }

    /// PostgreSQL's statement. It skips rows that another process is claiming at the same time
    /// (https://www.postgresql.org/docs/15/sql-select.html#SQL-FOR-UPDATE-SHARE).
    func statement(at now: Timestamp) -> (sql: String, arguments: [SQLValue]) {
        let sql = """
            WITH claimed AS (SELECT id AS claimedId, dueAt AS wasDueAt FROM \(table) WHERE dueAt <= ? AND \(condition)
            ORDER BY \(order) LIMIT ? FOR UPDATE SKIP LOCKED)
            UPDATE \(table) SET dueAt = ? FROM claimed WHERE id = claimedId RETURNING \(columns), wasDueAt
            """
        let end = now.advanced(by: time).milliseconds
        return (sql, [.int(now.milliseconds)] + arguments + [.int(Int64(limit)), .int(end)])
    }

    /// Claims in SQLite, where jobs run one after the other.
    func take(in transaction: StoreTransaction) throws -> [SQLRow] {
        let now = transaction.now
        let rows = try transaction.rows(
            """
            SELECT \(columns), dueAt AS wasDueAt FROM \(table) WHERE dueAt <= ? AND \(condition)
            ORDER BY \(order) LIMIT ?
            """, [.int(now.milliseconds)] + arguments + [.int(Int64(limit))])
        for row in rows {
            try transaction.execute(
                "UPDATE \(table) SET dueAt = ? WHERE id = ?", [.int(now.advanced(by: time).milliseconds), row["id"]])
        }
        return rows
    }
}
