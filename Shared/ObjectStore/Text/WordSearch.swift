import Foundation
import ParseProtocol

/// The terms of a `$text` search: any of its words, every "quoted phrase", none of the -excluded words.
///
/// The full-text index folds case and diacritics. A search that shall not is answered in two steps: the index finds
/// candidates, and the text itself decides.
struct WordSearch {
    private(set) var words: [String] = []
    private(set) var phrases: [String] = []
    private(set) var excluded: [String] = []
    let isCaseSensitive: Bool
    let isDiacriticSensitive: Bool

    /// More words than anybody types; each costs a walk through the index.
    static let wordsMax = 100

    var isSensitive: Bool { isCaseSensitive || isDiacriticSensitive }

    /// - Throws: `.invalidQuery` (102) when nothing or too much is searched for.
    init(_ term: String, isCaseSensitive: Bool = false, isDiacriticSensitive: Bool = false) throws {
        self.isCaseSensitive = isCaseSensitive
        self.isDiacriticSensitive = isDiacriticSensitive
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
        guard words.count + phrases.count + excluded.count <= WordSearch.wordsMax else {
            throw ParseError(.invalidQuery, "A $text search may have at most \(WordSearch.wordsMax) words.")
        }
        guard !words.isEmpty || !phrases.isEmpty else {
            throw ParseError(.invalidQuery, "A $text search needs a word to search for.")
        }
    }

    private static func isWordPart(_ character: Character) -> Bool { character.isLetter || character.isNumber }

    /// The MATCH expression for the index. Of a sensitive search it finds more than what matches.
    func candidates(column: Int) -> String {
        let wanted =
            phrases.isEmpty
            ? words.map(TextIndex.quoted).joined(separator: " OR ")
            : phrases.map(TextIndex.quoted).joined(separator: " AND ")
        var match = "(\(wanted))"
        // A folded form may exclude what the exact one does not.
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

    /// The search at work on texts, its own words split once.
    final class Scorer {
        private let search: WordSearch
        private let words: [[String]]
        private let phrases: [[String]]
        private let excluded: [[String]]
        private let sought: Set<String>

        init(_ search: WordSearch) {
            self.search = search
            words = search.words.map(search.tokens)
            phrases = search.phrases.map(search.tokens)
            excluded = search.excluded.map(search.tokens)
            sought = Set((words + phrases).joined())
        }

        /// The text's rank; nil when it does not fit. Each word that is found counts between a half and one, the more
        /// the fewer other words the text has, and its repetitions half as much each time: the ranking of MongoDB's
        /// text index, which clients know.
        func score(of text: String) -> Double? {
            let tokens = search.tokens(text)
            func has(_ phrase: [String]) -> Bool { WordSearch.contains(tokens, phrase) }
            guard !excluded.contains(where: has),
                phrases.isEmpty ? words.contains(where: has) : phrases.allSatisfy(has)
            else { return nil }
            let length = Double(tokens.count { sought.contains($0) || !WordSearch.fillers.contains($0) })
            var counts: [String: Int] = [:]
            for token in tokens where sought.contains(token) { counts[token, default: 0] += 1 }
            return counts.values.reduce(0) { (sum: Double, count: Int) -> Double in
                // 1 + 1/2 + 1/4 + …
                let frequency: Double = 2 - pow(0.5, Double(count - 1))
                let share: Double = Double(count) / length
                return sum + frequency * (0.5 + 0.5 * share)
            }
        }
    }

    /// English words that say nothing about what a text is about; they do not count in its length.
    static let fillers: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not",
        "of",
        "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will",
        "with",
    ]

    /// Runs of letters and digits, folded as far as the search does not care.
    private func tokens(_ text: String) -> [String] {
        WordSearch.tokens(text, isCaseSensitive: isCaseSensitive, isDiacriticSensitive: isDiacriticSensitive)
    }

    static func tokens(_ text: String, isCaseSensitive: Bool, isDiacriticSensitive: Bool) -> [String] {
        var options: String.CompareOptions = []
        if !isCaseSensitive { options.insert(.caseInsensitive) }
        if !isDiacriticSensitive { options.insert(.diacriticInsensitive) }
        return text.split { !WordSearch.isWordPart($0) }.map {
            String($0).precomposedStringWithCanonicalMapping.folding(options: options, locale: nil)
        }
    }

    private static func contains(_ tokens: [String], _ phrase: [String]) -> Bool {
        guard !phrase.isEmpty, phrase.count <= tokens.count else { return false }
        return (0...(tokens.count - phrase.count)).contains { tokens[$0..<($0 + phrase.count)].elementsEqual(phrase) }
    }
}
