import ParseProtocol

/// The list of rows that were changed while a service's data are moved: triggers of its tables write it, in the
/// transaction of each change, so that it has every change and no other.
///
/// The service's own writer makes and removes it when it opens the database: nobody else may write a file.
enum ChangeCapture {
    static let log = "movingchanges"
    /// Columns of the longest primary key of our tables.
    private static let keyColumnsMax = 6

    static let keyColumns = (0..<keyColumnsMax).map { "k\($0)" }

    /// The note that every table is followed: where tables and triggers are no part of transactions a start may end
    /// between two of them.
    private static let complete = "complete"

    /// Begins or ends the list, in the current transaction. One that is there goes on.
    static func settle(_ connection: any StoreConnection, isWanted: Bool) throws {
        let isThere = try connection.hasTable(log)
        guard isWanted || isThere else { return }
        if isThere {
            let isComplete = try !connection.rows(
                "SELECT 1 FROM \(log) WHERE relation = ?", [.text(complete)]
            ).isEmpty
            if isWanted, isComplete { return }
            try end(connection)
        }
        guard isWanted else { return }
        // PostgreSQL has them as texts.
        let type = connection.dialect == .sqlite ? "" : " TEXT"
        let columns = keyColumns.map { $0 + type }.joined(separator: ", ")
        try connection.executeOnce("CREATE TABLE \(log)(seq INTEGER PRIMARY KEY, relation TEXT NOT NULL, \(columns))")
        for table in try connection.movedTables(isLenient: true).values { try follow(table, connection) }
        try connection.execute("INSERT INTO \(log)(relation) VALUES (?)", [.text(complete)])
    }

    /// The tables of a class that was made meanwhile.
    static func follow(classId: Int64, _ connection: any StoreConnection) throws {
        guard try connection.hasTable(log) else { return }
        let tables = try connection.movedTables(isLenient: true)
        for name in ["o\(classId)", "p\(classId)"] {
            guard let table = tables[name] else { continue }
            try follow(table, connection)
        }
    }

    /// Notes that a class is gone with all its rows, whose number the next one may have.
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

    /// PostgreSQL's trigger goes with its function, which outlives its table.
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

    /// The key of a noted row as the values that its table has.
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
