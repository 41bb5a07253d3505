import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Update operators whose field names or amounts contain SQL: names must match an allow-list, values are bound, and
/// nothing else changes.
@Suite struct IncrementAdvisoryTests {
    /// Fragments of SQL, used as names and as parts of names.
    private static let fragments = [
        "a'", "a\"", "a`", "a;", "a--", "a)", "a]", "a b", "a'||'b", "a\") = 1; DROP TABLE o1; --",
        "a', (SELECT doc FROM o1))--", "a\\\"", "a/*", "a*/", "a%27", "a\u{0}", "a\u{27}b", "ä", "a-b", "a$b", "$a",
        "1a",
        "", " ", "_a", "a[0]", "a->b", "a->>'b'", "a::text",
    ]

    private static let operators: [JSON] = [
        ["__op": "Increment", "amount": 1], ["__op": "Add", "objects": [1]], ["__op": "AddUnique", "objects": [1]],
        ["__op": "Remove", "objects": [1]], ["__op": "Delete"], 1,
    ]

    private struct Counters {
        let client: ParseClient
        let className: String
        let path: String
        let bystander: String

        init(_ suite: Suite) async throws {
            client = try await Customer.signUp(suite).client
            className = "Counter\(Names.random(6))"
            let object: JSON = ["n": 1, "stats": ["wins": 1, "deep": ["er": 1]], "list": [1]]
            let made = try await client.create(className, object)
            guard made.status == 201 else { throw Unexpected("POST counter", made) }
            path = "/classes/\(className)/\(made.objectId)"
            bystander = "/classes/\(className)/\(try await client.create(className, object).objectId)"
        }

        /// The stored values of both objects, without their dates.
        func picture() async throws -> [JSON] {
            var picture: [JSON] = []
            for path in [path, bystander] {
                let object = try await client.get(path)
                picture += ["n", "stats", "list"].map { object[$0] ?? .null }
            }
            picture.append(try await client.find(className, [:], ["count": 1, "limit": 0]).json)
            return picture
        }
    }

    /// Names that are forbidden for fields but allowed for members of an Object.
    private static let memberNames: Set<String> = ["1a", "_a", "a b", " ", "ä", "a-b", "a--"]

    private func expectRefused(
        _ name: (String) -> String, in ways: [Way] = Way.allCases, but allowed: Set<String> = []
    ) async throws {
        let suite = try await Suite.shared
        let counters = try await Counters(suite)
        let before = try await counters.picture()
        for fragment in Self.fragments where !allowed.contains(fragment) {
            for operation in Self.operators {
                for way in ways {
                    let outcome = try await counters.client.go(
                        way, .PUT, counters.path, [name(fragment): operation])
                    let what = "\(way) \(name(fragment).debugDescription): \(outcome.text)"
                    #expect(!outcome.isSuccess, "\(what)")
                    #expect([105, 121].contains(outcome.code), "\(what)")
                    #expect(!outcome.text.lowercased().contains("sqlite"), "\(what)")
                    #expect(!outcome.text.contains("syntax"), "\(what)")
                }
            }
            let made = try await counters.client.create(
                counters.className, [name(fragment): ["__op": "Increment", "amount": 1]])
            #expect(made.status == 400, "\(made.text)")
            #expect([105, 121].contains(made.code), "\(made.text)")
        }
        #expect(try await counters.picture() == before)
    }

    @Test("2026-31856: Increment of a nested field takes identifiers only")
    func advisory2026_31856_nestedFieldsTakeIdentifiersOnly() async throws {
        try await expectRefused { "\($0).wins" }
        try await expectRefused({ $0.isEmpty ? "." : $0 }, in: [.plain, .batched])
    }

    @Test("2026-31871: the sub-key of a dotted Increment takes letters, digits, _, - and spaces only")
    func advisory2026_31871_subKeysTakeNamesOnly() async throws {
        try await expectRefused({ "stats.\($0)" }, but: Self.memberNames)
        try await expectRefused({ "stats.deep.\($0).er" }, in: [.plain, .tunnelled], but: Self.memberNames)
    }

    @Test("2026-31856: an amount is a number")
    func advisory2026_31856_amountsAreNumbers() async throws {
        let suite = try await Suite.shared
        let counters = try await Counters(suite)
        let before = try await counters.picture()
        for amount in [
            "1", "1; DROP TABLE o1", .null, true, [], [1], [:], ["$ne": 1], ["__op": "Increment", "amount": 1],
            ["__type": "Date", "iso": "2022-01-01T00:00:00.000Z"],
        ] as [JSON] {
            for name in ["n", "stats.wins", "stats.deep.er", "fresh", "fresh.er"] {
                for way in Way.allCases {
                    let outcome = try await counters.client.go(
                        way, .PUT, counters.path, [name: ["__op": "Increment", "amount": amount]])
                    #expect(!outcome.isSuccess, "\(way) \(name) \(amount): \(outcome.text)")
                    #expect(outcome.code == 107, "\(way) \(name) \(amount): \(outcome.text)")
                }
            }
        }
        for text in ["1e999", "-1e999", "NaN", "Infinity", "0x10", "1_000", ""] {
            let body = #"{"n":{"__op":"Increment","amount":\#(text)}}"#
            let answer = try await counters.client.send(
                .PUT, counters.path, headers: counters.client.credentials, body: Array(body.utf8))
            #expect(answer.status == 400, "\(text): \(answer.text)")
            #expect(answer.code == 107, "\(text): \(answer.text)")
        }
        #expect(try await counters.picture() == before)
    }

    /// The control: the refused requests succeed with valid names.
    @Test("2026-31871: fields, nested fields and keys of any text are counted and kept as they are")
    func advisory2026_31871_whatIsAllowedCounts() async throws {
        let suite = try await Suite.shared
        let counters = try await Counters(suite)
        for (way, expected) in zip(Way.allCases, 2...) {
            let outcome = try await counters.client.go(
                way, .PUT, counters.path,
                [
                    "n": ["__op": "Increment", "amount": 1], "stats.wins": ["__op": "Increment", "amount": 1],
                    "stats.deep.er": ["__op": "Increment", "amount": 1.0],
                ])
            #expect(outcome.isSuccess, "\(outcome.text)")
            let object = try await counters.client.get(counters.path)
            #expect(object["n"] == .int(Int64(expected)))
            #expect(object["stats"] == ["wins": .int(Int64(expected)), "deep": ["er": .int(Int64(expected))]])
        }
        #expect(try await counters.client.get(counters.bystander)["n"] == 1)
        // A key inside a value is data: it is stored and returned, but no path reaches it.
        let odd: JSON = ["a'b": 1, "c\"d": ["e;--": 2], "ä": 3]
        #expect(try await counters.client.call(.PUT, counters.path, ["stats": odd]).status == 200)
        #expect(try await counters.client.get(counters.path)["stats"] == odd)
        #expect(try await counters.client.find(counters.className, ["stats.a'b": 1]).code == 105)
        #expect(try await counters.client.find(counters.className, ["stats": odd]).results.count == 1)
        #expect(try await counters.client.find(counters.className, [:], ["order": "stats.a'b"]).status == 400)
        #expect(try await counters.client.find(counters.className, [:], ["keys": "stats.a'b,n'"]).status != 500)
    }
}
