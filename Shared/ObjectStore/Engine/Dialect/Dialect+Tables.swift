/// The differences between the two engines in the SQL of a service's own tables (docs/internals/sql.md). All other SQL
/// is valid for both.
extension Dialect {
    /// The condition that a flag, a column of 0 or 1, is set, in the form that a partial index uses. SQLite uses such
    /// an index only for an identical term. Where no partial index is involved, `flag <> 0` works on both engines.
    public func flag(_ column: String) -> String { self == .sqlite ? column : "\(column)<>0" }

    /// The suffix of a value that must not be in a list. The list is one parameter: the JSON text of an array.
    public func isNotIn(_ name: String, as operand: Operand) -> String {
        self == .sqlite ? " NOT\(isIn(name, as: operand))" : "<>ALL\(isIn(name, as: operand).dropFirst("=ANY".count))"
    }

    /// The suffix of a table name that forces an index which SQLite would not choose by itself; empty in PostgreSQL.
    public func using(index: String) -> String { self == .sqlite ? " INDEXED BY \(index)" : "" }

    /// The column that identifies a row: in SQLite the rowid, which every index contains; else the key.
    public func row(key: String) -> String { self == .sqlite ? "rowid" : key }

    /// The smaller of two numbers. Neither may be NULL.
    public func lesser(_ value: String, _ other: String) -> String {
        self == .sqlite ? "min(\(value), \(other))" : "least(\(value), \(other))"
    }

    /// The UTF-8 length of a text in bytes.
    public func bytes(of text: String) -> String {
        self == .sqlite ? "length(CAST(\(text) AS BLOB))" : "octet_length(\(text))"
    }

    /// The first day of a day's month; both are days since 1970 in UTC.
    public func startOfMonth(of day: String) -> String {
        self == .sqlite
            ? "CAST(strftime('%s', date(\(day) * 86400, 'unixepoch', 'start of month')) AS INTEGER) / 86400"
            : "(date_trunc('month', date '1970-01-01' + (\(day))::int)::date - date '1970-01-01')"
    }
}
