/// Decides whether a mail can carry a text without quoted-printable, which writes `=3D` for `=` and cuts long lines:
/// people copy links from a mail's source.
enum PlainBody {
    /// RFC 5322 allows 998 bytes.
    private static let lineBytesMax = 990

    /// The text with CRLF line ends; nil for a text that needs an encoding.
    /// - Parameter eightBit: whether letters beyond ASCII may stay.
    static func of(_ text: String, eightBit: Bool) -> String? {
        var output: [UInt8] = []
        output.reserveCapacity(text.utf8.count + text.utf8.count / 32)
        var (column, last) = (0, UInt8(0))
        for byte in text.utf8 {
            defer { last = byte }
            switch byte {
            case UInt8(ascii: "\n") where last == UInt8(ascii: "\r"): continue
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                output += [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
                column = 0
                continue
            // `=_` could be taken for a part boundary (`MailMessage.boundary`), so such a text is encoded.
            case UInt8(ascii: "_") where last == UInt8(ascii: "="): return nil
            // A mail server may write `>From` for a line that begins like this.
            case UInt8(ascii: " ") where column == 4 && output.suffix(4).elementsEqual("From".utf8): return nil
            case UInt8(ascii: "\t"), 0x20...0x7E: break
            case 0x80...: if !eightBit { return nil }
            default: return nil
            }
            output.append(byte)
            column += 1
            if column > lineBytesMax { return nil }
        }
        return String(decoding: output, as: UTF8.self)
    }
}
