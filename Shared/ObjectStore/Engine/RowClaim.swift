import ParseProtocol

/// Work that is stored as rows of a table, of which each process that writes takes some to do, so that no other one
/// does the same meanwhile (`ClassStore.claim`).
///
/// A claim puts its rows off: what was due is due again after a time, since its process may end before it has done the
/// work. So work may be done twice, as after any crash.
public struct RowClaim: Sendable {
    private let table: String
    private let columns: String
    private let condition: String
    private let arguments: [SQLValue]
    private let order: String
    private let limit: Int
    private let time: Duration

    /// - Parameters:
    ///   - columns: the columns to give, in SQL. Another one, `wasDueAt`, says since when the row is due.
    ///   - table: one with a number `id` and a column `dueAt`, in milliseconds since 1970.
    ///   - condition: which rows there are to take beside being due, in SQL; its parameters are `arguments`.
    ///   - order: which rows are taken first, in SQL.
    ///   - limit: the rows that are taken at most, 1 or more.
    ///   - time: longer than the work takes.
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

    /// PostgreSQL's statement: rows that another process is taking at this moment are passed over
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
}
