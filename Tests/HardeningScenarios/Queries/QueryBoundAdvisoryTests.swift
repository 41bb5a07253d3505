import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Attacks by queries that are too deep or too wide over HTTP, each named after its advisory.
@Suite struct QueryBoundAdvisoryTests {
    @Test("2026-30946: includes and sub-queries have bounds in depth and number")
    func advisory2026_30946_complexityIsBounded() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        func include(_ depth: Int) -> JSON { .string(Array(repeating: "brand", count: depth).joined(separator: ".")) }
        #expect(try await client.find("Product", [:], ["include": include(10), "limit": 1]).status == 200)
        #expect(try await client.find("Product", [:], ["include": include(11), "limit": 1]).code == 102)
        let many = JSON.string((0..<101).map { "f\($0)" }.joined(separator: ","))
        #expect(try await client.find("Product", [:], ["include": many]).code == 102)
        func nested(_ depth: Int) -> JSON {
            (0..<depth).reduce(["title": "x"] as JSON) { inner, _ in
                ["brand": ["$inQuery": ["className": "Product", "where": inner]]]
            }
        }
        #expect(try await client.find("Product", nested(5)).status == 200)
        #expect(try await client.find("Product", nested(6)).code == 102)
        func wide(_ count: Int) -> JSON {
            [
                "$or": .array(
                    (0..<count).map { _ in ["brand": ["$inQuery": ["className": "Category", "where": ["title": "x"]]]] }
                )
            ]
        }
        #expect(try await client.find("Product", wide(20)).status == 200)
        #expect(try await client.find("Product", wide(21)).code == 102)
        let pointers = (0..<9).map { "p\($0).x" }.joined(separator: ",")
        #expect([200, 400].contains(try await client.find("Product", [:], ["order": .string(pointers)]).status))
    }

    @Test("2026-32944: deeply nested operators are refused and overflow nothing", arguments: ["$or", "$and", "$nor"])
    func advisory2026_32944_deepNestingIsRefused(_ name: String) async throws {
        let suite = try await Suite.shared
        for depth in [17, 60, 1_000, 100_000] {
            let open = String(repeating: "{\"\(name)\":[", count: depth)
            let text = open + "{\"name\":\"x\"}" + String(repeating: "]}", count: depth)
            let body = Array(#"{"_method":"GET","_ApplicationId":"satchel","where":\#(text)}"#.utf8)
            let answer = try await ParseClient(suite).send(
                .POST, "/classes/Product", headers: [("Content-Type", "text/plain")], body: body)
            #expect([102, 107].contains(answer.code ?? 0), "\(depth): \(answer.text.prefix(200))")
            let quoted = JSON.object(["_method": "GET", "_ApplicationId": "satchel", "where": .string(text)]).serialized
            let asText = try await ParseClient(suite).send(
                .POST, "/classes/Product", headers: [("Content-Type", "text/plain")], body: quoted)
            #expect([102, 107].contains(asText.code ?? 0), "\(depth): \(asText.text.prefix(200))")
        }
        try await suite.untilHealthy()
    }

    @Test("2026-33498: the depth is that of the filter as it runs, in whatever form it came")
    func advisory2026_33498_noFormEvadesTheDepth() async throws {
        let suite = try await Suite.shared
        func deep(_ depth: Int) -> JSON {
            (0..<depth).reduce(["name": "x"] as JSON) { inner, index in
                .object([["$or", "$nor", "$and"][index % 3]: [inner]])
            }
        }
        let tooDeep = deep(17)
        for client in try await ParseClient.attackers(suite) {
            #expect(try await client.find("Product", deep(15)).status == 200)
            for condition in [
                tooDeep, .string(tooDeep.serializedText), ["name": "x", "$or": [["price": 1], tooDeep]],
                ["brand": ["$inQuery": ["className": "Category", "where": tooDeep]]],
                [
                    "brand": ["$notInQuery": ["className": "Category", "where": tooDeep], "$exists": true], "name": "x",
                ],
                ["name": ["$select": ["query": ["className": "Category", "where": tooDeep], "key": "title"]]],
            ] as [JSON] {
                #expect(
                    try await client.find("Product", condition).code == 102, "\(condition.serializedText.prefix(120))")
            }
            // Conditions that a sub-query adds to a filter count too.
            var around: JSON = [
                "brand": ["$inQuery": ["className": "Category", "where": ["title": "x"]], "$exists": true]
            ]
            for _ in 0..<16 { around = ["$and": [around]] }
            #expect(try await client.find("Product", around).code == 102)
        }
    }

    @Test("2026-57480: a walk over nested operators takes time in proportion to their number")
    func advisory2026_57480_nestingIsWalkedOnce() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        for leaf in [
            ["name": "x"], ["brand": ["$inQuery": ["className": "Category", "where": ["title": "x"]]]],
            ["brand.title": "x"],
        ] as [JSON] {
            var condition = leaf
            for index in 0..<14 {
                condition = .object([
                    ["$or", "$and", "$nor"][index % 3]: [
                        ["name": "a"], condition, ["$or": [["name": "b"], ["name": "c"]]],
                    ]
                ])
            }
            let start = ContinuousClock.now
            let answer = try await client.find("Product", condition, ["limit": 1])
            #expect(answer.status == 200, "\(answer.text.prefix(200))")
            #expect(ContinuousClock.now - start < .seconds(8), "2^14 walks would take far longer than one.")
        }
        let wide: JSON = ["$or": .array((0..<1001).map { ["n": .int(Int64($0))] })]
        #expect(try await client.find("Product", wide).code == 102)
    }
}
