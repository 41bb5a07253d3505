import ObjectStore
import ParseProtocol
import Testing

/// `$text` searches that distinguish case or diacritics: the index finds candidates, the text decides.
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
