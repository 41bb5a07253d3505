import Foundation
import ParseProtocol

/// The terms of a `$text` search: any of its words, every "quoted phrase", none of the -excluded words.
///
/// The full-text index folds case and diacritics. A search that is sensitive to them takes two steps: the index finds
/// candidates, and the text itself decides.
struct WordSearch {
    private(set) var words: [String] = []
    private(set) var phrases: [String] = []
    private(set) var excluded: [String] = []
    let isCaseSensitive: Bool
    let isDiacriticSensitive: Bool

    /// Limit of words, including those inside phrases: more than a customer types. Each costs a pass through the index.
    static let wordsMax = 100

    var isSensitive: Bool { isCaseSensitive || isDiacriticSensitive }

    /// - Throws: `.invalidQuery` (102) for no words or too many.
    init(_ term: String, isCaseSensitive: Bool = false, isDiacriticSensitive: Bool = false) throws {
        self.isCaseSensitive = isCaseSensitive
        self.isDiacriticSensitive = isDiacriticSensitive
        guard WordSearch.wordCount(of: term) <= WordSearch.wordsMax else {
            throw ParseError(.invalidQuery, "A $text search may have at most \(WordSearch.wordsMax) words.")
        }
        for (index, part) in term.split(separator: "\"", omittingEmptySubsequences: false).enumerated() {
            if index % 2 == 1 {
                if part.contains(where: WordSearch.isWordPart) { phrases.append(String(part)) }
                continue
            }
            for word in part.split(whereSeparator: \.isWhitespace) where word.contains(where: WordSearch.isWordPart) {
                if word.hasPrefix("-") {
                    excluded.append(String(word.dropFirst()))
                } else {
                    words.append(String(word))
                }
            }
        }
        guard !words.isEmpty || !phrases.isEmpty else {
            throw ParseError(.invalidQuery, "A $text search needs a word to search for.")
        }
    }

    private static func isWordPart(_ character: Character) -> Bool { character.isLetter || character.isNumber }

    /// The MATCH expression for the index. For a sensitive search it also finds texts that do not match.
    func candidates(column: Int) -> String {
        let wanted =
            phrases.isEmpty
            ? words.map(TextIndex.quoted).joined(separator: " OR ")
            : phrases.map(TextIndex.quoted).joined(separator: " AND ")
        var match = "(\(wanted))"
        // A folded word may exclude texts that the exact word does not.
        if !isSensitive { for word in excluded { match += " NOT \(TextIndex.quoted(word))" } }
        return "c\(column) : (\(match))"
    }

    // MARK: The text itself

    /// The search as text, for `satchel_word_score`.
    var specification: String {
        let json: JSON = [
            "words": .array(words.map(JSON.string)), "phrases": .array(phrases.map(JSON.string)),
            "excluded": .array(excluded.map(JSON.string)), "case": .bool(isCaseSensitive),
            "diacritics": .bool(isDiacriticSensitive),
        ]
        return json.serializedText
    }

    init?(specification: JSON) {
        func strings(_ name: String) -> [String] { specification[name]?.arrayValue?.compactMap(\.stringValue) ?? [] }
        guard let isCaseSensitive = specification["case"]?.boolValue,
            let isDiacriticSensitive = specification["diacritics"]?.boolValue
        else { return nil }
        self.isCaseSensitive = isCaseSensitive
        self.isDiacriticSensitive = isDiacriticSensitive
        words = strings("words")
        phrases = strings("phrases")
        excluded = strings("excluded")
    }

    /// Scores texts for a search, whose words are split only once.
    final class Scorer {
        private let search: WordSearch
        private let words: [SequenceMatcher<Int>]
        private let phrases: [SequenceMatcher<Int>]
        private let excluded: [SequenceMatcher<Int>]
        /// The numbers of the searched words, by their bytes.
        private let numbers: [[UInt8]: Int]
        private let soughtCount: Int

        /// Other words of a text, and filler words.
        private static let other = -1
        private static let filler = -2
        /// Words of a text between two checks of the clock, some ten microseconds.
        private static let wordsPerLook = 64

        init(_ search: WordSearch) {
            var numbers: [[UInt8]: Int] = [:]
            func matchers(_ terms: [String]) -> [SequenceMatcher<Int>] {
                terms.map { term in
                    SequenceMatcher(
                        search.tokens(term).map { token in
                            let bytes = Array(token.utf8)
                            let number = numbers[bytes] ?? numbers.count
                            numbers[bytes] = number
                            return number
                        })
                }
            }
            self.search = search
            words = matchers(search.words)
            phrases = matchers(search.phrases)
            soughtCount = numbers.count
            excluded = matchers(search.excluded)
            self.numbers = numbers
        }

        /// The text's rank; nil when it does not match. The ranking follows MongoDB's text index, which clients know.
        /// Each word that is found counts between a half and one, more if the text has fewer other words. Each
        /// repetition counts half as much as the one before.
        /// - Throws: `WorkInterrupted` when the clock ends the work.
        func score(of text: String, _ clock: some WorkClock) throws(WorkInterrupted) -> Double? {
            let tokens = try numbered(text, clock)
            guard !excluded.contains(where: { $0.isIn(tokens) }),
                phrases.isEmpty
                    ? words.contains(where: { $0.isIn(tokens) }) : phrases.allSatisfy({ $0.isIn(tokens) })
            else { return nil }
            let length = Double(tokens.count { $0 != Self.filler })
            var counts = Array(repeating: 0, count: soughtCount)
            for token in tokens where token >= 0 && token < soughtCount { counts[token] += 1 }
            return counts.reduce(0) { (sum: Double, count: Int) -> Double in
                guard count > 0 else { return sum }
                // 1 + 1/2 + 1/4 + …
                let frequency: Double = 2 - pow(0.5, Double(count - 1))
                let share: Double = Double(count) / length
                return sum + frequency * (0.5 + 0.5 * share)
            }
        }

        private func numbered(_ text: String, _ clock: some WorkClock) throws(WorkInterrupted) -> [Int] {
            var tokens: [Int] = []
            for part in text.split(whereSeparator: { !WordSearch.isWordPart($0) }) {
                if tokens.count % Self.wordsPerLook == 0, clock.isOver { throw WorkInterrupted() }
                let token = search.folded(part)
                tokens.append(
                    numbers[Array(token.utf8)] ?? (WordSearch.fillers.contains(token) ? Self.filler : Self.other))
            }
            return tokens
        }
    }

    /// English words without meaning for a text's topic; they do not count in its length.
    static let fillers: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not",
        "of",
        "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will",
        "with",
    ]

    private func tokens(_ text: String) -> [String] {
        WordSearch.tokens(text, isCaseSensitive: isCaseSensitive, isDiacriticSensitive: isDiacriticSensitive)
    }

    private func folded(_ word: Substring) -> String {
        WordSearch.folded(word, isCaseSensitive: isCaseSensitive, isDiacriticSensitive: isDiacriticSensitive)
    }

    /// Runs of letters and digits, folded for the search's sensitivity.
    static func tokens(_ text: String, isCaseSensitive: Bool, isDiacriticSensitive: Bool) -> [String] {
        text.split { !WordSearch.isWordPart($0) }.map {
            folded($0, isCaseSensitive: isCaseSensitive, isDiacriticSensitive: isDiacriticSensitive)
        }
    }

    private static func folded(_ word: Substring, isCaseSensitive: Bool, isDiacriticSensitive: Bool) -> String {
        var options: String.CompareOptions = []
        if !isCaseSensitive { options.insert(.caseInsensitive) }
        if !isDiacriticSensitive { options.insert(.diacriticInsensitive) }
        return String(word).precomposedStringWithCanonicalMapping.folding(options: options, locale: nil)
    }

    /// An upper bound of the words that each engine finds in a term. FTS5 splits at marks and signs that are part of
    /// words for `isWordPart`, and treats private-use scalars as letters.
    private static func wordCount(of term: String) -> Int {
        var (count, isInWord) = (0, false)
        for scalar in term.unicodeScalars {
            let properties = scalar.properties
            switch properties.generalCategory {
            case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
                .letterNumber, .otherNumber, .privateUse:
                if !isInWord { count += 1 }
                isInWord = true
            case .nonspacingMark where (0x300...0x36F).contains(scalar.value): break
            default:
                if !isInWord, properties.isAlphabetic || properties.numericType != nil { count += 1 }
                isInWord = false
            }
        }
        return count
    }
}
