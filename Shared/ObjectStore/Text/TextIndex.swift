import ParseProtocol

/// Full-text search over a class's text fields, with two FTS5 tables that the writer updates with the objects: `t<id>`
/// with the ends of words (`WordEnds`) finds candidates for literal `$regex` searches, `w<id>` with words answers
/// `$text`. Both are contentless (https://www.sqlite.org/fts5.html#contentless_tables): the document already contains
/// the text.
///
/// In PostgreSQL there is only `w<id>`: it has each field's words in an array `c0`, `c1` …, and the ends of words in
/// `terms`.
///
/// An index begins empty. New objects enter it at once, and `extend` adds the others, the newest first. So it has every
/// object from its lowest row on and none before, and needs no other record of the progress.
enum TextIndex {
    enum State: Sendable {
        /// There is none, or one of another release.
        case missing
        /// Searches read all objects meanwhile.
        case building
        case complete
    }

    /// Objects that are read per step.
    private static let rowsMax = 50

    static func state(of info: ClassInfo, _ connection: any StoreConnection) throws -> State {
        guard !info.textFields.isEmpty else { return .complete }
        guard connection.dialect == .sqlite else { return try wordState(info, connection) }
        let stored = try connection.rows("SELECT sql FROM sqlite_master WHERE name = ?", [.text("t\(info.id)")])
        guard try stored.first?.text(0).contains("fts5(terms") == true else { return .missing }
        let missing = try connection.rows("SELECT 1 FROM o\(info.id) WHERE \(isMissing(info, connection)) LIMIT 1")
        return missing.isEmpty ? .complete : .building
    }

    /// The condition for an object's row that the index does not have.
    private static func isMissing(_ info: ClassInfo, _ connection: any StoreConnection) -> String {
        let table = connection.dialect == .sqlite ? "t\(info.id)_docsize" : "w\(info.id)"
        return "id < coalesce((SELECT min(id) FROM \(table)), \(Int64.max))"
    }

    /// Creates the index with all objects.
    static func create(_ info: ClassInfo, _ connection: any StoreConnection) throws {
        guard !info.textFields.isEmpty else { return }
        try begin(info, connection)
        while try extend(info, IndexEffort(), connection) > 0 {}
        try finish(info, connection)
    }

    /// Creates an empty index in place of the former one. It is complete at once if the class has no objects.
    static func begin(_ info: ClassInfo, _ connection: any StoreConnection) throws {
        try drop(info, connection)
        guard !info.textFields.isEmpty else { return }
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
    }

    /// Adds objects that the index does not have.
    /// - Returns: their number; 0 when the index has all.
    static func extend(
        _ info: ClassInfo, _ effort: IndexEffort, _ connection: any StoreConnection
    ) throws -> Int {
        let dialect = connection.dialect
        let values = try info.textFields.map { try dialect.value(FieldPath($0), as: .text, in: "doc") }
            .joined(separator: ", ")
        let rows = try connection.rows(
            """
            SELECT id, \(values) FROM o\(info.id) WHERE \(isMissing(info, connection)) \
            ORDER BY id DESC LIMIT \(dialect.parameter("?1", as: .integer))
            """, [.int(Int64(min(effort.rowsMax, rowsMax)))])
        let end = effort.clock() + effort.nanosecondsMax
        var added = 0
        for row in rows {
            let texts = try info.textFields.indices.map { try row[$0 + 1] }
            try change(info, row: row.int(0), from: nil, to: texts, connection)
            added += 1
            if effort.clock() >= end { break }
        }
        return added
    }

    /// Lists the index as complete, where its rows do not show it.
    static func finish(_ info: ClassInfo, _ connection: any StoreConnection) throws {
        try noteWords(info, isComplete: true, connection)
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
        guard connection.dialect == .sqlite else {
            return try updateWords(info, row: row, isNew: old == nil, to: new, connection)
        }
        if old != nil, try !has(row, of: info, connection) { return }
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

    /// Whether the index has an object. While it is built, it lacks earlier ones.
    private static func has(_ row: Int64, of info: ClassInfo, _ connection: any StoreConnection) throws -> Bool {
        try !connection.rows("SELECT 1 FROM t\(info.id)_docsize WHERE id = ?", [.int(row)]).isEmpty
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
