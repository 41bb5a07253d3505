import ParseProtocol

/// Full-text search over a class's text fields, with two FTS5 tables that the writer updates with the objects: `t<id>`
/// with trigrams finds candidates for literal `$regex` searches, `w<id>` with words answers `$text`. Both are
/// contentless (https://www.sqlite.org/fts5.html#contentless_tables): the document already contains the text.
///
/// In PostgreSQL there is only `w<id>`: it has each field's words in an array `c0`, `c1` …, and its trigrams in another
/// array `t0`, `t1` …. A table listed in `storeIndexes` contains all objects.
enum TextIndex {
    static func create(_ info: ClassInfo, _ connection: any StoreConnection) throws {
        guard !info.textFields.isEmpty else { return }
        guard connection.dialect == .sqlite else { return try createWords(info, connection) }
        let columns = info.textFields.indices.map { "c\($0)" }.joined(separator: ", ")
        let values = try info.textFields.map { try info.dialect.value(FieldPath($0), as: .text, in: "doc") }
            .joined(separator: ", ")
        // Candidates are verified, so the trigrams need no positions. This halves the size and speeds up writes.
        for (table, options) in [("t", "tokenize='trigram', detail=column"), ("w", "tokenize='unicode61'")] {
            try connection.executeOnce(
                """
                CREATE VIRTUAL TABLE \(table)\(info.id) USING fts5(\(columns), content='', \(options));
                INSERT INTO \(table)\(info.id)(rowid, \(columns)) SELECT id, \(values) FROM o\(info.id);
                """)
        }
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
        guard old != new else { return }
        guard connection.dialect == .sqlite else { return try updateWords(info, row: row, to: new, connection) }
        let columns = info.textFields.indices.map { "c\($0)" }.joined(separator: ", ")
        let marks = Array(repeating: "?", count: info.textFields.count).joined(separator: ", ")
        for table in ["t\(info.id)", "w\(info.id)"] {
            if let old {
                // A contentless table must get the old text to delete a row.
                try connection.execute(
                    "INSERT INTO \(table)(\(table), rowid, \(columns)) VALUES('delete', ?, \(marks))", [.int(row)] + old
                )
            }
            if let new {
                try connection.execute(
                    "INSERT INTO \(table)(rowid, \(columns)) VALUES(?, \(marks))", [.int(row)] + new)
            }
        }
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
