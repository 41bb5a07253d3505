import ParseProtocol

/// The words of texts in PostgreSQL, split and folded by `WordSearch` before they are written.
extension TextIndex {
    /// Objects that are read at once when a class gets a field of texts.
    private static let rowsMax: Int64 = 200

    static func createWords(_ info: ClassInfo, _ connection: any StoreConnection) throws {
        let columns = info.textFields.indices.map { "c\($0)" }
        let declared = columns.map { $0 + " text[]" }.joined(separator: ", ")
        try connection.executeOnce("CREATE TABLE w\(info.id)(id bigint PRIMARY KEY, \(declared))")
        for column in columns {
            try connection.executeOnce("CREATE INDEX w\(info.id)\(column) ON w\(info.id) USING gin(\(column))")
        }
        let values = try info.textFields.map { field in
            "\(info.dialect.value(try FieldPath(field), in: "doc"))#>>'{}'"
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
            if rows.count < Int(rowsMax) { return }
        }
    }

    /// - Parameter texts: those of the object's fields; nil for one that is gone.
    static func updateWords(
        _ info: ClassInfo, row: Int64, to texts: [SQLValue]?, _ connection: any StoreConnection
    ) throws {
        guard let texts else { return try connection.execute("DELETE FROM w\(info.id) WHERE id = ?", [.int(row)]) }
        let columns = texts.indices.map { "c\($0)" }
        let marks = texts.map { _ in "?::text[]" }.joined(separator: ", ")
        let changes = columns.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        let words = texts.map { text in
            text.textValue.map { SQLValue.text(WordSearch.list(WordSearch.indexed($0))) } ?? .null
        }
        try connection.execute(
            """
            INSERT INTO w\(info.id)(id, \(columns.joined(separator: ", "))) VALUES(?, \(marks)) \
            ON CONFLICT(id) DO UPDATE SET \(changes)
            """, [.int(row)] + words)
    }
}
