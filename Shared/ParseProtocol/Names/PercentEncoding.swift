extension String {
    /// The value encoded as in RFC 3986 and OAuth 1.0 (RFC 5849, 3.6): all bytes but letters, digits and `-._~` as
    /// `%XX`.
    public var percentEncoded: String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension [String: JSON] {
    /// A query string with its `?`, sorted by name; empty without members. Texts are sent as they are, other values as
    /// JSON.
    package var queryText: String {
        guard !isEmpty else { return "" }
        let pairs = sorted { $0.key < $1.key }.map { name, value in
            "\(name)=\((value.stringValue ?? value.serializedText).percentEncoded)"
        }
        return "?" + pairs.joined(separator: "&")
    }
}
