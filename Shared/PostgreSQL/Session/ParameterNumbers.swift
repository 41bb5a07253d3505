/// The numbers of the parameters (`$1`) in an SQL text, outside of literals, quoted names and comments
/// (https://www.postgresql.org/docs/current/sql-syntax-lexical.html).
package struct ParameterNumbers {
    /// PostgreSQL's protocol counts parameters in 16 bits.
    static let max = 65_535

    package private(set) var used: Set<Int> = []
    private let sql: [UInt8]
    private var position = 0

    /// The largest number; 0 for a text without parameters.
    package var count: Int { used.max() ?? 0 }

    package init(of text: String) {
        sql = Array(text.utf8)
        while position < sql.count { pass() }
    }

    private func byte(_ offset: Int = 0) -> UInt8? {
        sql.indices.contains(position + offset) ? sql[position + offset] : nil
    }

    private mutating func pass() {
        switch (sql[position], byte(1)) {
        case (UInt8(ascii: "'"), _): passQuoted(UInt8(ascii: "'"), escapes: hasEscapes)
        case (UInt8(ascii: "\""), _): passQuoted(UInt8(ascii: "\""), escapes: false)
        case (UInt8(ascii: "-"), UInt8(ascii: "-")): passLine()
        case (UInt8(ascii: "/"), UInt8(ascii: "*")): passComment()
        case (UInt8(ascii: "$"), _): passDollar()
        case (let first, _) where Self.isOfName(first): passName()
        default: position += 1
        }
    }

    /// Whether the literal that starts here is an escape string, `E'…'`.
    private var hasEscapes: Bool {
        guard let before = byte(-1), before | 0x20 == UInt8(ascii: "e") else { return false }
        return byte(-2).map { !Self.isOfName($0) } ?? true
    }

    /// A doubled quote is read as the end of one literal and the start of the next.
    private mutating func passQuoted(_ quote: UInt8, escapes: Bool) {
        position += 1
        while let next = byte(), next != quote { position += escapes && next == UInt8(ascii: "\\") ? 2 : 1 }
        position += 1
    }

    private mutating func passLine() {
        while let next = byte(), next != 10, next != 13 { position += 1 }
    }

    private mutating func passComment() {
        var depth = 0
        repeat {
            switch (byte(), byte(1)) {
            case (UInt8(ascii: "/"), UInt8(ascii: "*")): (depth, position) = (depth + 1, position + 2)
            case (UInt8(ascii: "*"), UInt8(ascii: "/")): (depth, position) = (depth - 1, position + 2)
            default: position += 1
            }
        } while depth > 0 && position < sql.count
    }

    /// Names and numbers; a name may contain `$`.
    private mutating func passName() {
        while let next = byte(), Self.isOfName(next) || next == UInt8(ascii: "$") { position += 1 }
    }

    /// A parameter such as `$1`, or a literal in `$$` or `$tag$`.
    private mutating func passDollar() {
        let start = position
        position += 1
        while let next = byte(), Self.isOfName(next) { position += 1 }
        let word = sql[(start + 1)..<position]
        if let first = word.first, Self.isDigit(first) {
            let digits = word.prefix(while: Self.isDigit)
            if let number = Int(String(decoding: digits, as: UTF8.self)), (1...Self.max).contains(number) {
                used.insert(number)
            }
        } else if byte() == UInt8(ascii: "$") {
            position += 1
            passDollarLiteral(Array(sql[start..<position]))
        }
    }

    private mutating func passDollarLiteral(_ tag: [UInt8]) {
        while position < sql.count, !sql[position...].starts(with: tag) { position += 1 }
        position += tag.count
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

    private static func isOfName(_ byte: UInt8) -> Bool {
        isDigit(byte) || (97...122).contains(byte | 0x20) || byte == UInt8(ascii: "_") || byte >= 0x80
    }
}
