import ParseProtocol

/// Rows of texts as comma-separated values (RFC 4180), in UTF-8.
///
/// Parsed by bytes: a parser by Swift's characters would join a comma with a following combining mark.
struct CSVTable {
    var rows: [[String]] = []

    /// More columns than a class may have fields.
    private static let columnsMax = 1100
    /// Each row is an object in memory while the file is read.
    static let rowsMax = 100_000

    /// - Throws: `.invalidJSON` (107) for unterminated quotes, text after a closing quote, or bytes that are not UTF-8.
    init(parsing bytes: [UInt8]) throws(ParseError) {
        var rest = bytes[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }  // Spreadsheets write a byte order mark.
        var row: [String] = []
        while !rest.isEmpty {
            row.append(try Self.field(&rest, line: rows.count + 1))
            guard row.count <= Self.columnsMax else { throw Self.malformed(rows.count + 1) }
            if rest.first == UInt8(ascii: ",") {
                rest = rest.dropFirst()
                if rest.isEmpty { row.append("") }
                if !rest.isEmpty { continue }
            }
            if rest.first == UInt8(ascii: "\r") { rest = rest.dropFirst() }
            if rest.first == UInt8(ascii: "\n") { rest = rest.dropFirst() }
            if row != [""] {  // An empty line is not a row.
                guard rows.count < Self.rowsMax else {
                    throw ParseError(.objectTooLarge, "A file has at most \(Self.rowsMax) rows; split it.")
                }
                rows.append(row)
            }
            row = []
        }
    }

    /// Takes a field; a comma, the end of the line or the end of the text follows.
    private static func field(_ rest: inout ArraySlice<UInt8>, line: Int) throws(ParseError) -> String {
        guard rest.first == UInt8(ascii: "\"") else {
            let end = rest.firstIndex {
                $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r")
            }
            defer { rest = rest[(end ?? rest.endIndex)...] }
            return try text(rest[..<(end ?? rest.endIndex)], line)
        }
        rest = rest.dropFirst()
        var bytes: [UInt8] = []
        while let quote = rest.firstIndex(of: UInt8(ascii: "\"")) {
            bytes += rest[..<quote]
            rest = rest[(quote + 1)...]
            guard rest.first == UInt8(ascii: "\"") else {
                guard let next = rest.first else { return try text(bytes[...], line) }
                guard next == UInt8(ascii: ",") || next == UInt8(ascii: "\n") || next == UInt8(ascii: "\r") else {
                    throw malformed(line)
                }
                return try text(bytes[...], line)
            }
            bytes.append(UInt8(ascii: "\""))
            rest = rest.dropFirst()
        }
        throw malformed(line)
    }

    private static func text(_ bytes: ArraySlice<UInt8>, _ line: Int) throws(ParseError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw malformed(line) }
        try text.checkMarks()
        return text
    }

    private static func malformed(_ line: Int) -> ParseError {
        ParseError(.invalidJSON, "The file is not valid CSV near row \(line).")
    }

    /// One line with its line end. Fields are quoted where the format requires it and where a spreadsheet would change
    /// them.
    static func line(_ fields: [String]) -> [UInt8] {
        var bytes: [UInt8] = []
        for (index, field) in fields.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            let isPlain = field.utf8.allSatisfy { byte in
                byte > UInt8(ascii: " ") && byte != UInt8(ascii: ",") && byte != UInt8(ascii: "\"") && byte < 0x7F
            }
            if isPlain {
                bytes += field.utf8
            } else {
                bytes.append(UInt8(ascii: "\""))
                for byte in field.utf8 {
                    if byte == UInt8(ascii: "\"") { bytes.append(byte) }
                    bytes.append(byte)
                }
                bytes.append(UInt8(ascii: "\""))
            }
        }
        bytes += [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
        return bytes
    }
}
