/// A word of SQL.
enum SQLToken: Equatable {
    /// An identifier or key word, in lower case.
    case word(String)
    /// A quoted identifier.
    case name(String)
    /// Never cut off.
    case number(String)
    /// A text without its quotes; cut off after `DumpText.valueBytesMax` bytes.
    case string([UInt8])
    case symbol(UInt8)

    static func sign(_ sign: Unicode.Scalar) -> SQLToken { .symbol(UInt8(ascii: sign)) }

    var identifier: String? {
        switch self {
        case .word(let name), .name(let name): name
        default: nil
        }
    }
}

/// A dump's text, read forwards. Holds one chunk of it.
final class DumpText {
    /// Limit of one value and of one row. Longer ones are skipped: Satchel stores no such object.
    static let valueBytesMax = 16 << 20
    private static let numberBytesMax = 400
    private static let end = Array("-- PostgreSQL database dump complete".utf8)

    let source: DumpSource
    private let bytes: any DumpBytes
    private var chunk: [UInt8] = []
    private var position = 0
    private var chunkStart: Int
    /// Whether a backslash in a text is an escape (`standard_conforming_strings = off`).
    var escapes: Bool
    /// Whether the last comment was pg_dump's last line.
    var hasEnded = false

    init(_ source: DumpSource, from offset: Int = 0, escapes: Bool = false, table: TableName? = nil) throws {
        self.source = source
        self.escapes = escapes
        bytes = try source.bytes(from: offset, table: table)
        chunkStart = offset
    }

    init(_ source: DumpSource, bytes: any DumpBytes) {
        self.source = source
        self.bytes = bytes
        escapes = false
        chunkStart = 0
    }

    var offset: Int { chunkStart + position }

    func truncated() -> MoveInError {
        MoveInError(source.place(offset), "The dump ends here, before its last line: it is truncated.")
    }

    func peek() throws -> UInt8? {
        if position == chunk.count {
            chunkStart += chunk.count
            position = 0
            chunk = []
            chunk = try bytes.next()
            if chunk.isEmpty { return nil }
        }
        return chunk[position]
    }

    /// Takes the byte that `peek` returned.
    private func advance() { position += 1 }

    /// Takes the bytes before the next of two bytes, and that byte.
    /// - Parameter kept: receives the bytes, at most one more than `valueBytesMax`; nil to skip them.
    /// - Returns: the byte; nil at the end of the text.
    private func take(to one: UInt8, or other: UInt8, into kept: inout [UInt8]?) throws -> UInt8? {
        while try peek() != nil {
            let found = chunk[position...].firstIndex { $0 == one || $0 == other }
            let end = found ?? chunk.count
            if let count = kept?.count, count <= Self.valueBytesMax {
                kept?.append(contentsOf: chunk[position..<end].prefix(Self.valueBytesMax + 1 - count))
            }
            position = end
            guard let found else { continue }
            position += 1
            return chunk[found]
        }
        return nil
    }

    // MARK: - Lines

    /// The rest of the line, cut off after `valueBytesMax` bytes; nil at the end of the text without a line feed.
    func line() throws -> [UInt8]? {
        var line: [UInt8]? = []
        return try take(to: 10, or: 10, into: &line) == nil ? nil : line
    }

    func skipLine() throws {
        var nothing: [UInt8]?
        _ = try take(to: 10, or: 10, into: &nothing)
    }

    // MARK: - Words

    /// Skips space and comments.
    func skipSpace() throws {
        while let byte = try peek() {
            switch byte {
            case 0x20, 0x09...0x0D: advance()
            case UInt8(ascii: "-"):
                guard try skipComment() else { return }
            default: return
            }
        }
    }

    /// - Returns: false when the hyphen at this place begins no comment; it is then kept for `token`.
    private func skipComment() throws -> Bool {
        advance()
        guard try peek() == UInt8(ascii: "-") else {
            hasHyphen = true
            return false
        }
        var line: [UInt8]? = [UInt8(ascii: "-")]
        let ending = try take(to: 10, or: 10, into: &line)
        if line == Self.end, ending != nil { hasEnded = true }
        return true
    }

    /// Whether a hyphen was taken that is a sign.
    private var hasHyphen = false

    /// - Parameter keeps: false for a caller that skips texts.
    /// - Returns: nil at the end of the text.
    /// - Throws: `MoveInError` for a text that ends within a word.
    func token(keeps: Bool = true) throws -> SQLToken? {
        try skipSpace()
        if hasHyphen {
            hasHyphen = false
            return .sign("-")
        }
        guard let byte = try peek() else { return nil }
        switch byte {
        case UInt8(ascii: "'"):
            advance()
            return .string(try quoted(escapes: escapes, keeps: keeps))
        case UInt8(ascii: "\""):
            advance()
            return .name(try quotedName())
        case UInt8(ascii: "$"):
            advance()
            return try dollarQuoted()
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        case _ where Self.isLetter(byte):
            let word = try run(while: { Self.isLetter($0) || Self.isDigit($0) || $0 == UInt8(ascii: "$") }).lowercased()
            guard word == "e", try peek() == UInt8(ascii: "'") else { return .word(word) }
            advance()
            return .string(try quoted(escapes: true, keeps: keeps))
        default:
            advance()
            return .symbol(byte)
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_") || byte >= 0x80
    }

    private func run(countMax: Int = StoredName.bytesMax, while isPart: (UInt8) -> Bool) throws -> String {
        var run: [UInt8] = []
        while let byte = try peek(), isPart(byte) {
            if run.count < countMax { run.append(byte) }
            advance()
        }
        return String(decoding: run, as: UTF8.self)
    }

    private func number() throws -> SQLToken {
        var last: UInt8 = 0
        let text = try run(countMax: Self.numberBytesMax) { byte in
            defer { last = byte }
            return Self.isDigit(byte) || byte == UInt8(ascii: ".") || Self.isLetter(byte)
                || (last | 0x20 == UInt8(ascii: "e") && (byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")))
        }
        return text.utf8.count < Self.numberBytesMax ? .number(text) : .word(text)
    }

    private func quotedName() throws -> String {
        var name: [UInt8]? = []
        let quote = UInt8(ascii: "\"")
        while true {
            guard try take(to: quote, or: quote, into: &name) != nil else { throw truncated() }
            guard try peek() == quote else { break }
            advance()
            name?.append(quote)
        }
        return String(decoding: (name ?? []).prefix(StoredName.bytesMax), as: UTF8.self)
    }

    private func quoted(escapes: Bool, keeps: Bool) throws -> [UInt8] {
        var text: [UInt8]? = keeps ? [] : nil
        let quote = UInt8(ascii: "'")
        let backslash = UInt8(ascii: "\\")
        while true {
            guard let end = try take(to: quote, or: escapes ? backslash : quote, into: &text) else { throw truncated() }
            if end == backslash {
                let escaped = try escapedByte()
                if let count = text?.count, count <= Self.valueBytesMax { text?.append(contentsOf: escaped) }
            } else if try peek() == quote {
                advance()
                if let count = text?.count, count <= Self.valueBytesMax { text?.append(quote) }
            } else {
                return text ?? []
            }
        }
    }

    /// The bytes for the escape after a backslash
    /// (https://www.postgresql.org/docs/current/sql-syntax-lexical.html#SQL-SYNTAX-STRINGS-ESCAPE).
    private func escapedByte() throws -> [UInt8] {
        guard let byte = try peek() else { throw truncated() }
        advance()
        switch byte {
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "0")...UInt8(ascii: "7"):
            let value = try digits(2, radix: 8, first: UInt32(byte - UInt8(ascii: "0")))
            return [UInt8(truncatingIfNeeded: value.number)]
        case UInt8(ascii: "x"):
            let value = try digits(2, radix: 16)
            return value.count == 0 ? [byte] : [UInt8(truncatingIfNeeded: value.number)]
        case UInt8(ascii: "u"), UInt8(ascii: "U"):
            let value = try digits(byte == UInt8(ascii: "u") ? 4 : 8, radix: 16)
            return Array(String(Character(Unicode.Scalar(value.number) ?? "\u{FFFD}")).utf8)
        default: return [byte]
        }
    }

    /// At most `countMax` digits.
    private func digits(_ countMax: Int, radix: Int, first: UInt32 = 0) throws -> (number: UInt32, count: Int) {
        var number = first
        var count = 0
        while count < countMax, let byte = try peek(),
            let digit = Character(Unicode.Scalar(byte)).hexDigitValue, digit < radix, byte < 0x80
        {
            number = number &* UInt32(radix) &+ UInt32(digit)
            count += 1
            advance()
        }
        return (number, count)
    }

    /// A text in dollar quotes, such as a function's body; it is skipped.
    private func dollarQuoted() throws -> SQLToken {
        func isTag(_ byte: UInt8) -> Bool { Self.isLetter(byte) || Self.isDigit(byte) }
        let dollar = UInt8(ascii: "$")
        let tag = try run(while: isTag)
        // `$1` is a parameter.
        guard try peek() == dollar, !(tag.utf8.first.map(Self.isDigit) ?? false) else { return .sign("$") }
        advance()
        var nothing: [UInt8]?
        guard try take(to: dollar, or: dollar, into: &nothing) != nil else { throw truncated() }
        while try run(while: isTag) != tag || peek() != dollar {
            guard try take(to: dollar, or: dollar, into: &nothing) != nil else { throw truncated() }
        }
        advance()
        return .string([])
    }
}
