import Foundation

/// A customer's text for use in a mail: short, and with spaces in every URL and address, so that no mail program makes
/// a link of it. Otherwise anyone who orders with another person's address could make the shop send advertisements to
/// that person.
package enum CustomerText {
    /// Maximum characters of a note in a mail.
    private static let noteMax = 500
    private static let lineMax = 100

    /// A note of several lines; the templates show it as quoted text.
    package static func note(_ text: String) -> [String] {
        let lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }.map { line(String($0), max: noteMax) }
        var left = noteMax
        var kept: [String] = []
        for line in lines.drop(while: \.isEmpty) where left > 0 && !(line.isEmpty && kept.last?.isEmpty != false) {
            kept.append(line.count > left ? "\(line.prefix(left))…" : line)
            left -= max(line.count, 1)
        }
        while kept.last?.isEmpty == true { kept.removeLast() }
        return kept
    }

    /// One line, such as a part of an address.
    package static func line(_ text: String, max length: Int = lineMax) -> String {
        let line = unlinked(HeaderText.singleLine(text))
        // A text never has more characters than bytes, so most texts need no character count.
        return line.utf8.count > length && line.count > length ? "\(line.prefix(length))…" : line
    }

    /// Characters that count as a full stop in a host name (UTS #46).
    private static let stops: Set<Character> = [".", "\u{3002}", "\u{FF0E}", "\u{FF61}"]

    /// Whether the byte is ASCII and no sign of a link.
    private static func cannotMarkLink(_ byte: UInt8) -> Bool { byte < 0x80 && !".@/:".utf8.contains(byte) }

    /// Inserts a space where a URL or an address would be recognised: `www. shop. example`, `ann @shop. example`,
    /// `https: / /`. People can still read the text.
    private static func unlinked(_ text: String) -> String {
        if text.utf8.allSatisfy(cannotMarkLink) { return text }
        let characters = Array(text)
        var result = ""
        for (index, character) in characters.enumerated() {
            let before = index > 0 ? characters[index - 1] : " "
            let after = index + 1 < characters.count ? characters[index + 1] : " "
            if character == "@", !before.isWhitespace { result.append(" ") }
            if character == "/", before == "/" { result.append(" ") }
            result.append(character)
            let isInsideNumber = before.isNumber && after.isNumber
            if stops.contains(character), !before.isWhitespace, after.isLetter || after.isNumber, !isInsideNumber {
                result.append(" ")
            }
            if character == "@", !after.isWhitespace { result.append(" ") }
            if character == ":", after == "/" || (before.isLetter && after.isLetter) { result.append(" ") }
        }
        return result
    }
}
