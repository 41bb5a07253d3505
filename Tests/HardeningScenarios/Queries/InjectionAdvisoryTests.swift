import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Injection attacks on queries over HTTP, each named after its advisory.
@Suite struct InjectionAdvisoryTests {
    private static let patterns = [
        "'", "''", "'; DROP TABLE o1; --", "^\\Q' OR 1=1 --\\E", "a' UNION SELECT doc FROM o1 --", "\\'", "$1", "?1",
        "x'+(SELECT 1)+'", "^'.*'$", "\u{0}'",
    ]

    @Test("2026-30835: a bad pattern is told without the engine's words")
    func advisory2026_30835_badPatternsTellNothing() async throws {
        let suite = try await Suite.shared
        for client in try await ParseClient.attackers(suite) {
            for pattern in [
                "(", "[", "*", "a{2,1}", "(?<", "\\", "(?P<n>a)(?P<n>b)", "(?(", "[[:bad:]]", "\\p{Nope}", "(?<=a+)b",
                "\\C",
            ] {
                for condition in [
                    ["name": ["$regex": .string(pattern)]], ["tags": ["$all": [["$regex": .string(pattern)]]]],
                ] as [JSON] {
                    let answer = try await client.find("Product", condition)
                    #expect(answer.code == 102, "\(pattern): \(answer.text)")
                    #expect(
                        answer["error"] == "The $regex is not a valid regular expression.",
                        "\(pattern): \(answer.text)"
                    )
                    expectNoInternalText(answer)
                }
            }
        }
    }

    @Test("2024-27298: a pattern is never SQL")
    func advisory2024_27298_aPatternIsNeverSQL() async throws {
        try await expectPatternsAreValues { ["$regex": .string($0)] }
    }

    @Test("2024-39309: a quoted literal in a pattern is never SQL")
    func advisory2024_39309_aQuotedLiteralIsNeverSQL() async throws {
        try await expectPatternsAreValues { ["$regex": .string("^\\Q\($0)\\E"), "$options": "i"] }
        try await expectPatternsAreValues { ["$all": [["$regex": .string("^\\Q\($0)\\E")]]] }
    }

    private func expectPatternsAreValues(_ constraint: (String) -> JSON) async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let shelf = try await Shelf.fill(suite, names: ["it's \(Names.random(4))"])
        // One text contains a zero byte, which PostgreSQL does not support.
        let expected = Suite.keepsFiles ? [nil, 102] : [nil, 102, 111]
        for pattern in Self.patterns {
            // `name` has a text index, `priceUnit` has none, `tags` is an array.
            for field in ["name", "priceUnit", "tags", "brand.title", "unknown"] {
                let answer = try await client.find(
                    "Product", .object([field: constraint(pattern), "brand": shelf.pointer]))
                #expect(expected.contains(answer.code), "\(field) \(pattern): \(answer.text)")
                #expect(field == "name" || answer.results.isEmpty, "\(field) \(pattern): \(answer.text)")
                expectNoInternalText(answer)
            }
        }
        #expect(
            try await client.find("Product", ["brand": shelf.pointer]).results.count == 1, "Everything is still there.")
    }

    private static let names = [
        "a'b", "a\"b", "a) OR 1=1--", "name' OR '1'='1", "a;DROP TABLE o1", "name)--", "a b", "a\u{0}b", "name`",
        "a[0]", "a->b", "", "a/**/", "é", "0'", "0]", "-1", "__proto__", "_bsontype",
    ]

    @Test("2026-31840: a dotted field name is never SQL")
    func advisory2026_31840_aDottedNameIsNeverSQL() async throws {
        try await expectNamesAreRefused(
            Self.names.flatMap { ["place.\($0)", "brand.\($0)", "tags.\($0)", "\($0).place", "place.x.\($0)"] } + [
                "place..x", "place.", ".place", "1a.place", "brand.1a", "brand.0",
            ])
    }

    @Test("2026-32234: a field name is never SQL")
    func advisory2026_32234_aFieldNameIsNeverSQL() async throws {
        try await expectNamesAreRefused(Self.names + ["1a", "0", "_x"])
    }

    private func expectNamesAreRefused(_ names: [String]) async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        for name in names {
            for condition in [
                .object([name: "x"]), .object([name: ["$regex": "x"]]), ["$or": [.object([name: ["$in": [1]]])]],
            ] as [JSON] {
                let answer = try await client.find("Product", condition)
                #expect(answer.code == 105, "\(name): \(answer.text)")
                expectNoInternalText(answer)
            }
            // The server splits a list at commas and ignores empty names.
            guard !name.isEmpty else { continue }
            let ordered = try await client.find("Product", [:], ["order": .array([.string(name)])])
            #expect(ordered.code == 105, "\(name): \(ordered.text)")
            expectNoInternalText(ordered)
            for option in ["keys", "excludeKeys"] {
                let answer = try await client.find("Product", [:], [option: .array([.string(name)]), "limit": 1])
                #expect(answer.status == 200 || answer.code == 102, "\(option) \(name): \(answer.text)")
                expectNoInternalText(answer)
            }
            let included = try await client.find("Product", [:], ["include": .array([.string(name)])])
            #expect(included.code == 102, "\(name): \(included.text)")
        }
        try await suite.untilHealthy()
    }
}
