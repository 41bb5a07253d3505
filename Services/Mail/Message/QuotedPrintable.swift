/// Text in UTF-8 as seven-bit lines of at most 76 characters (RFC 2045 section 6.7).
package enum QuotedPrintable {
    private static let lineMax = 76

    /// - Parameter text: lines end with `\n`, `\r\n` or `\r`; the result has CRLF.
    package static func encode(_ text: String) -> String {
        let lines = text.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
            .split(separator: "\n", omittingEmptySubsequences: false)
        return lines.map { encodeLine(Array($0.utf8)) }.joined(separator: "\r\n")
    }

    private static func encodeLine(_ bytes: [UInt8]) -> String {
        var output = ""
        var column = 0
        for (position, byte) in bytes.enumerated() {
            let isLast = position == bytes.count - 1
            let piece = encoded(byte, isLast: isLast)
            // One column stays free for the `=` of a soft line break.
            if column + piece.count > lineMax - (isLast ? 0 : 1) {
                output += "=\r\n"
                column = 0
            }
            output += piece
            column += piece.count
        }
        return output
    }

    private static func encoded(_ byte: UInt8, isLast: Bool) -> String {
        let isBlank = byte == 0x20 || byte == 0x09
        if isBlank ? !isLast : (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "=") {
            return String(UnicodeScalar(byte))
        }
        let hex = String(byte, radix: 16, uppercase: true)
        return byte < 16 ? "=0\(hex)" : "=\(hex)"
    }
}
