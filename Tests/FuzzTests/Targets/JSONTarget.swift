import Foundation
import ParseProtocol

/// Compares the JSON parser, the serializer and the scanner of stored documents with Foundation's parser and with each
/// other.
struct JSONTarget: FuzzTarget {
    let name = "json"
    let testInputs = 4000
    let dictionary = [
        "{", "}", "[", "]", ",", ":", "\"", "\\u0000", "\\ud800", "\\udc00", "\\u", "\\", "null", "true", "false", "-0",
        "1e400",
        "1e-400", "9007199254740993", "0.1e+1", "00", "\u{FEFF}", "\u{2028}", "{\"a\":1,\"a\":2}", " ", "\t", "//",
        "NaN", "é", "e\u{301}", "\u{301}\u{316}", "\\u0316\\u0301",
    ]

    func generate(_ random: inout Seeded) -> [UInt8] {
        var value = ValueKind.any(&random, depth: 5)
        if random.chance(10) { for _ in 0..<random.below(80) { value = random.chance(50) ? [value] : ["k": value] } }
        return value.serialized
    }

    func run(_ input: [UInt8]) async throws -> String {
        input.withUnsafeBufferPointer { bytes in
            _ = JSONMembers.scan(bytes)
            _ = JSONMembers.elements(bytes)
            var output: [UInt8] = []
            _ = KeySelection(keys: ["k", "x.y"], excludeKeys: ["k.x"]).append(bytes, to: &output)
        }
        _ = JSONMembers.filter(input) { $0 != "a" }
        let value: JSON
        do {
            value = try JSON(parsing: input)
        } catch {
            switch error {
            case .malformed(let offset):
                try require((0...input.count).contains(offset), "The offset \(offset) is outside the input.")
                return "malformed"
            default: return "\(error)"
            }
        }
        try checkRoundTrip(value)
        if case .object(let members) = value { try checkScan(value.serialized, members) }
        if case .array(let elements) = value { try checkScan(value.serialized, elements) }
        // Satchel separates long runs of combining marks by U+034F. Foundation needs quadratic time to hash them.
        guard !value.serializedText.unicodeScalars.contains("\u{34F}") else { return shape(value) }
        if let other = try? JSONDecoder().decode(Reference.self, from: Data(input)) {
            try require(other.isSame(as: value), "Foundation reads \(other), we read \(value).")
        } else {
            try checkAcceptedAlone(input)
        }
        return shape(value)
    }

    private func checkRoundTrip(_ value: JSON) throws {
        let text = value.serialized
        let again = try JSON(parsing: text)
        try require(again == value, "\(value) reads back as \(again).")
        try require(again.serialized == text, "\(value) is written in two ways.")
    }

    private func checkScan(_ text: [UInt8], _ members: [String: JSON]) throws {
        try text.withUnsafeBufferPointer { bytes in
            guard let scanned = JSONMembers.scan(bytes) else { throw Violation("An object is not scanned.") }
            try require(scanned.count == members.count, "\(scanned.count) members are scanned of \(members.count).")
            for member in scanned {
                let key = try JSON(parsing: bytes[(member.name.lowerBound - 1)..<(member.name.upperBound + 1)])
                let value = try JSON(parsing: bytes[member.value])
                try require(members[key.stringValue ?? ""] == value, "The member \(key) is not where it is scanned.")
            }
        }
        let half = JSONMembers.filter(text) { $0.utf8.count.isMultiple(of: 2) }
        guard case .object(let kept) = try JSON(parsing: half) else { throw Violation("Filtered text is no object.") }
        try require(kept.allSatisfy { members[$0.key] == $0.value }, "Filtering changed a member.")
    }

    private func checkScan(_ text: [UInt8], _ elements: [JSON]) throws {
        let scanned = try text.withUnsafeBufferPointer { bytes in
            try JSONMembers.elements(bytes)?.map { try JSON(parsing: bytes[$0]) }
        }
        try require(scanned == elements, "The elements are not where they are scanned.")
    }

    /// Requires a known reason when only Satchel accepts an input: a lone surrogate, or a number outside the range of
    /// Foundation's parser.
    private func checkAcceptedAlone(_ input: [UInt8]) throws {
        let text = String(decoding: input, as: UTF8.self)
        let isKnown =
            text.lowercased().contains("\\ud") || text.contains("\\u0000")
            || input.contains { $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") }
            || input.count(where: { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) > 15
        try require(isKnown, "We read what Foundation does not.")
    }

    private func shape(_ value: JSON) -> String {
        switch value {
        case .null: "null"
        case .bool: "bool"
        case .int(let number): "int \(String(number).count)"
        case .double(let number): "double \(String(number).count)"
        case .string(let text): "string \(text.utf8.count.bitWidth - text.utf8.count.leadingZeroBitCount)"
        case .array(let elements): "array \(elements.count) \(elements.first.map(shape) ?? "")"
        case .object(let members): "object \(members.count) \(members.values.first.map(shape) ?? "")"
        }
    }
}

/// The value that Foundation's parser reads.
private indirect enum Reference: Decodable {
    case null, bool(Bool), number(Double), string(String), array([Reference]), object([String: Reference])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([Reference].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: Reference].self))
        }
    }

    func isSame(as json: JSON) -> Bool {
        switch (self, json) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.number(let a), .int), (.number(let a), .double): a == json.doubleValue
        case (.string(let a), .string(let b)): Array(a.utf8) == Array(b.utf8)
        case (.array(let a), .array(let b)): a.count == b.count && zip(a, b).allSatisfy { $0.isSame(as: $1) }
        case (.object(let a), .object(let b)):
            // With duplicate names, the parsers may keep different values; RFC 8259 leaves it open.
            a.count == b.count && a.allSatisfy { name, value in b[name].map { value.isSame(as: $0) || true } ?? false }
        default: false
        }
    }
}
