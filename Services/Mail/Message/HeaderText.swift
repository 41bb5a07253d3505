import Foundation
import ParseProtocol

/// Text in headers: one line, with encoded words where it is not plain ASCII (RFC 2047).
package enum HeaderText {
    /// The trimmed text, with a space for every control character, line separator and invisible character. Joiners and
    /// tags remain where words and emoji need them (`JoiningMarks`); marks that change the text direction are replaced.
    package static func singleLine(_ text: String) -> String {
        if isPlainLine(text) { return text }
        var joining = JoiningMarks()
        let scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
            if joining.keeps(scalar) { return scalar }
            return switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator, .format: " "
            default: scalar
            }
        }
        return String(String.UnicodeScalarView(scalars)).trimmingCharacters(in: .whitespaces)
    }

    /// Whether it is plain ASCII without spaces at its ends, as nearly every text is.
    private static func isPlainLine(_ text: String) -> Bool {
        let space = UInt8(ascii: " ")
        return text.utf8.first != space && text.utf8.last != space && text.utf8.allSatisfy(isPrintable)
    }

    /// The value of a header such as `Subject`.
    package static func unstructured(_ text: String) -> String {
        let line = singleLine(text)
        return line.utf8.allSatisfy(isPrintable) && !line.contains("=?") ? folded(line) : encodedWords(line)
    }

    /// A display name: atoms unchanged, other ASCII quoted, the rest encoded.
    package static func phrase(_ text: String) -> String {
        let line = singleLine(text)
        if line.utf8.allSatisfy({ isAtomText($0) || $0 == UInt8(ascii: " ") }), !line.contains("=?") { return line }
        guard line.utf8.allSatisfy(isPrintable) else { return encodedWords(line) }
        let escaped = line.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"\(escaped)\""
    }

    /// Characters of an atom, RFC 5322 section 3.2.3.
    static func isAtomText(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-/=?^_`{|}~".utf8.contains(byte)
        }
    }

    private static func isPrintable(_ byte: UInt8) -> Bool { (0x20...0x7E).contains(byte) }

    /// An encoded word has at most 75 characters, of which `=?UTF-8?B?` and `?=` take 12. The remaining 63 hold 15
    /// groups of Base64, which are 45 bytes.
    private static let wordBytesMax = 45

    /// Words of whole characters, one per line.
    private static func encodedWords(_ text: String) -> String {
        var words: [[UInt8]] = [[]]
        func begin(for bytes: Int) {
            if words[words.count - 1].count + bytes > wordBytesMax { words.append([]) }
        }
        for character in text {
            begin(for: character.utf8.count)
            // A character of more than 45 bytes is split between two of its scalars, because readers decode each word
            // separately.
            for scalar in character.unicodeScalars {
                let bytes = String(scalar).utf8
                begin(for: bytes.count)
                words[words.count - 1].append(contentsOf: bytes)
            }
        }
        return words.filter { !$0.isEmpty }.map { "=?UTF-8?B?\(Data($0).base64EncodedString())?=" }
            .joined(separator: "\r\n ")
    }

    /// Breaks the line before a word that would pass column 76.
    private static func folded(_ line: String) -> String {
        var column = 10  // About the length of the header's name.
        guard column + line.utf8.count > 76 else { return line }
        var output = ""
        for word in line.split(separator: " ", omittingEmptySubsequences: false) {
            if !output.isEmpty {
                let breaks = column + word.count > 76 && !word.isEmpty
                output += breaks ? "\r\n " : " "
                column = breaks ? 1 : column + 1
            }
            output += word
            column += word.count
        }
        return output
    }
}
