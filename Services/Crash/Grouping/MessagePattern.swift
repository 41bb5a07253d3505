/// A message without the parts that vary between occurrences.
package enum MessagePattern {
    /// Maximum length of an inspected text.
    private static let textMax = 500

    /// Replaces numbers, hexadecimal numbers and UUIDs with `#`: `order 17 of 0x7f3a` becomes `order # of #`. Keeps
    /// words with digits after a letter (`utf8`, `iPhone7`). Linear in the length of the text.
    package static func withoutVariables(_ text: String) -> String {
        var output = ""
        var word = ""
        func end() {
            if !word.isEmpty { output += isVariable(word) ? "#" : word }
            word = ""
        }
        for character in text.prefix(textMax) {
            if character.isLetter || character.isNumber || character == "-" {
                word.append(character)
            } else {
                end()
                output.append(character)
            }
        }
        end()
        return output
    }

    /// The first line, which all occurrences share.
    package static func ofMessage(_ text: String) -> String {
        withoutVariables(String(text.split(whereSeparator: \.isNewline).first ?? ""))
    }

    private static func isVariable(_ word: String) -> Bool {
        guard let first = word.first(where: { $0 != "-" }), word.contains(where: \.isNumber) else { return false }
        if word.hasPrefix("0x") { return true }
        if first.isNumber, word.allSatisfy({ $0.isNumber || $0 == "-" }) { return true }
        // UUIDs, hashes and ids: long, with hexadecimal digits only.
        return word.count >= 8 && word.allSatisfy { $0.isHexDigit || $0 == "-" }
    }
}
