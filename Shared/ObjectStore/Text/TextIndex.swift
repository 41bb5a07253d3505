import ParseProtocol

/// Full-text search over a class's text fields, with two FTS5 tables that the writer updates with the objects: `t<id>`
/// with the ends of words (`WordEnds`) finds candidates for literal `$regex` searches, `w<id>` with words answers
/// `$text`. Both are contentless (https://www.sqlite.org/fts5.html#contentless_tables): the document already contains
/// the text.
///
/// In PostgreSQL there is only `w<id>`: it has each field's words in an array `c0`, `c1` …, and the ends of words in
/// `terms`. A table listed in `storeIndexes` contains all objects.
enum TextIndex {
    /// Objects that are read per step when a class gets a text field.
    private static let rowsMax: Int64 = 200

    /// Whether the index has what this release searches.
    static func isComplete(_ info: ClassInfo, _ connection: any StoreConnection) throws -> Bool {
        guard !info.textFields.isEmpty else { return true }
        guard connection.dialect == .sqlite else { return try hasWords(info, connection) }
        let stored = try connection.rows("SELECT sql FROM sqlite_master WHERE name = ?", [.text("t\(info.id)")])
        return try stored.first?.text(0).contains("fts5(terms") == true
    }

    static func create(_ info: ClassInfo, _ connection: any StoreConnection) throws {
        guard !info.textFields.isEmpty else { return }
        let values = try info.textFields.map { try info.dialect.value(FieldPath($0), as: .text, in: "doc") }
            .joined(separator: ", ")
        if connection.dialect == .sqlite {
            let columns = wordColumns(info)
            // Candidates are checked, so the terms need no positions. The tokenizer splits as `WordEnds` does.
            try connection.executeOnce(
                """
                CREATE VIRTUAL TABLE w\(info.id) USING fts5(\(columns), content='', tokenize='unicode61');
                CREATE VIRTUAL TABLE t\(info.id) USING fts5(terms, content='', detail=none, tokenize='ascii');
                """)
        } else {
            try createWords(info, connection)
        }
        var last: Int64 = 0
        while true {
            let rows = try connection.rows(
                """
                SELECT id, \(values) FROM o\(info.id) WHERE id > \(info.dialect.parameter("?1", as: .integer)) \
                ORDER BY id LIMIT \(info.dialect.parameter("?2", as: .integer))
                """, [.int(last), .int(rowsMax)])
            for row in rows {
                last = try row.int(0)
                let texts = try info.textFields.indices.map { try row[$0 + 1] }
                try change(info, row: last, from: nil, to: texts, connection)
            }
            if rows.count < Int(rowsMax) { break }
        }
        try noteWords(info, connection)
    }

    static func drop(_ info: ClassInfo, _ connection: any StoreConnection) throws {
        if connection.dialect != .sqlite { try connection.forgetIndexes(of: "w\(info.id)") }
        for table in connection.dialect == .sqlite ? ["t", "w"] : ["w"] {
            try connection.executeOnce("DROP TABLE IF EXISTS \(table)\(info.id)")
        }
    }

    /// Updates the index after a change of one object; nil for an object that does not exist before or after.
    static func update(
        _ info: ClassInfo, row: Int64, from before: JSON?, to after: JSON?, _ connection: any StoreConnection
    ) throws {
        guard !info.textFields.isEmpty else { return }
        let old = before.map { document in info.textFields.map { text(document[$0]) } }
        let new = after.map { document in info.textFields.map { text(document[$0]) } }
        if old != new { try change(info, row: row, from: old, to: new, connection) }
    }

    /// - Parameters:
    ///   - old: the texts of the object's fields; nil for a new object.
    ///   - new: the same after the change; nil for a deleted object.
    private static func change(
        _ info: ClassInfo, row: Int64, from old: [SQLValue]?, to new: [SQLValue]?, _ connection: any StoreConnection
    ) throws {
        guard connection.dialect == .sqlite else { return try updateWords(info, row: row, to: new, connection) }
        let columns = wordColumns(info)
        let marks = Array(repeating: "?", count: info.textFields.count).joined(separator: ", ")
        func terms(_ texts: [SQLValue]) -> SQLValue { .text(WordEnds.terms(of: texts.map(\.textValue))) }
        if let old {
            // A contentless table must get the old text to delete a row.
            try connection.execute(
                "INSERT INTO w\(info.id)(w\(info.id), rowid, \(columns)) VALUES('delete', ?, \(marks))",
                [.int(row)] + old)
            try connection.execute(
                "INSERT INTO t\(info.id)(t\(info.id), rowid, terms) VALUES('delete', ?, ?)",
                [.int(row), terms(old)])
        }
        if let new {
            try connection.execute(
                "INSERT INTO w\(info.id)(rowid, \(columns)) VALUES(?, \(marks))", [.int(row)] + new)
            try connection.execute(
                "INSERT INTO t\(info.id)(rowid, terms) VALUES(?, ?)", [.int(row), terms(new)])
        }
    }

    private static func wordColumns(_ info: ClassInfo) -> String {
        info.textFields.indices.map { "c\($0)" }.joined(separator: ", ")
    }

    private static func text(_ value: JSON?) -> SQLValue { value?.stringValue.map(SQLValue.text) ?? .null }

    // MARK: Queries

    /// The literal that every match of a regular expression contains, if the pattern is only a literal: `\Q…\E` as SDKs
    /// write it, or a text without metacharacters. It may have anchors at the ends.
    static func literal(of pattern: String, options: String) -> String? {
        if options.contains("x") { return nil }
        // Scalars instead of characters: for PCRE a metacharacter followed by a combining mark is still a
        // metacharacter.
        var rest = Array(pattern.unicodeScalars)[...]
        if rest.starts(with: ["^"]) { rest = rest.dropFirst() }
        if rest.starts(with: [".", "*"]) { rest = rest.dropFirst(2) }
        if rest.last == "$", rest.dropLast().last != "\\" { rest = rest.dropLast() }
        if rest.suffix(2) == [".", "*"], rest.dropLast(2).last != "\\" { rest = rest.dropLast(2) }
        var text = String.UnicodeScalarView()
        while let next = rest.popFirst() {
            if next == "\\", rest.first == "Q" {
                rest = rest.dropFirst()
                while !rest.isEmpty, !rest.starts(with: ["\\", "E"]) { text.append(rest.removeFirst()) }
                rest = rest.dropFirst(2)
            } else if metacharacters.contains(next) {
                return nil
            } else {
                text.append(next)
            }
        }
        return String(text)
    }

    private static let metacharacters = Set(#"\^$.|?*+()[]{}"#.unicodeScalars)

    /// An FTS5 string: its content is always text, never syntax.
    static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\"", with: "\"\"").replacing("\0", with: " ") + "\""
    }
}
