extension PostgreSQLFunctions {
    /// The words of texts that no index has, and the rank of a text by its words (`WordSearch`).
    ///
    /// `satchel_words` splits and folds as `WordSearch.tokens` does for all letters of living languages; whoever looks
    /// for words splits what is looked for by the latter.
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
            $$;

        -- Each word, phrase and excluded word is its parts with a space between them.
        CREATE OR REPLACE FUNCTION satchel_word_score(tokens text[], words text[], phrases text[], excluded text[])
            RETURNS float8 LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
            DECLARE
                line text := ' ' || array_to_string(tokens, ' ') || ' ';
                sought text[] := string_to_array(array_to_string(words || phrases, ' '), ' ');
                counted float8;
            BEGIN
                IF tokens IS NULL OR EXISTS(SELECT FROM unnest(excluded) p WHERE strpos(line, ' ' || p || ' ') > 0) THEN
                    RETURN NULL;
                END IF;
                IF cardinality(phrases) = 0 THEN
                    IF NOT EXISTS(SELECT FROM unnest(words) p WHERE strpos(line, ' ' || p || ' ') > 0) THEN
                        RETURN NULL;
                    END IF;
                ELSIF EXISTS(SELECT FROM unnest(phrases) p WHERE strpos(line, ' ' || p || ' ') = 0) THEN
                    RETURN NULL;
                END IF;
                SELECT count(*) INTO counted FROM unnest(tokens) t
                    WHERE t = ANY(sought) OR t <> ALL('{FILLERS}'::text[]);
                RETURN (SELECT coalesce(sum((2 - power(0.5::float8, n - 1)) * (0.5 + 0.5 * n / counted)), 0) FROM (
                    SELECT count(*)::float8 AS n FROM unnest(tokens) t WHERE t = ANY(sought) GROUP BY t) counts);
            END $$;

        """#.replacing("FILLERS", with: WordSearch.fillers.sorted().joined(separator: ","))
}
