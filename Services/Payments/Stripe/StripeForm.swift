/// Parameters in Stripe's format: `application/x-www-form-urlencoded` with brackets for nested values.
package struct StripeForm: Sendable, ExpressibleByDictionaryLiteral {
    private var fields: [(name: String, value: String)]

    package init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { (name: $0.0, value: $0.1) }
    }

    /// Adds a field unless the value is nil.
    package mutating func add(_ name: String, _ value: String?) {
        if let value { fields.append((name, value)) }
    }

    package var isEmpty: Bool { fields.isEmpty }
    var names: [String] { fields.map(\.name) }
    /// The first value with that name.
    subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

    /// The fields in a fixed order, so that a retry under the same idempotency key is identical to the byte.
    package var encoded: String {
        fields.map { "\(Self.escaped($0.name))=\(Self.escaped($0.value))" }.joined(separator: "&")
    }

    /// Percent-encodes everything except RFC 3986's unreserved characters.
    package static func escaped(_ text: String) -> String {
        var escaped = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                escaped += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return escaped
    }
}
