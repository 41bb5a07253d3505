import ParseProtocol

/// The list of rows that change while a service's data is moved (`StoreMove`). Triggers of the tables write it in the
/// transaction of each change, so that it contains exactly the committed changes.
///
/// The service's own writer creates and removes it when it opens the database, because no other process may write a
/// file.
enum ChangeCapture {
    static let log = "movingchanges"
    /// The number of columns of the longest primary key.
    private static let keyColumnsMax = 6

    static let keyColumns = (0..<keyColumnsMax).map { "k\($0)" }

    /// Creates or removes the list, in the current transaction. An existing list is continued.
    static func settle(_ connection: any StoreConnection, isWanted: Bool) throws {
        guard try connection.hasTable(log) != isWanted else { return }
        guard isWanted else { return try end(connection) }
        // In PostgreSQL keys are stored as texts.
        let type = connection.dialect == .sqlite ? "" : " TEXT"
        let columns = keyColumns.map { $0 + type }.joined(separator: ", ")
        try connection.executeOnce("CREATE TABLE \(log)(seq INTEGER PRIMARY KEY, relation TEXT NOT NULL, \(columns))")
        for table in try connection.movedTables(isLenient: true).values { try follow(table, connection) }
    }

    /// Adds the triggers to the tables of a class that was created during the move.
    static func follow(classId: Int64, _ connection: any StoreConnection) throws {
        guard try connection.hasTable(log) else { return }
        let tables = try connection.movedTables(isLenient: true)
        for name in ["o\(classId)", "p\(classId)"] {
            guard let table = tables[name] else { continue }
            try follow(table, connection)
        }
    }

    /// Records that a class was dropped with all its rows; another class may get its number.
    static func forget(classId: Int64, _ connection: any StoreConnection) throws {
        guard try connection.hasTable(log) else { return }
        try connection.execute("INSERT INTO \(log)(relation) VALUES (?)", [.text("o\(classId)")])
    }

    private static func follow(_ table: MovedTable, _ connection: any StoreConnection) throws {
        guard !table.key.isEmpty, table.key.count <= keyColumnsMax else { return }
        for (letter, event, rows) in [
            ("i", "INSERT", ["new"]), ("u", "UPDATE", ["old", "new"]), ("d", "DELETE", ["old"]),
        ] {
            let notes = rows.map { note($0, table, connection.dialect) }.joined(separator: " ")
            try connection.executeOnce(
                "CREATE TRIGGER moving_\(table.name)_\(letter) AFTER \(event) ON \(table.name) BEGIN \(notes) END")
        }
    }

    private static func note(_ row: String, _ table: MovedTable, _ dialect: Dialect) -> String {
        let columns = keyColumns.prefix(table.key.count).joined(separator: ", ")
        let values = table.key.map { column in
            dialect == .sqlite ? "\(row).\(column.quoted)" : "CAST(\(row).\(column.quoted) AS TEXT)"
        }.joined(separator: ", ")
        return "INSERT INTO \(log)(relation, \(columns)) VALUES ('\(table.name)', \(values));"
    }

    private static func end(_ connection: any StoreConnection) throws {
        try drop(triggers: try triggers(connection), connection)
        try connection.executeOnce("DROP TABLE \(log)")
    }

    /// The names of the triggers. In PostgreSQL a trigger has a function of the same name, which outlives its table.
    private static func triggers(_ connection: any StoreConnection) throws -> [String] {
        let list =
            connection.dialect == .sqlite
            ? "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            : "SELECT routine_name FROM information_schema.routines WHERE routine_schema = current_schema()"
        return try connection.rows(list).map { try $0.text(0) }.filter { $0.hasPrefix("moving_") }
    }

    private static func drop(triggers: [String], _ connection: any StoreConnection) throws {
        for name in triggers {
            guard connection.dialect != .sqlite else {
                try connection.executeOnce("DROP TRIGGER \(name)")
                continue
            }
            // moving_<table>_<letter>
            let table = name.dropFirst("moving_".count).dropLast(2)
            if try connection.hasTable(String(table)) {
                try connection.executeOnce("DROP TRIGGER IF EXISTS \(name) ON \(table)")
            }
            try connection.executeOnce("DROP FUNCTION \(name)()")
        }
    }

    /// The key of a recorded row, with the types of its table.
    static func key(_ noted: [SQLValue], of table: MovedTable) -> [SQLValue] {
        zip(noted, table.key).map { value, column in
            guard let text = value.textValue else { return value }
            return switch column.type {
            case .int, .flag: Int64(text).map(SQLValue.int) ?? value
            case .real: Double(text).map(SQLValue.real) ?? value
            case .blob: [UInt8](hex: text.dropFirst(2)).map(SQLValue.blob) ?? value
            case .text: value
            }
        }
    }
}
