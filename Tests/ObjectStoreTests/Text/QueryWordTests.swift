import ObjectStore
import ParseProtocol
import Testing

/// `$text` searches that distinguish case or diacritics: the index finds candidates, and the stored text decides.
@Suite struct QueryWordTests {
    private static func search(_ term: String, _ options: [String: JSON] = [:]) -> JSON {
        ["name": ["$text": ["$search": .object(["$term": .string(term)].merging(options) { $1 })]]]
    }

    private static func filled() async throws -> TestStore {
        let test = try await TestStore([ClassDefinition("Drink", fields: ["name": .string], textFields: ["name"])])
        for name in ["Café au lait", "cafe to go", "CAFE noir", "café noir", "Tea, not Cafe"] {
            try await test.create("Drink", ["name": .string(name)])
        }
        return test
    }

    private static let cases: [(String, [String: JSON], [String])] = [
        ("cafe", [:], ["CAFE noir", "Café au lait", "Tea, not Cafe", "cafe to go", "café noir"]),
        (
            "cafe", ["$caseSensitive": false, "$diacriticSensitive": false, "$language": "en"],
            ["CAFE noir", "Café au lait", "Tea, not Cafe", "cafe to go", "café noir"]
        ),
        ("cafe", ["$caseSensitive": true], ["cafe to go", "café noir"]),
        ("CAFÉ", ["$caseSensitive": true], ["CAFE noir"]),
        ("cafe", ["$diacriticSensitive": true], ["CAFE noir", "Tea, not Cafe", "cafe to go"]),
        ("CAFÉ", ["$diacriticSensitive": true], ["Café au lait", "café noir"]),
        ("café", ["$caseSensitive": true, "$diacriticSensitive": true], ["café noir"]),
        ("cafe\u{301}", ["$caseSensitive": true, "$diacriticSensitive": true], ["café noir"]),
        ("Cafe tea", ["$caseSensitive": true, "$diacriticSensitive": true], ["Tea, not Cafe"]),
        ("\"Cafe noir\"", ["$caseSensitive": true], []), ("\"CAFE noir\"", ["$caseSensitive": true], ["CAFE noir"]),
        ("noir -cafe", ["$diacriticSensitive": true], ["café noir"]),
        ("noir -CAFE", ["$caseSensitive": true], ["café noir"]),
        ("noir -cafe", [:], []),
    ]

    @Test func sensitivityDecides() async throws {
        let test = try await Self.filled()
        for (term, options, expected) in Self.cases {
            #expect(try await test.names("Drink", Self.search(term, options)) == expected, "\(term) \(options)")
            let query = Query(className: "Drink", where: Self.search(term, options))
            #expect(try await test.store.read { try $0.count(query, caller: .master) } == expected.count)
        }
    }

    @Test func theScoreStaysInItsOrderWithSensitivity() async throws {
        let test = try await Self.filled()
        let query = Query(
            className: "Drink", where: Self.search("cafe noir", ["$caseSensitive": true]), order: ["$score"],
            keys: ["$score", "name"])
        let found = try await test.store.read { try $0.documents(query, caller: .master) }
        #expect(Set(found.compactMap { $0["name"]?.stringValue }) == ["café noir", "CAFE noir", "cafe to go"])
        #expect(found.first?["name"] == "café noir", "Both words are better than one.")
        let scores = found.compactMap { $0["score"]?.doubleValue }
        #expect(scores.count == 3)
        #expect(scores == scores.sorted(by: >))
    }

    private static let texts = [
        "Café au lait, and the cafe", "STRAßE Strasse straße", "ΣΊΣΥΦΟΣ σίσυφος", "Ångström \u{212B}ngstrom",
        "Привет, мир! Ёлка", "x² Ⅷ ½ 42nd a_b c-d O'Neil", "हिन्दी भाषा", "日本語 テキスト", "عَرَبِيّ عربي", "한국어 텍스트",
        "İstanbul ıstanbul", "naïve cooperate coöperate", "e\u{301}te\u{301} été ete", "  ...  ", "ſea Sea",
    ]
    private static let terms = [
        "cafe", "Café", "strasse", "STRASSE", "straße", "σίσυφος", "ΣΙΣΥΦΟΣ", "angstrom", "Ångström", "привет", "елка",
        "ёлка", "x²", "Ⅷ", "42nd", "a", "b c", "\"c d\"", "o'neil", "neil -a", "हिन्दी", "भाषा", "日本語", "عربي",
        "عَرَبِيّ", "한국어", "istanbul", "naive", "\"naive cooperate\"", "été", "ete -cafe", "sea", "SEA tea",
    ]

    /// Words and ranks are the same with and without a text index. SQLite's index folds some Greek letters by its own
    /// rules.
    @Test(.enabled(if: TestStore.server != nil, "The engine's own functions split texts without an index."))
    func anIndexChangesNothing() async throws {
        let test = try await TestStore([
            ClassDefinition("W", fields: ["name": .string, "text": .string, "plain": .string], textFields: ["text"])
        ])
        for (number, text) in Self.texts.enumerated() {
            try await test.create("W", ["name": .string("\(number)"), "text": .string(text), "plain": .string(text)])
        }
        let sensitivities: [[String: JSON]] = [
            [:], ["$caseSensitive": true], ["$diacriticSensitive": true],
            ["$caseSensitive": true, "$diacriticSensitive": true],
        ]
        for term in Self.terms {
            for options in sensitivities {
                let search = JSON.object(["$term": .string(term)].merging(options) { $1 })
                let found = try await test.store.read { reader in
                    try ["text", "plain"].map { field in
                        let query = Query(
                            className: "W", where: [field: ["$text": ["$search": search]]], order: ["name"],
                            keys: ["name", "$score"])
                        return try reader.documents(query, caller: .master).map { [$0["name"], $0["score"]] }
                    }
                }
                #expect(found[0] == found[1], "\(term) \(options)")
            }
        }
    }

    /// Examples of the rules for words, for strings without an index.
    @Test func wordsAreFoldedInEveryScript() async throws {
        let test = try await TestStore()
        for text in Self.texts { try await test.create("W", ["name": .string(text)]) }
        func found(_ term: String, _ options: [String: JSON] = [:]) async throws -> [Int?] {
            try await test.names("W", Self.search(term, options), order: ["createdAt"]).map(Self.texts.firstIndex(of:))
        }
        #expect(try await found("cafe") == [0])
        #expect(try await found("strasse") == [1])
        #expect(try await found("ΣΙΣΥΦΟΣ") == [2])
        #expect(try await found("ΣΊΣΥΦΟΣ", ["$diacriticSensitive": true]) == [2])
        #expect(try await found("angstrom") == [3])
        #expect(try await found("ёлка", ["$diacriticSensitive": true]) == [4])
        #expect(try await found("елка", ["$diacriticSensitive": true]) == [])
        #expect(try await found("x²") == [5])
        #expect(try await found("ⅷ") == [5])
        #expect(try await found("हिन्दी") == [6])
        #expect(try await found("日本語") == [7])
        #expect(try await found("한국어") == [9])
        #expect(try await found("naive") == [11])
        #expect(try await found("été", ["$diacriticSensitive": true, "$caseSensitive": true]) == [12])
    }

    @Test func malformedSearchesAreRefused() async throws {
        let test = try await Self.filled()
        let malformed: [[String: JSON]] = [
            ["$caseSensitive": 1], ["$diacriticSensitive": "yes"], ["$language": 1], ["$term": 1],
        ]
        for options in malformed {
            #expect(await code { _ = try await test.names("Drink", Self.search("cafe", options)) } == 107, "\(options)")
        }
        #expect(await code { _ = try await test.names("Drink", Self.search("", [:])) } == 102)
    }
}
