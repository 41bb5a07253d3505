import ObjectStore
import ParseProtocol
import Testing

/// The meaning of `$regex` where engines of regular expressions differ.
@Suite struct QueryPatternTests {
    private static let texts = ["ab", "a\nb", "ab\n", "café", "a-b", "ÄB 12", "x٣", "a.b", "b]c", "{2}"]

    /// Pattern, options and the texts that it finds.
    private static let cases: [(String, String, [String])] = [
        ("^ab$", "", ["ab", "ab\n"]), (#"^ab\Z"#, "", ["ab", "ab\n"]), (#"^ab\z"#, "", ["ab"]),
        ("a$", "", []), ("^a$", "m", ["a\nb"]), ("^b", "m", ["a\nb", "b]c"]), ("^b", "", ["b]c"]),
        ("a.b", "", ["a-b", "a.b"]), ("a.b", "s", ["a\nb", "a-b", "a.b"]), ("a[^x]b", "", ["a\nb", "a-b", "a.b"]),
        ("a[^x]b", "m", ["a\nb", "a-b", "a.b"]), (#"a\Wb"#, "", ["a\nb", "a-b", "a.b"]),
        (#"a\sb"#, "", ["a\nb"]), (#"a[\s-]b"#, "", ["a\nb", "a-b"]), (#"a[\w.-]b"#, "", ["a-b", "a.b"]),
        (#"caf\w"#, "", []), (#"caf\w"#, "u", ["café"]), (#"caf\b"#, "", ["café"]), (#"caf\b"#, "u", []),
        (#"caf\B"#, "u", ["café"]), (#"x\d"#, "", []), (#"x\d"#, "u", ["x٣"]), (#"x\D"#, "", ["x٣"]),
        (#"[[:digit:]]{2}"#, "", ["ÄB 12"]), ("f[[:alpha:]]", "", []), ("äb", "i", ["ÄB 12"]), ("äb", "", []),
        (#"\QÄB 1\E\d"#, "", ["ÄB 12"]), ("[]]c", "", ["b]c"]), (#"^\{2}"#, "", ["{2}"]),
        (#"\x61\x{62}$"#, "", ["ab", "ab\n"]), ("^$", "m", []), ("[[:punct:]]", "", ["a-b", "a.b", "b]c", "{2}"]),
        ("(?<=a)b(?!\\n)", "", ["ab"]), ("(a|x)(?=b)", "", ["ab", "ab\n"]), (#"a\.b"#, "", ["a.b"]),
        ("a b # c", "x", ["ab", "ab\n"]),
        ("c[A\u{C9}F]F|caf[\u{C9}]", "i", ["café"]),
    ]

    @Test func patternsMeanTheSameInEveryEngine() async throws {
        let test = try await TestStore()
        for text in Self.texts { try await test.create("T", ["name": .string(text)]) }
        for (pattern, options, expected) in Self.cases {
            let found = try await test.names(
                "T", ["name": ["$regex": .string(pattern), "$options": .string(options)]], order: ["createdAt"])
            #expect(Set(found) == Set(expected), "\(pattern) \(options)")
        }
    }

    /// The store refuses syntax that PostgreSQL lacks; it never gives it another meaning.
    @Test(arguments: ["(?>a)b", "a++b", #"\p{L}"#, "(?<name>a)", "(?i)a", #"\Ka"#, "a{300}", "[[:^alpha:]]"])
    func whatTheEngineCannotIsRefused(pattern: String) async throws {
        let test = try await TestStore()
        try await test.create("T", ["name": "ab"])
        let answer = await code { _ = try await test.names("T", ["name": ["$regex": .string(pattern)]]) }
        #expect(answer == (TestStore.server == nil ? nil : 102))
    }
}
