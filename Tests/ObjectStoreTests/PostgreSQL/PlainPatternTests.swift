import ObjectStore
import ParseProtocol
import Testing

/// Patterns in the words that PostgreSQL and its relatives have in common. What is expected means the same to PCRE2,
/// PostgreSQL 15 and Go's `regexp`.
@Suite struct PlainPatternTests {
    /// Pattern, options and how it is written.
    static let cases: [(String, String, String)] = [
        // What SDKs send.
        (#"\Qa.b\E"#, "", #"a\.b"#), (#"^\Qa.b\E"#, "", #"^a\.b"#), (#"\Qa.b\E$"#, "", #"a\.b\n?$"#),
        (#"\Qa\E\\E\Qb\E"#, "", #"a\\Eb"#), (#"\Qab"#, "", "ab"), (#"^\Qa1\E"#, "i", "^[Aa]1"), ("ab$", "", #"ab\n?$"#),
        // Nothing.
        ("", "", ""), ("a|", "", "a|"), ("(|a)+", "", "(?:|a)+"), ("()*", "", "(?:)*"), (#"\Q\E\E"#, "", ""),
        ("a{0}", "", "a{0}"),
        // Anchors.
        (#"\Aa\z"#, "", "^a$"), (#"a\Z"#, "m", #"a\n?$"#), ("^a|b$", "", #"^a|b\n?$"#), ("a^b", "", "a^b"),
        ("(?:^|,)a(,|$)", "", #"(?:^|,)a(?:,|\n?$)"#), ("^$", "", #"^\n?$"#), ("^a$", "m", #"(?:^|\n)a(?:\n|$)"#),
        ("^a|b$", "m", #"(?:^|\n)a|b(?:\n|$)"#), ("(?:^|,)a(,|$)", "m", #"(?:(?:^|\n)|,)a(?:,|(?:\n|$))"#),
        ("^", "m", #"(?:^|\n)"#), (#"^\n"#, "m", #"(?:^|\n)\n"#), (#"^a*\z|^"#, "", #"^a*$|^"#),
        // Points and classes.
        ("a.b", "", #"a[^\n]b"#), ("a.b", "s", #"a(?:.|\n)b"#), (#"[\s\S]*"#, "", #"(?:.|\n)*"#),
        (#"\d\D"#, "", "[0-9][^0-9]"),
        (#"\w\W"#, "", "[0-9A-Z_a-z][^0-9A-Z_a-z]"), (#"\s\S"#, "", #"[\t-\r ][^\t-\r ]"#),
        (#"[\w.-]"#, "", #"[\-.0-9A-Z_a-z]"#),
        ("[[:alpha:][:digit:]]", "", "[0-9A-Za-z]"), ("[[:^punct:]]", "", #"[^!-/:-@\[-`{-~]"#),
        ("[[:upper:]][[:lower:]]", "i", "[A-Za-z][A-Za-z]"), ("[^[:^digit:]]", "", "[0-9]"),
        (#"\w"#, "i", "[0-9A-Z_a-z]"),
        // Lists.
        ("[]a][^]a][[][a-]", "", #"[\]a][^\]a]\[[\-a]"#), (#"[\]\\^\-x]"#, "", #"[\-\\-\^x]"#),
        ("[+--]", "", #"[+-\-]"#),
        ("[a-c-e]", "", #"[\-a-ce]"#), ("[cba]", "", "[a-c]"), ("[.]", "", #"\."#), (#"[\b\n]"#, "", "[\u{8}\\n]"),
        (#"[\x41-\x{43}]"#, "", "[A-C]"), (#"[\x00-\x1f]"#, "", "[\u{1}-\u{1F}]"),
        (#"[\x{80}-\x{10FFFF}]"#, "", "[^\u{1}-\u{7F}]"), ("[äöü]ß", "", "[äöü]ß"),
        // Signs.
        (#"\.\*\/\-\ \_\é"#, "", #"\.\*/- _é"#), (#"\t\r\f\a\e\x41"#, "", "\\t\\r\\f\u{7}\u{1B}A"),
        ("a{,b{c}]}", "", #"a\{,b\{c\}\]\}"#),
        (#"\*\*\*a"#, "", #"\*\*\*a"#), ("a#b c", "", "a#b c"),
        // Without case.
        ("äk", "i", "[Ää][Kk\u{212A}]"), ("ß", "i", "[ß\u{1E9E}]"), ("ǆ", "i", "[Ǆ-ǆ]"), ("[a-c1]", "i", "[1A-Ca-c]"),
        ("[^x]", "i", "[^Xx]"), ("[а-в]", "i", "[А-Ва-вᲀ]"), ("İı", "i", "İı"), ("漢", "i", "漢"), ("ᾳ", "i", "[ᾳᾼ]"),
        (#"\x{e4}"#, "iu", "[Ää]"),
        // Blanks.
        ("a b # c\n {2} [ #]", "x", "ab{2}[ #]"), (#"\Qa b\E\ [#]"#, "x", "a b #"), ("a +?", "x", "a+"),
        // Groups and repetitions.
        ("(a)(?:b|c)", "", "a(?:b|c)"), ("(ab)*(?:a)+(b?){2}", "", "(?:ab)*a+(?:b?){2}"),
        ("a*?b+?c??d{2,3}?e{1,}?", "", "a*b+c?d{2,3}e+"), ("a{255}b{2,}", "", "a{255}b{2,}"), (#"\Qab\E+"#, "", "ab+"),
        ("(?:a{250}){4}", "", "(?:a{250}){4}"),
    ]

    @Test(arguments: cases)
    func aPatternIsWrittenWithoutWhatDiffers(_ pattern: String, _ options: String, _ expected: String) throws {
        let text = try PlainPattern(pattern, options: options).text
        #expect(Array(text.unicodeScalars) == Array(expected.unicodeScalars), "\(text)")
    }

    @Test(arguments: [
        // Kinds of groups, and what refers to them.
        "(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", "(?>a)", "(?<name>a)", "(?P<name>a)", "(?i)a", "(?i:a)", "(?#a)",
        "(?|a)",
        "(*UTF)a", "(*ANY)a", #"(a)\1"#, #"(a)\g1"#, #"(?<n>a)\k<n>"#, "(?1)(a)",
        // Places that have no words in common.
        #"\ba"#, #"a\B"#, #"\Ga"#, #"a\Kb"#, "a$b", "a$\\n", #"(a$|b)c"#, #"a\Z$"#, "(^a)*", "(?:a|$)+", "(^)*",
        "(?:$){2}",
        // Classes.
        #"\p{L}"#, #"\h"#, #"\v"#, #"\N"#, #"\R"#, #"\X"#, "[[:<:]]a", "[[.a.]]", "[[=a=]]", "[[:letter:]]",
        #"[^\s\S]"#,
        #"[\h]"#, #"[\Qa\E]"#, #"[\d-z]"#, #"[\W[:digit:]]"#, "[[:^alpha:][:upper:]]",
        // Letters.
        #"\0"#, #"\x00"#, #"\x"#, #"\cA"#, #"\o{101}"#, #"\101"#, "\0",
        // Repetitions.
        "a++", "a*+", "a{2}+", "a{256}", "a{2,300}", "(a{20}){51}", "((a{20}){20}){3}", "(a?){251}", "a{,3}", "a{1, 2}",
        "a{ 2}", "***a", "a**",
    ])
    func whatTheEnginesHaveNotInCommonIsRefused(pattern: String) {
        expectRefusal(pattern, "")
    }

    @Test(arguments: [
        ("^$", "m"), (#"^\s*$"#, "m"), (#"^a*\z"#, "m"), ("a^b", "m"), ("a*^b", "m"), ("$a", "m"), (#"\w"#, "u"),
        (#"\D"#, "u"),
        ("[[:alpha:]]", "u"), ("(^a)+", "m"), ("( ?:a)", "x"),
    ])
    func whatAnOptionMakesDifferIsRefused(_ pattern: String, _ options: String) {
        expectRefusal(pattern, options)
    }

    private func expectRefusal(_ pattern: String, _ options: String) {
        let error = #expect(throws: ParseError.self) { try PlainPattern(pattern, options: options) }
        #expect(error?.code == .invalidQuery)
        let reason = " in a $regex is not possible where objects are kept with SATCHEL_POSTGRESQL=plain."
        #expect(error?.message.hasSuffix(reason) == true, "\(error?.message ?? "")")
    }
}
