/// Encodes UTF-8 text as seven-bit lines of at most 76 characters (RFC 2045 section 6.7).
package enum QuotedPrintable {
    private static let lineMax = 76
    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")
    private static let equals = UInt8(ascii: "=")
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// - Parameter text: lines end with `\n`, `\r\n` or `\r`; the result has CRLF.
    package static func encode(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count + bytes.count / 4)
        var start = 0
        while true {
            let end = bytes[start...].firstIndex { $0 == lineFeed || $0 == carriageReturn } ?? bytes.count
            append(bytes[start..<end], to: &output)
            guard end < bytes.count else { return String(decoding: output, as: UTF8.self) }
            output += [carriageReturn, lineFeed]
            let isPair = bytes[end] == carriageReturn && end + 1 < bytes.count && bytes[end + 1] == lineFeed
            start = end + (isPair ? 2 : 1)
        }
    }

    private static func append(_ line: ArraySlice<UInt8>, to output: inout [UInt8]) {
        var column = 0
        for place in line.indices {
            let isLast = place == line.endIndex - 1
            let isPlain = isPlain(line[place], isLast: isLast)
            let width = isPlain ? 1 : 3
            // One column is reserved for the `=` of a soft line break.
            if column + width > lineMax - (isLast ? 0 : 1) {
                output += [equals, carriageReturn, lineFeed]
                column = 0
            }
            if isPlain {
                output.append(line[place])
            } else {
                output += [equals, digits[Int(line[place] >> 4)], digits[Int(line[place] & 15)]]
            }
            column += width
        }
    }

    private static func isPlain(_ byte: UInt8, isLast: Bool) -> Bool {
        let isBlank = byte == 0x20 || byte == 0x09
        return isBlank ? !isLast : (0x21...0x7E).contains(byte) && byte != equals
    }
}
