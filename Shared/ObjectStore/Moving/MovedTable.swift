/// A table of a move, in the same form for both engines: names are in lower case, which both accept in quotes.
struct MovedTable: Sendable, Hashable {
    struct Column: Sendable, Hashable {
        let name: String
        let type: Kind

        var quoted: String { "\"\(name)\"" }
    }

    /// The type of a column's values. A flag is 0 or 1 in SQLite.
    enum Kind: Sendable, Hashable { case int, real, text, blob, flag }

    let name: String
    let columns: [Column]
    /// The columns of the primary key, in its order; empty for a table without a key.
    let key: [Column]

    var quoted: String { "\"\(name)\"" }

    /// Whether a table is moved. Excludes an engine's internal tables, and data derived from objects (text, geo and
    /// automatic indexes).
    static func isMoved(_ name: String) -> Bool {
        guard !own.contains(name), !name.hasPrefix("sqlite_"), !name.hasPrefix("moving") else { return false }
        return name.wholeMatch(of: /[atwg][0-9]+(_[a-z]+)?/) == nil
    }

    /// `live…` is the log of changes of several writers (`LiveLog`), which SQLite does not have. The last three are of
    /// schemas that earlier releases wrote with `SATCHEL_POSTGRESQL=plain`.
    private static let own: Set<String> = [
        StoreMigration.migrationTable, "storeidentity", "storestate", "storeindexes", "automaticindexes", "begins",
        "liveclasses", "livechanges", "livetaker", "storelease", "storeprogress", "classtables",
    ]

    /// The number of the class whose objects or ACLs the table contains; nil for other tables.
    var classId: Int64? {
        guard let first = name.first, first == "o" || first == "p" else { return nil }
        return Int64(name.dropFirst())
    }

    /// Whether the table contains a class's objects.
    var hasObjects: Bool { classId != nil && name.hasPrefix("o") }

    /// This table with its columns in the order of `other`; nil if the columns or keys differ.
    func arranged(as other: MovedTable) -> MovedTable? {
        let own = Dictionary(uniqueKeysWithValues: columns.map { ($0.name, $0) })
        let columns = other.columns.compactMap { own[$0.name] }
        guard columns.count == other.columns.count, columns.count == self.columns.count,
            key.map(\.name) == other.key.map(\.name)
        else { return nil }
        return MovedTable(name: name, columns: columns, key: key)
    }

    /// The key of a row.
    func key(of row: [SQLValue]) -> [SQLValue] {
        key.compactMap { part in columns.firstIndex { $0.name == part.name }.map { row[$0] } }
    }

    /// The value of a column in a row; NULL for an unknown column.
    func value(_ column: String, of row: [SQLValue]) -> SQLValue {
        columns.firstIndex { $0.name == column }.map { row[$0] } ?? .null
    }
}

extension StoreConnection {
    /// The tables to move, by name.
    /// - Parameter isLenient: skips tables with a column of an unknown type.
    /// - Throws: `MoveRefused` for such a table otherwise.
    func movedTables(isLenient: Bool = false) throws -> [String: MovedTable] {
        var columns: [String: [(column: MovedTable.Column, place: Int64)]] = [:]
        var unknown: Set<String> = []
        for row in try rows(dialect == .sqlite ? MovedTables.sqlite : MovedTables.postgresql) {
            let table = try row.text(0).lowercased()
            guard MovedTable.isMoved(table) else { continue }
            guard let kind = try MovedTable.Kind(declared: row.text(2)) else {
                unknown.insert(table)
                if isLenient { continue }
                throw MoveRefused("The table \(table) has a column of the type \(try row.text(2)), which is not moved.")
            }
            columns[table, default: []].append(
                (MovedTable.Column(name: try row.text(1).lowercased(), type: kind), try row.int(3)))
        }
        return columns.filter { !unknown.contains($0.key) }.reduce(into: [:]) { tables, entry in
            let key = entry.value.filter { $0.place > 0 }.sorted { $0.place < $1.place }.map(\.column)
            tables[entry.key] = MovedTable(name: entry.key, columns: entry.value.map(\.column), key: key)
        }
    }
}

/// The columns of all tables: table, column, type, and the position in the primary key from 1, or 0.
private enum MovedTables {
    static let sqlite = """
        SELECT m.name, c.name, c.type, c.pk FROM sqlite_master AS m, pragma_table_info(m.name) AS c
        WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND m.name NOT GLOB '[twg][0-9]*_*'
        ORDER BY m.name, c.cid
        """

    /// Excludes the second form of documents (`jsonb`), which is derived from the first.
    static let postgresql = """
        SELECT c.table_name, c.column_name, c.data_type, coalesce(k.ordinal_position, 0)::bigint
        FROM information_schema.columns AS c
        JOIN information_schema.tables AS t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
            AND t.table_type = 'BASE TABLE'
        LEFT JOIN information_schema.table_constraints AS p ON p.table_schema = c.table_schema
            AND p.table_name = c.table_name AND p.constraint_type = 'PRIMARY KEY'
        LEFT JOIN information_schema.key_column_usage AS k ON k.constraint_schema = p.constraint_schema
            AND k.constraint_name = p.constraint_name AND k.table_name = c.table_name
            AND k.column_name = c.column_name
        WHERE c.table_schema = current_schema() AND c.data_type <> 'jsonb'
        ORDER BY c.table_name, c.ordinal_position
        """
}

extension MovedTable.Kind {
    /// - Parameter declared: the engine's name of the type.
    fileprivate init?(declared: String) {
        switch declared.lowercased() {
        case "integer", "bigint", "int": self = .int
        case "real", "double precision": self = .real
        case "text": self = .text
        case "blob", "bytea": self = .blob
        case "boolean": self = .flag
        default: return nil
        }
    }
}

/// Why a move is refused or aborted, for the operator. It may name tables and keys but contains no other data.
public struct MoveRefused: Error, Sendable, Equatable, CustomStringConvertible {
    /// The obstacle.
    public let description: String

    init(_ description: String) { self.description = description }
}
