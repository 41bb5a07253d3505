import Foundation

/// A mail from the spool, with its parts decoded as far as tests need it.
package struct Mail: Sendable {
    package let source: String
    /// Header and all text parts, decoded and joined.
    package let text: String

    init(bytes: [UInt8]) {
        source = String(decoding: bytes, as: UTF8.self)
        text = Mail.decoded(source)
    }

    /// The unfolded value of a header, encoded words still encoded.
    package func header(_ name: String) -> String? {
        let head = source.components(separatedBy: "\r\n\r\n").first ?? ""
        let lines = head.replacingOccurrences(of: "\r\n ", with: " ").replacingOccurrences(of: "\r\n\t", with: " ")
        return lines.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
            .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
    }

    /// Decodes quoted-printable lines, and blocks that are base64.
    private static func decoded(_ source: String) -> String {
        // A block begins with the end of the content before it, and may end with the head of the next part.
        var encoding = ""
        return source.components(separatedBy: "\r\n\r\n").map { block in
            defer {
                for line in block.components(separatedBy: "\r\n") where line.hasPrefix("Content-Transfer-Encoding: ") {
                    encoding = String(line.dropFirst("Content-Transfer-Encoding: ".count))
                }
            }
            guard !["7bit", "8bit"].contains(encoding) else { return block }
            let joined = block.components(separatedBy: "\r\n").filter { !$0.hasPrefix("--") }.joined()
            if joined.count > 40, let data = Data(base64Encoded: joined) {
                return String(decoding: data, as: UTF8.self)
            }
            return quotedPrintable(block)
        }.joined(separator: "\n")
    }

    private static func quotedPrintable(_ text: String) -> String {
        var bytes: [UInt8] = []
        let source = Array(text.replacingOccurrences(of: "=\r\n", with: "").utf8)
        var index = 0
        while index < source.count {
            let code = String(
                decoding: source[min(index + 1, source.count)..<min(index + 3, source.count)], as: UTF8.self)
            if source[index] == UInt8(ascii: "="), code.utf8.count == 2, let byte = UInt8(code, radix: 16) {
                bytes.append(byte)
                index += 3
            } else {
                bytes.append(source[index])
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
