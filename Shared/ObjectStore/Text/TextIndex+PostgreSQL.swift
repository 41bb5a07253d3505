import ParseProtocol

/// The words of texts and their ends in PostgreSQL. `WordSearch` and `WordEnds` split and fold them before they are
/// written, so no extension is needed.
extension TextIndex {
    /// The columns of the words of each field and of the ends of all words, their types, and the values of parameters.
    private static func columns(_ info: ClassInfo) -> [(name: String, type: String, value: String)] {
        info.textFields.indices.map { (name: "c\($0)", type: "text[]", value: "?::text[]") }
            + [(name: "terms", type: "tsvector", value: "array_to_tsvector(?::text[])")]
    }

    static func hasWords(_ info: ClassInfo, _ connection: any StoreConnection) throws -> Bool {
        try connection.indexColumns()["w\(info.id)"]?.first == columns(info).map(\.name)
    }

    static func createWords(_ info: ClassInfo, _ connection: any StoreConnection) throws {
        let columns = columns(info)
        // An interrupted start may have left the table.
        try connection.executeOnce("DROP TABLE IF EXISTS w\(info.id)")
        let declared = columns.map { "\($0.name) \($0.type)" }.joined(separator: ", ")
        try connection.executeOnce("CREATE TABLE w\(info.id)(id bigint PRIMARY KEY, \(declared))")
        for column in columns {
            try connection.executeOnce(
                "CREATE INDEX w\(info.id)\(column.name) ON w\(info.id) USING gin(\(column.name))")
        }
    }

    /// Lists the index as complete.
    static func noteWords(_ info: ClassInfo, _ connection: any StoreConnection) throws {
        guard let server = connection as? PostgreSQLStoreConnection else { return }
        try server.note("w\(info.id)", of: "w\(info.id)", columns(info).map(\.name))
    }

    /// - Parameter texts: the texts of the object's fields; nil for a deleted object.
    static func updateWords(
        _ info: ClassInfo, row: Int64, to texts: [SQLValue]?, _ connection: any StoreConnection
    ) throws {
        guard let texts else { return try connection.execute("DELETE FROM w\(info.id) WHERE id = ?", [.int(row)]) }
        let columns = columns(info)
        let changes = columns.map { "\($0.name) = excluded.\($0.name)" }.joined(separator: ", ")
        let words = texts.map { text in
            text.textValue.map { SQLValue.text(WordSearch.list(WordSearch.indexed($0))) } ?? .null
        }
        let terms = WordEnds.terms(of: texts.map(\.textValue), separator: "\",\"")
        try connection.execute(
            """
            INSERT INTO w\(info.id)(id, \(columns.map(\.name).joined(separator: ", "))) \
            VALUES(?, \(columns.map(\.value).joined(separator: ", "))) ON CONFLICT(id) DO UPDATE SET \(changes)
            """, [.int(row)] + words + [.text(terms.isEmpty ? "{}" : "{\"\(terms)\"}")])
    }
}
