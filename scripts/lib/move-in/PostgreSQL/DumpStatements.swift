/// A table of a database.
struct TableName: Hashable, Sendable {
    /// Empty for a name without schema, in dumps of old releases.
    var schema: String
    var name: String
}

/// The statements of a dump that define tables or hold rows. After a `rows` statement, `row` or `skipRows` takes them.
final class DumpStatements {
    enum Statement {
        case table(TableName, [StoredColumn])
        /// - Parameter columns: nil for the table's own.
        case rows(TableName, columns: [String]?)
    }

    /// A row as it is in the dump.
    struct Row {
        let offset: Int
        /// The values' texts, nil for NULL.
        let values: Result<[[UInt8]?], RowProblem>
    }

    private enum Mode {
        case none, copy, insert
    }

    let text: DumpText
    /// Where the last statement begins.
    private(set) var start = 0
    private var mode = Mode.none

    private static let tooLong = RowProblem("It has more than \(DumpText.valueBytesMax >> 20) MB.")

    init(_ text: DumpText) { self.text = text }

    /// - Returns: nil at the end of the text.
    /// - Throws: `MoveInError` for a statement that is cut off or that pg_dump does not write.
    func next() throws -> Statement? {
        while true {
            try text.skipSpace()
            start = text.offset
            guard let token = try text.token(keeps: false) else { return nil }
            switch token {
            case .symbol(UInt8(ascii: ";")): continue
            // A command of psql.
            case .symbol(UInt8(ascii: "\\")): try text.skipLine()
            case .word("create"):
                if let table = try createTable() { return table }
            case .word("copy"): return try copy()
            case .word("insert"):
                if let rows = try insert() { return rows }
            case .word("set"): try set()
            default: try skip(from: token)
            }
        }
    }

    private func strange(_ what: String) -> MoveInError {
        MoveInError(text.source.place(start), "\(what) is not in the form that pg_dump writes.")
    }

    private func token(keeps: Bool = true) throws -> SQLToken {
        guard let token = try text.token(keeps: keeps) else { throw text.truncated() }
        return token
    }

    /// Skips the rest of a statement.
    private func skip(from first: SQLToken) throws {
        var token = first
        // Statements within the body of a function (`BEGIN ATOMIC … END`) end in semicolons too.
        var depth = 0
        while token != .sign(";") || depth > 0 {
            switch token {
            case .word("atomic"): depth += 1
            case .word("case") where depth > 0: depth += 1
            case .word("end") where depth > 0: depth -= 1
            default: break
            }
            token = try self.token(keeps: false)
        }
    }

    private func set() throws {
        let setting = try token()
        var value = try token()
        if value == .sign("=") || value == .word("to") { value = try token() }
        switch (setting, value) {
        case (.word("standard_conforming_strings"), .word(let word)): text.escapes = word == "off"
        case (.word("client_encoding"), .string(let encoding)):
            let encoding = String(decoding: encoding, as: UTF8.self)
            guard ["UTF8", "UNICODE", "SQL_ASCII"].contains(encoding.uppercased()) else {
                throw MoveInError(
                    text.source.place(start), "The dump is in \(encoding). Dump with pg_dump --encoding=UTF8.")
            }
        default: break
        }
        try skip(from: value)
    }

    // MARK: - Tables

    private static let kinds: Set = ["unlogged", "foreign", "global", "local", "temporary", "temp"]
    private static let constraints: Set = ["constraint", "primary", "unique", "check", "foreign", "like"]
    private static let typeEnds: Set = [
        "not", "null", "default", "collate", "generated", "constraint", "primary", "unique", "references", "check",
        "storage", "compression",
    ]

    private func createTable() throws -> Statement? {
        var token = try token()
        while case .word(let word) = token, Self.kinds.contains(word) { token = try self.token() }
        guard token == .word("table") else {
            try skip(from: token)
            return nil
        }
        token = try self.token()
        if token == .word("if") {
            _ = try (self.token(), self.token())
            token = try self.token()
        }
        let (name, next) = try name(from: token)
        // A partition has no list of columns.
        guard next == .sign("(") else {
            try skip(from: next)
            return nil
        }
        var columns: [StoredColumn] = []
        while try column(into: &columns) {}
        try skip(from: try self.token())
        return .table(name, columns)
    }

    /// - Returns: false after the last column.
    private func column(into columns: inout [StoredColumn]) throws -> Bool {
        let first = try token()
        var type = ""
        var isTyping = true
        var depth = 0
        let second = try first == .sign(")") ? first : self.token()
        var token = second
        while depth > 0 || (token != .sign(",") && token != .sign(")")) {
            switch token {
            case .symbol(UInt8(ascii: "(")): depth += 1
            case .symbol(UInt8(ascii: ")")): depth -= 1
            case .word(let word) where depth == 0:
                isTyping = isTyping && !Self.typeEnds.contains(word)
                if isTyping { type += type.isEmpty ? word : " \(word)" }
            case .symbol(UInt8(ascii: ";")): throw strange("A table's definition")
            case .symbol(let sign) where isTyping && depth == 0: type += String(Character(Unicode.Scalar(sign)))
            default: break
            }
            token = try self.token(keeps: false)
        }
        switch first {
        // pg_dump does not quote a column of this name.
        case .word("exclude") where second == .word("using") || second == .sign("("): break
        case .word(let word) where Self.constraints.contains(word): break
        case .word(let name), .name(let name): columns.append(StoredColumn(name: name, type: type))
        default: break
        }
        return token == .sign(",")
    }

    /// A name, perhaps with its schema, and the token after it.
    private func name(from first: SQLToken) throws -> (TableName, SQLToken) {
        guard let name = first.identifier else { throw strange("A table's name") }
        let next = try token()
        guard next == .sign(".") else { return (TableName(schema: "", name: name), next) }
        guard let second = try token().identifier else { throw strange("A table's name") }
        return (TableName(schema: name, name: second), try token())
    }

    // MARK: - Rows

    /// The names between parentheses, of which the first was taken, and the token after them.
    private func columnNames() throws -> (names: [String], next: SQLToken) {
        var names: [String] = []
        while true {
            guard let name = try token().identifier else { throw strange("A list of columns") }
            names.append(name)
            switch try token() {
            case .symbol(UInt8(ascii: ",")): continue
            case .symbol(UInt8(ascii: ")")): return (names, try token())
            default: throw strange("A list of columns")
            }
        }
    }

    private func copy() throws -> Statement {
        let (table, first) = try name(from: try token())
        let list = try first == .sign("(") ? columnNames() : nil
        guard list?.next ?? first == .word("from"), try token() == .word("stdin") else {
            throw strange("A COPY statement")
        }
        try skip(from: try token(keeps: false))
        try text.skipLine()
        mode = .copy
        text.hasEnded = false
        return .rows(table, columns: list?.names)
    }

    /// - Returns: nil for a row of a table without columns.
    private func insert() throws -> Statement? {
        guard try token() == .word("into") else { throw strange("An INSERT statement") }
        let (table, first) = try name(from: try token())
        let list = try first == .sign("(") ? columnNames() : nil
        var last = list?.next ?? first
        if last == .word("overriding") {
            _ = try (token(), token())
            last = try token()
        }
        if last == .word("default") {
            try skip(from: last)
            return nil
        }
        guard last == .word("values") else { throw strange("An INSERT statement") }
        mode = .insert
        text.hasEnded = false
        return .rows(table, columns: list?.names)
    }

    /// Skips the rows of the statement.
    /// - Returns: their number.
    func skipRows() throws -> Int {
        var count = 0
        switch mode {
        case .none: return 0
        case .copy: while try copyLine() != nil { count += 1 }
        case .insert:
            var depth = 0
            var token = try token(keeps: false)
            while token != .sign(";") || depth > 0 {
                if token == .sign("(") {
                    count += depth == 0 ? 1 : 0
                    depth += 1
                } else if token == .sign(")") {
                    depth -= 1
                }
                token = try self.token(keeps: false)
            }
        }
        mode = .none
        return count
    }

    /// - Returns: nil after the last row of the statement.
    func row() throws -> Row? {
        switch mode {
        case .none: return nil
        case .copy:
            let offset = text.offset
            if let line = try copyLine() {
                let isTooLong = line.count > DumpText.valueBytesMax
                return Row(offset: offset, values: isTooLong ? .failure(Self.tooLong) : .success(Self.values(line)))
            }
        case .insert:
            var token = try token()
            if token == .sign(",") { token = try self.token() }
            if token == .sign("(") { return try tuple(at: text.offset - 1) }
            guard token == .sign(";") || token == .word("on") else { throw strange("An INSERT statement") }
            try skip(from: token)
        }
        mode = .none
        return nil
    }

    /// Nil at the line `\.`.
    private func copyLine() throws -> [UInt8]? {
        guard let line = try text.line() else { throw text.truncated() }
        return line.elementsEqual(#"\."#.utf8) ? nil : line
    }

    /// The values of a line of COPY's text format (https://www.postgresql.org/docs/current/sql-copy.html).
    private static func values(_ line: [UInt8]) -> [[UInt8]?] {
        line.split(separator: 9, omittingEmptySubsequences: false).map { field in
            field.elementsEqual(#"\N"#.utf8) ? nil : unescaped(field)
        }
    }

    private static func unescaped(_ field: ArraySlice<UInt8>) -> [UInt8] {
        guard field.contains(UInt8(ascii: "\\")) else { return Array(field) }
        var output: [UInt8] = []
        output.reserveCapacity(field.count)
        var rest = field
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let escape = rest.popFirst() else {
                output.append(byte)
                continue
            }
            switch escape {
            case UInt8(ascii: "b"): output.append(0x08)
            case UInt8(ascii: "f"): output.append(0x0C)
            case UInt8(ascii: "n"): output.append(0x0A)
            case UInt8(ascii: "r"): output.append(0x0D)
            case UInt8(ascii: "t"): output.append(0x09)
            case UInt8(ascii: "v"): output.append(0x0B)
            case UInt8(ascii: "0")...UInt8(ascii: "7"):
                let more = rest.prefix(2).prefix { (UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) }
                rest = rest.dropFirst(more.count)
                output.append(more.reduce(escape & 7) { $0 << 3 | $1 & 7 })
            case UInt8(ascii: "x"):
                let digits = rest.prefix(2).prefix { Hexadecimal.value($0) != nil }
                rest = rest.dropFirst(digits.count)
                output.append(
                    digits.isEmpty ? escape : digits.reduce(0) { $0 << 4 | (Hexadecimal.value($1) ?? 0) })
            default: output.append(escape)
            }
        }
        return output
    }

    private enum Hexadecimal {
        static func value(_ digit: UInt8) -> UInt8? {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
            default: nil
            }
        }
    }

    /// A row of an INSERT, after its opening parenthesis.
    private func tuple(at offset: Int) throws -> Row {
        var values: [[UInt8]?] = []
        var problem: RowProblem?
        var size = 0
        while true {
            var value: [UInt8]?
            var token = try token(keeps: problem == nil)
            switch token {
            case .string(let bytes): value = bytes
            case .number(let number): value = Array(number.utf8)
            case .word("null"): value = nil
            case .word("true"), .word("false"): value = Array(token == .word("true") ? "t".utf8 : "f".utf8)
            case .symbol(UInt8(ascii: "-")):
                token = try self.token()
                if case .number(let number) = token {
                    value = Array("-\(number)".utf8)
                } else {
                    problem = problem ?? RowProblem("It has an expression instead of a value.")
                }
            default: problem = problem ?? RowProblem("It has an expression instead of a value.")
            }
            size += value?.count ?? 0
            if size > DumpText.valueBytesMax { problem = problem ?? Self.tooLong }
            if problem == nil { values.append(value) } else { values = [] }
            if try !valueEnd(after: token, &problem) { break }
        }
        if let problem { return Row(offset: offset, values: .failure(problem)) }
        return Row(offset: offset, values: .success(values))
    }

    /// Skips a cast after a value.
    /// - Returns: whether another value follows.
    private func valueEnd(after last: SQLToken, _ problem: inout RowProblem?) throws -> Bool {
        var depth = last == .sign("(") ? 1 : 0
        var isCast = false
        if last == .sign(")") || last == .sign(",") { return last == .sign(",") }
        while true {
            let token = try token(keeps: false)
            switch token {
            case .symbol(UInt8(ascii: ",")) where depth == 0: return true
            case .symbol(UInt8(ascii: ")")) where depth == 0: return false
            case .symbol(UInt8(ascii: "(")): depth += 1
            case .symbol(UInt8(ascii: ")")): depth -= 1
            case .symbol(UInt8(ascii: ";")): throw strange("An INSERT statement")
            case .symbol(UInt8(ascii: ":")): isCast = true
            case .word, .name, .number, .symbol(UInt8(ascii: ".")), .symbol(UInt8(ascii: "[")),
                .symbol(UInt8(ascii: "]")):
                break
            default: isCast = false
            }
            if !isCast { problem = problem ?? RowProblem("It has an expression instead of a value.") }
        }
    }
}
