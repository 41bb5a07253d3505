extension JSON {
    /// The value as compact JSON in UTF-8. Members are sorted by name, so that equal values have equal texts.
    public var serialized: [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(256 + textBytes)
        append(to: &output)
        return output
    }

    /// Bytes of the texts that are members of an object: most of the length of a document. 0 for any other value.
    private var textBytes: Int {
        guard case .object(let members) = self else { return 0 }
        return members.values.reduce(0) { if case .string(let text) = $1 { $0 + text.utf8.count } else { $0 } }
    }

    /// The same as a `String`.
    public var serializedText: String { String(decoding: serialized, as: UTF8.self) }

    /// Appends the compact text to `output`.
    public func append(to output: inout [UInt8]) {
        switch self {
        case .null: output.append(contentsOf: "null".utf8)
        case .bool(let value): output.append(contentsOf: (value ? "true" : "false").utf8)
        case .int(let value): output.append(contentsOf: String(value).utf8)
        case .double(let value): output.append(contentsOf: (value.isFinite ? String(value) : "null").utf8)
        case .string(let value): JSON.appendQuoted(value, to: &output)
        case .array(let elements):
            output.append(UInt8(ascii: "["))
            var isFirst = true
            for element in elements {
                if !isFirst { output.append(UInt8(ascii: ",")) }
                isFirst = false
                element.append(to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let members):
            output.append(UInt8(ascii: "{"))
            var isFirst = true
            for (key, value) in members.sorted(by: { $0.key < $1.key }) {
                if !isFirst { output.append(UInt8(ascii: ",")) }
                isFirst = false
                JSON.appendQuoted(key, to: &output)
                output.append(UInt8(ascii: ":"))
                value.append(to: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    /// Appends `text` as a quoted JSON string.
    public static func appendQuoted(_ text: String, to output: inout [UInt8]) {
        var text = text
        text.withUTF8 { appendQuoted($0, to: &output) }
    }

    private static func appendQuoted(_ text: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        defer { output.append(UInt8(ascii: "\"")) }
        var start = 0
        while true {
            let end = JSONText.plainPart(of: text, from: start).end
            output.append(contentsOf: UnsafeBufferPointer(rebasing: text[start..<end]))
            guard end < text.count else { return }
            appendEscaped(text[end], to: &output)
            start = end + 1
        }
    }

    private static func appendEscaped(_ byte: UInt8, to output: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""): output.append(contentsOf: #"\""#.utf8)
        case UInt8(ascii: "\\"): output.append(contentsOf: #"\\"#.utf8)
        case 0x0A: output.append(contentsOf: #"\n"#.utf8)
        case 0x0D: output.append(contentsOf: #"\r"#.utf8)
        case 0x09: output.append(contentsOf: #"\t"#.utf8)
        default:
            output.append(contentsOf: #"\u00"#.utf8)
            output.append(hexDigits[Int(byte >> 4)])
            output.append(hexDigits[Int(byte & 0xF)])
        }
    }

    private static let hexDigits = Array("0123456789abcdef".utf8)
}
