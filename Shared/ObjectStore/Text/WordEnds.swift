import ParseProtocol

/// The terms of the text index: each word of a text from each of its letters on. A word contains a literal if one of
/// its terms begins with it, so the index finds a rare word at once even if the word consists of frequent parts.
///
/// Case is folded as `$regex` with `i` folds it (`LetterCases`). The expression checks what the index finds.
package enum WordEnds {
    /// Limit of a term's letters. A longer literal is searched in parts.
    private static let lettersMax = 12
    /// Limit of all terms of an object: half of what a `tsvector` holds.
    private static let bytesMax = 500_000
    /// Limit of a literal's terms; more hardly exclude further objects.
    private static let soughtMax = 8
    /// The only term of an object with too many: every search checks such objects.
    package static let tooMany = "x"

    // MARK: Texts

    /// The terms of an object's texts, each after the number of its field. Terms may be repeated.
    package static func terms(of texts: [String?], separator: String = " ") -> String {
        var terms: [UInt8] = []
        for (field, text) in texts.enumerated() {
            guard let text else { continue }
            let label = Array("\(separator)\(field)".utf8)
            var word: [UInt8] = []
            // Where the letters of the word begin.
            var letters: [Int] = []
            func endWord() {
                for (number, start) in letters.enumerated() where terms.count <= bytesMax {
                    let end = number + lettersMax < letters.count ? letters[number + lettersMax] : word.count
                    terms += label
                    terms += word[start..<end]
                }
                word.removeAll(keepingCapacity: true)
                letters.removeAll(keepingCapacity: true)
            }
            for scalar in text.unicodeScalars {
                if isSeparator(scalar) {
                    endWord()
                    continue
                }
                letters.append(word.count)
                UTF8.encode(folded(scalar)) { word.append($0) }
            }
            endWord()
            guard terms.count <= bytesMax else { return tooMany }
        }
        return String(decoding: terms.dropFirst(separator.utf8.count), as: UTF8.self)
    }

    // MARK: Literals

    /// The terms that every text with the literal has; a prefix stands for the terms that begin with it. Empty for a
    /// literal that is too short or has no letters.
    package static func sought(in literal: String) -> [(text: String, isPrefix: Bool)] {
        var sought: [(text: String, isPrefix: Bool)] = []
        let words = literal.unicodeScalars.split(omittingEmptySubsequences: false, whereSeparator: isSeparator)
        for (place, word) in words.enumerated() {
            var rest = word.map(folded)[...]
            while !rest.isEmpty {
                let part = rest.prefix(lettersMax)
                rest = rest.dropFirst(lettersMax)
                // Only the last word may go on in the text. A term of the full length is cut in the text, too.
                let isPrefix = place == words.count - 1 && part.count < lettersMax
                let text = String(String.UnicodeScalarView(part))
                // Too many terms begin with one Latin letter.
                if isPrefix, text.utf8.count < 2 { continue }
                sought.append((text, isPrefix))
            }
        }
        return Array(sought.prefix(soughtMax))
    }

    // MARK: Letters

    /// Whether it is an ASCII character but no letter or digit. All characters with a meaning in a search are among
    /// them.
    private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9": false
        default: scalar.isASCII
        }
    }

    /// The letter that represents all letters that differ only in case, see `FoldedLetters`.
    package static func folded(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        if scalar.isASCII {
            return ("A"..."Z").contains(scalar) ? Unicode.Scalar(UInt8(scalar.value + 32)) : scalar
        }
        // ICU maps it to `i` where it maps single letters.
        if scalar == "\u{130}" { return "i" }
        guard FoldedLetters.has(scalar) else { return scalar }
        let capital = single(scalar.properties.uppercaseMapping) ?? scalar
        return single(capital.properties.lowercaseMapping) ?? capital
    }

    private static func single(_ text: String) -> Unicode.Scalar? {
        guard text.unicodeScalars.count == 1 else { return nil }
        return text.unicodeScalars.first.flatMap { FoldedLetters.has($0) ? $0 : nil }
    }
}
