/// The local part of a Message-ID.
package enum MessageId {
    private static let lengthMax = 150

    /// Deterministic and unique per key: letters, digits and dashes are kept, any other byte becomes `_` and two
    /// hexadecimal digits. Nil for a key that is empty or too long.
    package static func of(_ key: String) -> String? {
        let text = key.utf8.map { byte in
            let isPlain =
                byte < 128 && (Character(UnicodeScalar(byte)).isLetter || Character(UnicodeScalar(byte)).isNumber)
            if isPlain || byte == UInt8(ascii: "-") { return String(UnicodeScalar(byte)) }
            let hex = String(byte, radix: 16)
            return hex.count == 1 ? "_0\(hex)" : "_\(hex)"
        }.joined()
        return text.isEmpty || text.utf8.count > lengthMax ? nil : text
    }
}
