/// Words as PostgreSQL has them: arrays of texts, of which none is longer than an entry of its index may be.
extension WordSearch {
    /// A word's letters at most; of a longer one only the first count.
    private static let lettersMax = 250

    /// The words of a text without case and diacritics, as the index has them.
    static func indexed(_ text: String) -> [String] {
        shortened(tokens(text, isCaseSensitive: false, isDiacriticSensitive: false))
    }

    private static func shortened(_ tokens: [String]) -> [String] {
        tokens.map { token in
            // No letter has more than four bytes.
            guard token.utf8.count > lettersMax else { return token }
            return String(String.UnicodeScalarView(token.unicodeScalars.prefix(lettersMax)))
        }
    }

    /// The literal of an array of words, or of phrases with a space between their words. Neither has a quote.
    static func list(_ words: some Sequence<String>) -> String {
        "{\(words.map { "\"\($0)\"" }.joined(separator: ","))}"
    }

    /// What `satchel_word_score` takes: the words, phrases and excluded words.
    var lists: [String] {
        [words, phrases, excluded].map { terms in
            let phrases = terms.map { term in
                let tokens = WordSearch.tokens(
                    term, isCaseSensitive: isCaseSensitive, isDiacriticSensitive: isDiacriticSensitive)
                return WordSearch.shortened(tokens).joined(separator: " ")
            }
            return WordSearch.list(phrases.filter { !$0.isEmpty })
        }
    }
}
