extension String {
    /// The value encoded as in RFC 3986 and OAuth 1.0 (RFC 5849, 3.6): all bytes but letters, digits and `-._~` as
    /// `%XX`.
    public var percentEncoded: String {
        guard !utf8.allSatisfy(Self.isPlain) else { return self }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(3 * utf8.count)
        for byte in utf8 {
            if Self.isPlain(byte) {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(Self.digit(byte >> 4))
                bytes.append(Self.digit(byte & 15))
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func digit(_ half: UInt8) -> UInt8 {
        half < 10 ? UInt8(ascii: "0") + half : UInt8(ascii: "A") + half - 10
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
