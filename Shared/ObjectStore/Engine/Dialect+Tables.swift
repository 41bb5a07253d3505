/// What the SQL of a service's own tables says differently on the two engines (docs/sql.md). Everything else is written
/// so that both take it.
extension Dialect {
    /// The condition that a flag, a column of 0 or 1, is set, where a partial index has that very condition: SQLite
    /// uses it for the same term only. Elsewhere `flag <> 0` is for both.
    public func flag(_ column: String) -> String { self == .sqlite ? column : "\(column)<>0" }

    /// What follows a value that is to be none of a list, which is one parameter: JSON's text of an array.
    public func isNotIn(_ name: String, as operand: Operand) -> String {
        self == .sqlite ? " NOT\(isIn(name, as: operand))" : "<>ALL\(isIn(name, as: operand).dropFirst("=ANY".count))"
    }

    /// What stands behind a table whose index SQLite would not choose by itself; nothing in PostgreSQL.
    public func using(index: String) -> String { self == .sqlite ? " INDEXED BY \(index)" : "" }

    /// What tells the rows of a table apart, and in SQLite is in every index: their number there, else the key.
    public func row(key: String) -> String { self == .sqlite ? "rowid" : key }

    /// The smaller one of two numbers, of which none is missing.
    public func lesser(_ value: String, _ other: String) -> String {
        self == .sqlite ? "min(\(value), \(other))" : "least(\(value), \(other))"
    }

    /// The bytes that a text has in UTF-8.
    public func bytes(of text: String) -> String {
        self == .sqlite ? "length(CAST(\(text) AS BLOB))" : "octet_length(\(text))"
    }

    /// The first day of the month of a day; both are days since 1970 by UTC.
    public func startOfMonth(of day: String) -> String {
        self == .sqlite
            ? "CAST(strftime('%s', date(\(day) * 86400, 'unixepoch', 'start of month')) AS INTEGER) / 86400"
            : "(date_trunc('month', date '1970-01-01' + (\(day))::int)::date - date '1970-01-01')"
    }
}
