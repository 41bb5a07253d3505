import ParseProtocol

/// Trigrams, the runs of three letters of a text: whatever contains a literal has all of the literal's.
///
/// SQLite's index makes its own of a text. PostgreSQL is given them as numbers, so that it needs no extension for them
/// and takes the same letters for one another as `$regex` does (`LetterCases`).
package enum Trigrams {
    /// Trigrams of a literal that together tell whether a text may contain it; nil for one that has none.
    package static func choice(of literal: String) -> [String.UnicodeScalarView]? {
        let scalars = Array(literal.unicodeScalars)
        guard scalars.count >= 3, !scalars.contains("\0") else { return nil }
        // Of a word every trigram: fewer are in objects that have none of it. Of what is longer every third and the
        // last cover the rest; a few dozen letters select enough.
        let last = min(scalars.count, 48) - 3
        let starts = Set(0...min(last, 13)).union(stride(from: 0, through: last, by: 3)).union([last])
        return starts.sorted().map { start in
            var text = String.UnicodeScalarView()
            text.append(contentsOf: scalars[start..<(start + 3)])
            return text
        }
    }

    // MARK: PostgreSQL

    /// The numbers of all trigrams of a text, each once.
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

    /// Two trigrams may have the same number: the candidates of a search are looked at in any case.
    private static func number(_ first: UInt32, _ second: UInt32, _ third: UInt32) -> Int32 {
        // A letter has 21 bits; the factor is that of Fibonacci hashing.
        let packed = UInt64(first) << 42 | UInt64(second) << 21 | UInt64(third)
        return Int32(truncatingIfNeeded: (packed &* 0x9E37_79B9_7F4A_7C15) >> 32)
    }

    /// PostgreSQL's literal of an array.
    static func list(_ numbers: some Sequence<Int32>) -> String {
        "{" + numbers.lazy.map(String.init).joined(separator: ",") + "}"
    }

    /// The letter that stands for all that are the same but for their case.
    package static func folded(_ scalar: Unicode.Scalar) -> UInt32 {
        if scalar.isASCII { return ("A"..."Z").contains(scalar) ? scalar.value + 32 : scalar.value }
        // ICU makes it an `i` where it makes one letter of one.
        if scalar == "\u{130}" { return 0x69 }
        let capital = single(scalar.properties.uppercaseMapping) ?? scalar
        return (single(capital.properties.lowercaseMapping) ?? capital).value
    }

    private static func single(_ text: String) -> Unicode.Scalar? {
        text.unicodeScalars.count == 1 ? text.unicodeScalars.first : nil
    }
}
