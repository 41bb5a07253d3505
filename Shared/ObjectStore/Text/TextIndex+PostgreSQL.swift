import ParseProtocol

/// The words of texts and their ends in PostgreSQL. `WordSearch` and `WordEnds` split and fold them before they are
/// written, so no extension is needed.
extension TextIndex {
    /// The columns of the words of each field and of the ends of all words, their types, and the values of parameters.
    private static func columns(_ info: ClassInfo) -> [(name: String, type: String, value: String)] {
        info.textFields.indices.map { (name: "c\($0)", type: "text[]", value: "?::text[]") }
            + [(name: "terms", type: "tsvector", value: "array_to_tsvector(?::text[])")]
    }

    /// Stands before the columns of an index that does not have all objects.
    private static let building = "building"

    static func wordState(_ info: ClassInfo, _ connection: any StoreConnection) throws -> State {
        let listed = try connection.indexColumns()["w\(info.id)"]?.first ?? []
        let columns = columns(info).map(\.name)
        return listed == columns ? .complete : listed == [building] + columns ? .building : .missing
    }

    static func createWords(_ info: ClassInfo, _ connection: any StoreConnection) throws {
        let columns = columns(info)
        let declared = columns.map { "\($0.name) \($0.type)" }.joined(separator: ", ")
        try connection.executeOnce("CREATE TABLE w\(info.id)(id bigint PRIMARY KEY, \(declared))")
        for column in columns {
            try connection.executeOnce(
                "CREATE INDEX w\(info.id)\(column.name) ON w\(info.id) USING gin(\(column.name))")
        }
        try noteWords(info, isComplete: false, connection)
    }

    /// Lists the index.
    static func noteWords(_ info: ClassInfo, isComplete: Bool, _ connection: any StoreConnection) throws {
        guard let server = connection as? PostgreSQLStoreConnection else { return }
        try server.forgetIndexes(of: "w\(info.id)")
        try server.note(
            "w\(info.id)", of: "w\(info.id)", (isComplete ? [] : [building]) + columns(info).map(\.name))
    }

    /// - Parameters:
    ///   - isNew: whether the object enters the index. A change of another one finds no row while the index is built.
    ///   - texts: the texts of the object's fields; nil for a deleted object.
    static func updateWords(
        _ info: ClassInfo, row: Int64, isNew: Bool, to texts: [SQLValue]?, _ connection: any StoreConnection
    ) throws {
        guard let texts else { return try connection.execute("DELETE FROM w\(info.id) WHERE id = ?", [.int(row)]) }
        let columns = columns(info)
        let words = texts.map { text in
            text.textValue.map { SQLValue.text(WordSearch.list(WordSearch.indexed($0))) } ?? .null
        }
        let terms = WordEnds.terms(of: texts.map(\.textValue), separator: "\",\"")
        let values = words + [.text(terms.isEmpty ? "{}" : "{\"\(terms)\"}")]
        guard isNew else {
            let changes = columns.map { "\($0.name) = \($0.value)" }.joined(separator: ", ")
            return try connection.execute("UPDATE w\(info.id) SET \(changes) WHERE id = ?", values + [.int(row)])
        }
        let changes = columns.map { "\($0.name) = excluded.\($0.name)" }.joined(separator: ", ")
        try connection.execute(
            """
            INSERT INTO w\(info.id)(id, \(columns.map(\.name).joined(separator: ", "))) \
            VALUES(?, \(columns.map(\.value).joined(separator: ", "))) ON CONFLICT(id) DO UPDATE SET \(changes)
            """, [.int(row)] + values)
    }
}
