import ParseProtocol

/// Trigrams, the runs of three letters of a text: a text that contains a literal also contains all its trigrams.
///
/// SQLite's index computes its own. PostgreSQL gets them as numbers. It thus needs no extension, and folds the case of
/// letters as `$regex` does (`LetterCases`).
package enum Trigrams {
    /// Trigrams of a literal that together indicate whether a text may contain it; nil for a literal without any.
    package static func choice(of literal: String) -> [String.UnicodeScalarView]? {
        let scalars = Array(literal.unicodeScalars)
        guard scalars.count >= 3, !scalars.contains("\0") else { return nil }
        // For a short word, every trigram: fewer also occur in objects without the word. For a longer literal, every
        // third and the last cover the rest; a few dozen letters are selective enough.
        let last = min(scalars.count, 48) - 3
        let starts = Set(0...min(last, 13)).union(stride(from: 0, through: last, by: 3)).union([last])
        return starts.sorted().map { start in
            var text = String.UnicodeScalarView()
            text.append(contentsOf: scalars[start..<(start + 3)])
            return text
        }
    }

    // MARK: PostgreSQL

    /// The numbers of all different trigrams of a text.
    package static func numbers(of text: String) -> Set<Int32> {
        var numbers: Set<Int32> = []
        var (first, second): (UInt32?, UInt32?)
        for scalar in text.unicodeScalars {
            let third = folded(scalar)
            if let first, let second { numbers.insert(number(first, second, third)) }
            (first, second) = (second, third)
        }
        return numbers
    }

    /// - Parameter trigram: three letters.
    package static func number(of trigram: String.UnicodeScalarView) -> Int32 {
        let letters = trigram.map(folded)
        return number(letters[0], letters[1], letters[2])
    }

    /// Two trigrams may have the same number, because each candidate of a search is verified.
    private static func number(_ first: UInt32, _ second: UInt32, _ third: UInt32) -> Int32 {
        // A letter has 21 bits; the factor is the one of Fibonacci hashing.
        let packed = UInt64(first) << 42 | UInt64(second) << 21 | UInt64(third)
        return Int32(truncatingIfNeeded: (packed &* 0x9E37_79B9_7F4A_7C15) >> 32)
    }

    /// PostgreSQL's literal of an array.
    static func list(_ numbers: some Sequence<Int32>) -> String {
        "{" + numbers.lazy.map(String.init).joined(separator: ",") + "}"
    }

    /// The letter that represents all letters that differ only in case.
    package static func folded(_ scalar: Unicode.Scalar) -> UInt32 {
        if scalar.isASCII { return ("A"..."Z").contains(scalar) ? scalar.value + 32 : scalar.value }
        // ICU maps it to `i` where it maps single letters.
        if scalar == "\u{130}" { return 0x69 }
        let capital = single(scalar.properties.uppercaseMapping) ?? scalar
        return (single(capital.properties.lowercaseMapping) ?? capital).value
    }

    private static func single(_ text: String) -> Unicode.Scalar? {
        text.unicodeScalars.count == 1 ? text.unicodeScalars.first : nil
    }
}
