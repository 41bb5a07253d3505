import Foundation

/// A customer's words, as a mail repeats them: short, and nothing in them that a mail program makes a link of. Whoever
/// orders with a stranger's address would have the shop advertise to that stranger otherwise.
package enum CustomerText {
    /// Characters of a note that a mail repeats.
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
        // No text has more characters than bytes, and those need not be looked for.
        return line.utf8.count > length && line.count > length ? "\(line.prefix(length))…" : line
    }

    /// Signs that stand for a full stop in a host's name (UTS #46).
    private static let stops: Set<Character> = [".", "\u{3002}", "\u{FF0E}", "\u{FF61}"]

    /// ASCII, and none of the signs that links are made of.
    private static func isHarmless(_ byte: UInt8) -> Bool { byte < 0x80 && !".@/:".utf8.contains(byte) }

    /// Puts a space where a URL or an address would hold together: `www. shop. example`, `ann @shop. example`,
    /// `https: / /`. A person reads the same.
    private static func unlinked(_ text: String) -> String {
        if text.utf8.allSatisfy(isHarmless) { return text }
        let characters = Array(text)
        var result = ""
        for (index, character) in characters.enumerated() {
            let before = index > 0 ? characters[index - 1] : " "
            let after = index + 1 < characters.count ? characters[index + 1] : " "
            if character == "@", !before.isWhitespace { result.append(" ") }
            if character == "/", before == "/" { result.append(" ") }
            result.append(character)
            let endsNumber = before.isNumber && after.isNumber
            if stops.contains(character), !before.isWhitespace, after.isLetter || after.isNumber, !endsNumber {
                result.append(" ")
            }
            if character == "@", !after.isWhitespace { result.append(" ") }
            if character == ":", after == "/" || (before.isLetter && after.isLetter) { result.append(" ") }
        }
        return result
    }
}
