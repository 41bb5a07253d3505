import Foundation
import ParseProtocol
import TestSupport
import Testing

/// A class with repeated queries for the same kind of page gets an index automatically. An operator can see and remove
/// the index.
@Suite struct IndexScenarioTests {
    /// PostgreSQL reads a row in less than a microsecond.
    private static let rows = Suite.keepsFiles ? 2_400 : 9_600

    /// Imports a class that has no index for the tested pages.
    private static func filledClass(_ master: ParseClient) async throws -> String {
        let className = "Shelf\(Names.random(8))"
        let results = (0..<rows).map { row -> JSON in
            [
                "shelf": .string("s\(row % 40)"), "kind": .string("k\(row % 30)"), "price": .int(Int64(row % 100)),
                "name": .string("n\((row * 7919) % rows)"),
            ]
        }
        let answer = try await master.call(.POST, "/import/\(className)", ["results": .array(results)])
        #expect(answer["imported"] == .int(Int64(rows)), "\(answer.text.prefix(500))")
        return className
    }

    private static func ask(
        _ client: ParseClient, _ className: String, _ condition: JSON, _ order: JSON
    ) async throws -> [JSON] {
        var answer: [JSON] = []
        for _ in 0..<12 {
            // Otherwise the gateway would answer all but the first query from its cache.
            let options: [String: JSON] = ["order": order, "limit": 5, "comment": .string(Names.random(8))]
            answer = try await client.find(className, condition, options).results
        }
        return answer.compactMap { $0["name"] }
    }

    private static func waitFor(_ index: String, _ className: String, _ master: ParseClient) async throws {
        try await eventually("\(index) is ready") {
            let schema = try await master.get("/schemas/\(className)")
            return schema.json.at("automaticIndexes", .member(index), "state") == "ready"
        }
    }

    @Test(.timeLimit(.minutes(10))) func aScanningShapeGetsAnIndexThatCanBeRemoved() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let className = try await Self.filledClass(master)
        let path = "/schemas/\(className)"
        #expect(try await master.get(path)["indexes"] == nil)

        // One visitor's queries alone never cause an index.
        _ = try await Self.ask(ParseClient(suite), className, [:], "-price")
        let before = try await Self.ask(master, className, ["shelf": "s3"], "name")
        #expect(before.count == 5)
        try await Self.waitFor("auto_shelf_name", className, master)
        let schema = try await master.get(path)
        #expect(schema["indexes"] == ["_id_": ["_id": 1], "auto_shelf_name": ["name": 1, "shelf": 1]])
        #expect(schema.json.at("automaticIndexes", "auto_shelf_name", "madeBy") == "satchel")
        #expect(schema.json.at("automaticIndexes", "auto_price") == nil)
        let plan = try await master.find(className, ["shelf": "s3"], ["order": "name", "explain": true])
        let way = Suite.keepsFiles ? "SEARCH x USING COVERING INDEX" : "Index Scan using a"
        #expect(plan.text.contains(way), "\(plan.text)")
        #expect(try await Self.ask(master, className, ["shelf": "s3"], "name") == before)
        let count = try await master.find(className, ["shelf": "s3"], ["count": 1, "limit": 0])["count"]
        #expect(count == .int(Int64(Self.rows / 40)))

        let removed = try await master.call(.PUT, path, ["indexes": ["auto_shelf_name": ["__op": "Delete"]]])
        #expect(removed["indexes"] == nil, "\(removed.text)")
        #expect(removed.json.at("automaticIndexes", "auto_shelf_name", "state") == "unwanted", "\(removed.text)")
        // A repeated query for the removed index comes before the queries that cause the next index.
        #expect(try await Self.ask(master, className, ["shelf": "s3"], "name") == before)
        _ = try await Self.ask(master, className, ["kind": "k3"], "-name")
        try await Self.waitFor("auto_kind_name", className, master)
        let later = try await master.get(path)
        #expect(later["indexes"] == ["_id_": ["_id": 1], "auto_kind_name": ["kind": 1, "name": 1]], "\(later.text)")
    }
}
