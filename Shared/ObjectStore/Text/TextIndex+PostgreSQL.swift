import ParseProtocol

/// The words and trigrams of texts in PostgreSQL. `WordSearch` and `Trigrams` split and fold them before they are
/// written.
extension TextIndex {
    /// Objects that are read per step when a class gets a text field.
    private static let rowsMax: Int64 = 200

    /// The columns of each text field, and their types.
    private static func columns(_ info: ClassInfo) -> [(name: String, type: String)] {
        info.textFields.indices.flatMap { [("c\($0)", "text[]"), ("t\($0)", "int[]")] }
    }

    /// Whether the index has every column that this release searches.
    static func isComplete(_ info: ClassInfo, _ connection: any StoreConnection) throws -> Bool {
        guard connection.dialect != .sqlite, !info.textFields.isEmpty else { return true }
        let listed = try connection.indexColumns()["w\(info.id)"]?.first
        return listed == columns(info).map(\.name)
    }

    static func createWords(_ info: ClassInfo, _ connection: any StoreConnection) throws {
        guard let server = connection as? PostgreSQLStoreConnection else { return }
        let columns = columns(info)
        // An interrupted start may have left the table.
        try connection.executeOnce("DROP TABLE IF EXISTS w\(info.id)")
        let declared = columns.map { "\($0.name) \($0.type)" }.joined(separator: ", ")
        try connection.executeOnce("CREATE TABLE w\(info.id)(id bigint PRIMARY KEY, \(declared))")
        for (column, _) in columns {
            try connection.executeOnce("CREATE INDEX w\(info.id)\(column) ON w\(info.id) USING gin(\(column))")
        }
        let values = try info.textFields.map { field in
            info.dialect.value(try FieldPath(field), as: .text, in: "doc")
        }.joined(separator: ", ")
        var last: Int64 = 0
        while true {
            let rows = try connection.rows(
                "SELECT id, \(values) FROM o\(info.id) WHERE id > ?::bigint ORDER BY id LIMIT ?::bigint",
                [.int(last), .int(rowsMax)])
            for row in rows {
                last = try row.int(0)
                let texts = try info.textFields.indices.map { try row[$0 + 1] }
                if texts.contains(where: { !$0.isNull }) {
                    try updateWords(info, row: last, to: texts, connection)
                }
            }
            if rows.count < Int(rowsMax) { break }
        }
        try server.note("w\(info.id)", of: "w\(info.id)", columns.map(\.name))
    }

    /// - Parameter texts: the texts of the object's fields; nil for a deleted object.
    static func updateWords(
        _ info: ClassInfo, row: Int64, to texts: [SQLValue]?, _ connection: any StoreConnection
    ) throws {
        guard let texts else { return try connection.execute("DELETE FROM w\(info.id) WHERE id = ?", [.int(row)]) }
        let columns = columns(info)
        let marks = columns.map { "?::\($0.type)" }.joined(separator: ", ")
        let changes = columns.map { "\($0.name) = excluded.\($0.name)" }.joined(separator: ", ")
        let parts = texts.flatMap { text -> [SQLValue] in
            guard let text = text.textValue else { return [.null, .null] }
            let words = WordSearch.list(WordSearch.indexed(text))
            return [.text(words), .text(Trigrams.list(Trigrams.numbers(of: text)))]
        }
        try connection.execute(
            """
            INSERT INTO w\(info.id)(id, \(columns.map(\.name).joined(separator: ", "))) VALUES(?, \(marks)) \
            ON CONFLICT(id) DO UPDATE SET \(changes)
            """, [.int(row)] + parts)
    }
}
