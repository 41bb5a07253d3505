extension PostgreSQLFunctions {
    /// Computes the words of texts that no index contains (`WordSearch`).
    ///
    /// It splits and folds as `WordSearch.tokens` does, for all letters of living languages. The searched words are
    /// split by `WordSearch.tokens`.
    static let words = #"""
        CREATE OR REPLACE FUNCTION satchel_words(value text, keeps_case boolean, keeps_marks boolean) RETURNS text[]
            LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
            AS $$
                SELECT array_agg(left(normalize(CASE WHEN keeps_case THEN plain
                    ELSE replace(translate(lower(plain), 'ςſ', 'σs'), 'ß', 'ss') END, NFC), 250) ORDER BY place)
                FROM (
                    SELECT place, CASE WHEN keeps_marks THEN found[1]
                        ELSE regexp_replace(found[1], '[\u0300-\u036F\u0483-\u0487]', '', 'g') END
                        COLLATE "und-x-icu" AS plain
                    FROM regexp_matches(
                        normalize(value, NFD) COLLATE "und-x-icu",
                        '[[:alnum:]\u00B2\u00B3\u00B9\u00BC-\u00BE\u2070-\u2089\u2150-\u218B\u2460-\u249B'
                        '\u0300-\u036F\u0483-\u0489\u0591-\u05BD\u0610-\u061A\u064B-\u065F\u0670\u0900-\u0963'
                        '\u0966-\u0DFF\u0E31\u0E34-\u0E3A\u0E47-\u0E4E\u1DC0-\u1DFF\u20D0-\u20F0]+', 'g')
                        WITH ORDINALITY AS matches(found, place)
                ) plain_words
            $$
        """#

    /// The rank of a text by its words; NULL for a text that does not match. Each word, phrase and excluded word
    /// consists of its parts, separated by spaces. The function is STABLE because `array_to_string` is.
    static let wordScore = """
        CREATE OR REPLACE FUNCTION satchel_word_score(tokens text[], words text[], phrases text[], excluded text[])
            RETURNS float8 LANGUAGE sql STABLE STRICT AS $$
                SELECT CASE
                    WHEN EXISTS (
                        SELECT 1 FROM unnest(excluded) AS terms(term) WHERE strpos(line, ' ' || term || ' ') > 0)
                        THEN NULL
                    WHEN CASE WHEN cardinality(phrases) = 0
                        THEN EXISTS (
                            SELECT 1 FROM unnest(words) AS terms(term) WHERE strpos(line, ' ' || term || ' ') > 0)
                        ELSE NOT EXISTS (
                            SELECT 1 FROM unnest(phrases) AS terms(term) WHERE strpos(line, ' ' || term || ' ') = 0) END
                    THEN (
                        SELECT coalesce(sum((2 - power(0.5::float8, n - 1)) * (0.5 + 0.5 * n / counted)), 0)
                        FROM (
                            SELECT count(*)::float8 AS n FROM unnest(tokens) AS listed(token)
                            WHERE token = ANY (sought) GROUP BY token
                        ) counts
                        CROSS JOIN (
                            SELECT count(*)::float8 AS counted FROM unnest(tokens) AS listed(token)
                            WHERE token = ANY (sought) OR token NOT IN (FILLERS)
                        ) lengths
                    ) END
                FROM (
                    SELECT ' ' || array_to_string(tokens, ' ') || ' ' AS line,
                        string_to_array(array_to_string(words || phrases, ' '), ' ') AS sought
                    OFFSET 0
                ) parts
            $$
        """.replacing("FILLERS", with: WordSearch.fillers.sorted().map { "'\($0)'" }.joined(separator: ","))
}
