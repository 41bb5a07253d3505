/// Reads and writes rows of one table on one side of a move.
struct MovedRows {
    let connection: any StoreConnection
    /// The table, with its columns in the source's order.
    let table: MovedTable

    /// Rows per INSERT: more rows do not make it faster.
    static let rowsAtOnce = 32

    // MARK: Reading

    /// The rows between two keys, in the order of keys.
    /// - Parameters:
    ///   - key: the key before the first row; nil for the beginning of the table.
    ///   - last: the key of the last row; nil for the end of the table.
    ///   - limit: the maximum number of rows; nil for all up to `last`.
    func rows(after key: [SQLValue]?, through last: [SQLValue]? = nil, limit: Int?) throws -> [[SQLValue]] {
        var conditions: [String] = []
        if key != nil { conditions.append(compared(by: ">")) }
        if last != nil { conditions.append(compared(by: "<=")) }
        let condition = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
        let sql =
            "SELECT \(selected) FROM \(table.quoted)\(condition) ORDER BY \(keyColumns)"
            + (limit.map { " LIMIT \($0)" } ?? "")
        return try read(sql, (key ?? []) + (last ?? []))
    }

    /// The row of a key; nil when there is none.
    func row(_ key: [SQLValue]) throws -> [SQLValue]? {
        try read("SELECT \(selected) FROM \(table.quoted) WHERE \(isRow)", key).first
    }

    func count() throws -> Int64 { try connection.rows("SELECT count(*) FROM \(table.quoted)").first?.int(0) ?? 0 }

    private func read(_ sql: String, _ arguments: [SQLValue]) throws -> [[SQLValue]] {
        try connection.rows(sql, arguments).map(\.values)
    }

    private var selected: String {
        table.columns.map { $0.type == .flag ? $0.quoted + "::int" : $0.quoted }.joined(separator: ", ")
    }

    private var keyColumns: String { table.key.map(\.quoted).joined(separator: ", ") }

    private var isRow: String {
        table.key.map { "\($0.quoted) = \(typed("?", $0))" }.joined(separator: " AND ")
    }

    private func compared(by sign: String) -> String {
        let parameters = table.key.map { typed("?", $0) }
        guard table.key.count > 1 else { return "\(keyColumns) \(sign) \(parameters.joined())" }
        return "(\(keyColumns)) \(sign) (\(parameters.joined(separator: ", ")))"
    }

    /// A parameter with its type for PostgreSQL.
    private func typed(_ parameter: String, _ column: MovedTable.Column) -> String {
        if connection.dialect == .sqlite { return parameter }
        return switch column.type {
        case .int: "\(parameter)::bigint"
        case .real: "\(parameter)::float8"
        case .text: "\(parameter)::text"
        case .blob: "\(parameter)::bytea"
        case .flag: "(\(parameter)::bigint<>0)"
        }
    }

    // MARK: Writing

    /// Inserts rows; skips a row whose key or unique values exist already.
    /// - Throws: `MoveRefused` for values that the engine does not store, with the key of the first row of the
    ///   statement.
    func insert(_ rows: [[SQLValue]]) throws {
        var rest = rows[...]
        while !rest.isEmpty {
            // One statement for many rows and one for a single row, so that few statements are prepared.
            let count = rest.count >= Self.rowsAtOnce ? Self.rowsAtOnce : 1
            let part = rest.prefix(count)
            rest = rest.dropFirst(count)
            do {
                try connection.execute(insertion(of: count), part.flatMap { $0 })
            } catch {
                throw refusal(error, part.first ?? [])
            }
        }
    }

    private func insertion(of count: Int) -> String {
        let hasDocument = table.hasObjects && connection.dialect != .sqlite
        let columns = table.columns.map(\.quoted) + (hasDocument ? ["data"] : [])
        let rows = (0..<count).map { row -> String in
            var values: [String] = []
            var document: [String] = []
            for (place, column) in table.columns.enumerated() {
                let parameter = "?\(row * table.columns.count + place + 1)"
                values.append(typed(parameter, column))
                if hasDocument, column.name == "doc" { document = ["\(parameter)::text::jsonb"] }
            }
            return "(\((values + document).joined(separator: ", ")))"
        }
        return """
            INSERT INTO \(table.quoted)(\(columns.joined(separator: ", "))) \
            VALUES \(rows.joined(separator: ", ")) ON CONFLICT DO NOTHING
            """
    }

    /// An unreachable server is not the fault of a row.
    private func refusal(_ error: any Error, _ row: [SQLValue]) -> any Error {
        if let error = error as? StoreError, StorageTrouble(error) != nil { return error }
        let key = table.key(of: row).map(\.shown).joined(separator: ", ")
        return MoveRefused(
            "A row of the table \(table.name), at key (\(key)) or soon after it, cannot be stored there: \(error)")
    }

    func delete(_ key: [SQLValue]) throws { try connection.execute("DELETE FROM \(table.quoted) WHERE \(isRow)", key) }
}

extension SQLValue {
    /// The form of a key's value in messages to operators.
    fileprivate var shown: String {
        switch self {
        case .null: "NULL"
        case .int(let value): "\(value)"
        case .real(let value): "\(value)"
        case .text(let value): "'\(value.prefix(40))'"
        case .blob(let bytes): "\(bytes.count) bytes"
        }
    }

    /// The approximate memory use in bytes.
    var weight: Int {
        switch self {
        case .text(let value): 16 + value.utf8.count
        case .blob(let bytes): 16 + bytes.count
        case .null, .int, .real: 16
        }
    }
}

/// The number of rows to read next, so that a batch is about 4 MB of memory and a short read.
struct BatchSize {
    private(set) var rows = 64
    static let bytesWanted = 4 << 20
    static let rowsMax = 1024

    /// - Parameter bytes: the memory use of the last batch, which had `count` rows.
    mutating func took(bytes: Int, count: Int) {
        guard count > 0 else { return }
        let fitting = Self.bytesWanted / max(1, bytes / count)
        // Powers of two, so that few statements are prepared.
        rows = 1
        while rows < Self.rowsMax, rows * 2 <= fitting { rows *= 2 }
    }
}
