/// Words in PostgreSQL: arrays of texts, each short enough for an index entry.
extension WordSearch {
    /// Limit of a word's letters, at most four bytes each; only the first ones of a longer word count.
    private static let lettersMax = 250

    /// The words of a text without case and diacritics, in the index's form.
    static func indexed(_ text: String) -> [String] {
        shortened(tokens(text, isCaseSensitive: false, isDiacriticSensitive: false))
    }

    private static func shortened(_ tokens: [String]) -> [String] {
        tokens.map { token in
            // A letter has at least one byte, so such a token is short enough.
            guard token.utf8.count > lettersMax else { return token }
            return String(String.UnicodeScalarView(token.unicodeScalars.prefix(lettersMax)))
        }
    }

    /// The literal of an array of words, or of phrases with a space between their words. Neither contains a quote.
    static func list(_ words: some Sequence<String>) -> String {
        "{\(words.map { "\"\($0)\"" }.joined(separator: ","))}"
    }

    /// The arguments of `satchel_word_score`: the words, phrases and excluded words.
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
