/// The reasons why a text is not accepted as JSON.
public enum JSONError: Error, Equatable {
    case malformed(offset: Int)
    /// Nested deeper than `JSON.depthMax`.
    case tooDeep
    /// More than `JSON.valuesMax` values.
    case tooManyValues
    /// A name or a text has a run of combining marks longer than `CombiningMarks.runLimit`.
    case tooManyMarks
}

extension JSON {
    /// Limit of nested arrays and objects. Deeper input is rejected before any recursive code processes it.
    public static let depthMax = 64

    /// Limit of values in one text. A value of two bytes uses dozens in memory, so the length of a text alone does not
    /// limit the cost of parsing it.
    public static let valuesMax = 250_000

    /// Parses one JSON text (RFC 8259) in UTF-8. For a repeated member the last one wins. Runs of combining marks
    /// longer than `CombiningMarks.runLimit` are separated, so that texts stored by earlier releases can be parsed.
    /// - Throws: `JSONError`; never traps, for any bytes.
    public init(parsing bytes: some Sequence<UInt8>) throws(JSONError) {
        let result: Result<JSON, JSONError>? = bytes.withContiguousStorageIfAvailable { JSON.parse($0) }
        self = try (result ?? Array(bytes).withUnsafeBufferPointer { JSON.parse($0) }).get()
    }

    /// As `init(parsing:)`, but rejects runs of combining marks longer than `CombiningMarks.runLimit`.
    package init(parsingWithMarkLimit bytes: [UInt8]) throws(JSONError) {
        self = try bytes.withUnsafeBufferPointer { JSON.parse($0, rejectsLongRuns: true) }.get()
    }

    /// Parses one JSON text.
    /// - Throws: `JSONError`; never traps, for any text.
    public init(parsing text: String) throws(JSONError) {
        try self.init(parsing: text.utf8)
    }

    /// As `init(parsing:)`, but some objects become arrays of pairs, `[["name", value], …]`, in the order of the text:
    /// those that are the value of a member with one of these names. The empty name stands for the top-level object.
    public init(parsing bytes: [UInt8], membersInOrderOf names: Set<String>) throws(JSONError) {
        self = try bytes.withUnsafeBufferPointer { JSON.parse($0, ordered: names) }.get()
    }

    private static func parse(
        _ buffer: UnsafeBufferPointer<UInt8>, ordered: Set<String> = [], rejectsLongRuns: Bool = false
    ) -> Result<JSON, JSONError> {
        var parser = JSONParser(bytes: buffer, ordered: ordered, rejectsLongRuns: rejectsLongRuns)
        do {
            return .success(try parser.document())
        } catch {
            return .failure(error)
        }
    }
}

/// A recursive-descent parser of one UTF-8 text, for `JSON.init(parsing:)` and its variants.
private struct JSONParser {
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0
    private var valueCount = 0
    /// Names of members whose objects keep their order.
    private let ordered: Set<String>
    private let rejectsLongRuns: Bool

    init(bytes: UnsafeBufferPointer<UInt8>, ordered: Set<String>, rejectsLongRuns: Bool) {
        self.bytes = bytes
        self.ordered = ordered
        self.rejectsLongRuns = rejectsLongRuns
    }

    mutating func document() throws(JSONError) -> JSON {
        let value = try value(depth: 0, isOrdered: ordered.contains(""))
        skipSpace()
        guard position == bytes.count else { throw malformed }
        return value
    }

    private var malformed: JSONError { .malformed(offset: position) }

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    private func peek() throws(JSONError) -> UInt8 {
        guard position < bytes.count else { throw malformed }
        return bytes[position]
    }

    private mutating func value(depth: Int, isOrdered: Bool = false) throws(JSONError) -> JSON {
        guard depth <= JSON.depthMax else { throw .tooDeep }
        valueCount += 1
        guard valueCount <= JSON.valuesMax else { throw .tooManyValues }
        skipSpace()
        switch try peek() {
        case UInt8(ascii: "{") where isOrdered: return try pairs(depth: depth)
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: return try number()
        }
    }

    private mutating func literal(_ text: StaticString, _ value: JSON) throws(JSONError) -> JSON {
        let end = position + text.utf8CodeUnitCount
        guard end <= bytes.count else { throw malformed }
        for offset in 0..<text.utf8CodeUnitCount where bytes[position + offset] != text.utf8Start[offset] {
            throw malformed
        }
        position = end
        return value
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSON {
        position += 1
        var members: [String: JSON] = [:]
        skipSpace()
        if try peek() == UInt8(ascii: "}") {
            position += 1
            return .object(members)
        }
        // A document usually has more than three members. Each growth of the table would hash all of them again.
        if depth == 0 { members.reserveCapacity(12) }
        while true {
            let key = try name()
            members[key] = try value(depth: depth + 1, isOrdered: !ordered.isEmpty && ordered.contains(key))
            guard try continues(until: UInt8(ascii: "}")) else { return .object(members) }
        }
    }

    /// Parses an object whose members keep their order.
    private mutating func pairs(depth: Int) throws(JSONError) -> JSON {
        position += 1
        var members: [JSON] = []
        skipSpace()
        if try peek() == UInt8(ascii: "}") {
            position += 1
            return .array(members)
        }
        while true {
            let key = try name()
            members.append(.array([.string(key), try value(depth: depth + 1, isOrdered: ordered.contains(key))]))
            guard try continues(until: UInt8(ascii: "}")) else { return .array(members) }
        }
    }

    /// Parses the name of a member and the colon after it.
    private mutating func name() throws(JSONError) -> String {
        skipSpace()
        guard try peek() == UInt8(ascii: "\"") else { throw malformed }
        let name = try string()
        skipSpace()
        guard try peek() == UInt8(ascii: ":") else { throw malformed }
        position += 1
        return name
    }

    private mutating func array(depth: Int) throws(JSONError) -> JSON {
        position += 1
        var elements: [JSON] = []
        skipSpace()
        if try peek() == UInt8(ascii: "]") {
            position += 1
            return .array(elements)
        }
        while true {
            elements.append(try value(depth: depth + 1))
            guard try continues(until: UInt8(ascii: "]")) else { return .array(elements) }
        }
    }

    /// Skips a comma (true) or the closing bracket (false).
    private mutating func continues(until close: UInt8) throws(JSONError) -> Bool {
        skipSpace()
        let byte = try peek()
        guard byte == close || byte == UInt8(ascii: ",") else { throw malformed }
        position += 1
        return byte != close
    }

    private mutating func string() throws(JSONError) -> String {
        let start = position + 1
        let (end, isASCII) = JSONText.plainPart(of: bytes, from: start)
        position = end
        switch try peek() {
        case UInt8(ascii: "\""):
            // ASCII is valid UTF-8 without marks. `String(validating:)` takes 0.1 microseconds more.
            let text =
                isASCII
                ? String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<end]), as: UTF8.self)
                : try utf8(start..<end)
            position += 1
            return !isASCII && end - start > CombiningMarks.runBytes ? try bounded(text) : text
        case UInt8(ascii: "\\"): return try escapedString(from: start)
        default: throw malformed
        }
    }

    private func utf8(_ range: Range<Int>) throws(JSONError) -> String {
        guard let text = String(validating: UnsafeBufferPointer(rebasing: bytes[range]), as: UTF8.self) else {
            throw malformed
        }
        return text
    }

    /// The text with overlong runs of combining marks separated or rejected. Most texts are too short to get here.
    @inline(never)
    private func bounded(_ text: String) throws(JSONError) -> String {
        guard text.exceedsMarkLimit else { return text }
        if rejectsLongRuns { throw .tooManyMarks }
        return CombiningMarks.separated(text)
    }

    private mutating func escapedString(from start: Int) throws(JSONError) -> String {
        var text = Array(bytes[start..<position])
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let result = String(validating: text, as: UTF8.self) else { throw malformed }
                return try bounded(result)
            case UInt8(ascii: "\\"):
                let escape = try peek()
                position += 1
                switch escape {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(escape)
                case UInt8(ascii: "b"): text.append(0x08)
                case UInt8(ascii: "f"): text.append(0x0C)
                case UInt8(ascii: "n"): text.append(0x0A)
                case UInt8(ascii: "r"): text.append(0x0D)
                case UInt8(ascii: "t"): text.append(0x09)
                case UInt8(ascii: "u"): text.append(contentsOf: Character(try unicodeEscape()).utf8)
                default: throw malformed
                }
            case ..<0x20: throw malformed
            default: text.append(byte)
            }
        }
        throw malformed
    }

    /// The scalar after `\u`; joins surrogate pairs. A lone surrogate becomes U+FFFD, as in browsers' decoders.
    private mutating func unicodeEscape() throws(JSONError) -> Unicode.Scalar {
        let first = try fourHexDigits()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        else { return "\u{FFFD}" }
        let afterFirst = position
        position += 2
        let second = try fourHexDigits()
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
        else {
            position = afterFirst
            return "\u{FFFD}"
        }
        return scalar
    }

    private mutating func fourHexDigits() throws(JSONError) -> UInt32 {
        guard position + 4 <= bytes.count else { throw malformed }
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(bytes[position])).hexDigitValue else { throw malformed }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }

    private mutating func number() throws(JSONError) -> JSON {
        let start = position
        var isWhole = true
        if try peek() == UInt8(ascii: "-") { position += 1 }
        let firstDigit = position
        try digits()
        if bytes[firstDigit] == UInt8(ascii: "0"), position > firstDigit + 1 { throw .malformed(offset: firstDigit) }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            isWhole = false
            position += 1
            try digits()
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            isWhole = false
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            try digits()
        }
        if isWhole, position - firstDigit <= JSONParser.safeDigits {
            let magnitude = bytes[firstDigit..<position].reduce(Int64(0)) { $0 * 10 + Int64($1 & 0x0F) }
            return .int(firstDigit > start ? -magnitude : magnitude)
        }
        let text = try utf8(start..<position)
        if isWhole, let whole = Int64(text), whole.magnitude <= 1 << 53 { return .int(whole) }
        guard let number = Double(text), number.isFinite else { throw .malformed(offset: start) }
        return JSON(number: number)
    }

    /// A number of so many digits is below 2^53.
    private static let safeDigits = 15

    private mutating func digits() throws(JSONError) {
        let start = position
        while position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) {
            position += 1
        }
        guard position > start else { throw malformed }
    }
}
