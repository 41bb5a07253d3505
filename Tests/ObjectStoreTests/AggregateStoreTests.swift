import ObjectStore
import ParseProtocol
import Testing

/// Pipelines over a few objects: every stage, accumulator and expression, what they refuse, and where they end.
@Suite struct AggregateStoreTests {
    private static func filled() async throws -> TestStore {
        let test = try await TestStore()
        let rows: [(String, Double, Double, [JSON], String, String)] = [
            ("a", 10, 1.5, ["S", "M"], "2020-02-29T23:59:58.007Z", "b1"),
            ("b", 10, 2.5, ["M"], "2021-12-31T00:00:00.000Z", "b2"),
            ("c", 20, 0.1, [], "2021-01-03T12:30:00.000Z", "b1"),
        ]
        for (name, score, price, sizes, day, brand) in rows {
            try await test.create(
                "Item",
                [
                    "name": .string(name), "score": JSON(number: score), "price": JSON(number: price),
                    "sizes": .array(sizes), "day": date(day), "brand": .pointer("Brand", brand),
                    "place": ["city": .string(name == "c" ? "Bergen" : "Oslo")],
                    "lines": [["n": JSON(number: score)], ["n": 1]],
                ])
        }
        try await test.create("Item", ["name": "d"])
        return test
    }

    private func run(_ test: TestStore, _ pipeline: JSON, _ className: String = "Item") async throws -> [JSON] {
        let body = try await test.store.read {
            try $0.aggregate(Aggregate(className: className, pipeline: pipeline), caller: .master).body
        }
        return try JSON(parsing: body)["results"]?.arrayValue ?? []
    }

    private func distinct(
        _ test: TestStore, _ field: String, _ condition: JSON = [:], _ className: String = "Item"
    ) async throws -> JSON {
        let query = Query(className: className, where: condition)
        let body = try await test.store.read { try $0.distinct(field, of: query, caller: .master).body }
        return try JSON(parsing: body)["results"] ?? .null
    }

    // MARK: Results

    @Test func everyStageGivesWhatItShould() async throws {
        let test = try await Self.filled()
        for (pipeline, expected) in PipelineCases.all {
            let results = try await run(test, pipeline)
            #expect(JSON.array(results) == expected, "\(pipeline.serializedText)")
        }
    }

    @Test func wholeObjectsComeOutAsFindsGiveThem() async throws {
        let test = try await Self.filled()
        let found = try await test.store.read {
            try $0.documents(Query(className: "Item", order: ["name"]), caller: .master)
        }
        #expect(try await run(test, [["$sort": ["name": 1]]]) == found)
        #expect(try await run(test, []) == found)
        #expect(try await run(test, [], "Nothing") == [])
    }

    @Test func distinctFlattensArraysAndLeavesNullOut() async throws {
        let test = try await Self.filled()
        #expect(try await distinct(test, "score") == [10, 20])
        #expect(try await distinct(test, "sizes") == ["S", "M"])
        #expect(try await distinct(test, "place.city") == ["Oslo", "Bergen"])
        #expect(try await distinct(test, "lines.n") == [10, 1, 20])
        #expect(try await distinct(test, "brand") == [.pointer("Brand", "b1"), .pointer("Brand", "b2")])
        #expect(try await distinct(test, "name", ["score": ["$gte": 10], "sizes": ["$ne": "S"]]) == ["b", "c"])
        #expect(try await distinct(test, "createdAt").arrayValue?.first?.wireType == "Date")
        #expect(try await distinct(test, "objectId").arrayValue?.count == 4)
        #expect(try await distinct(test, "unknown") == [])
        #expect(try await distinct(test, "score", [:], "Nothing") == [])
    }

    // MARK: Refusals

    static let refused: [(JSON, Int)] = [
        (["text"], 102), (["$match": [:]], 102), ([["$match": [:], "$limit": 1]], 102), ([[:]], 102),
        ([["group": ["_id": "$a"]]], 102),
        ([["$bogus": 1]], 102), ([["$out": "Item"]], 102), ([["$merge": ["into": "Item"]]], 102),
        ([["$lookup": ["from": "_User"]]], 102),
        ([["$group": ["n": ["$sum": 1]]]], 102), ([["$group": ["_id": "$a", "objectId": ["$sum": 1]]]], 102),
        ([["$group": ["_id": "$a", "n": 1]]], 102), ([["$group": ["_id": "$a", "n": ["$bogus": 1]]]], 102),
        ([["$group": ["_id": "$a", "n": ["$sum": 1, "$avg": 1]]]], 102), ([["$group": "x"]], 102),
        ([["$limit": 0]], 102), ([["$limit": "1"]], 102), ([["$limit": 1.5]], 102), ([["$skip": -1]], 102),
        ([["$sort": [:]]], 102), ([["$sort": ["a": 2]]], 102), ([["$sort": ["a": 1, "b": 1]]], 102),
        ([["$sort": [["a"]]]], 102),
        ([["$project": [:]]], 102), ([["$project": ["a": 1, "b": 0]]], 102), ([["$project": ["a": 1, "a.b": 1]]], 102),
        ([["$project": ["x": ["$bogus": 1]]]], 102), ([["$project": ["x": ["$add": [1], "y": 2]]]], 102),
        ([["$project": ["x": ["$subtract": [1]]]]], 102), ([["$project": ["x": "$$USER_ROLES"]]], 102),
        ([["$project": ["x": ["$add": ["$name", 1]]]]], 102), ([["$project": ["x": ["$divide": [1, 0]]]]], 102),
        ([["$project": ["x": ["$multiply": [1e300, 1e300]]]]], 102), ([["$project": ["x": ["$year": "$name"]]]], 102),
        ([["$project": ["x": ["$dateToString": ["date": "$day", "format": "%Q"]]]]], 102),
        ([["$unwind": "sizes"]], 102), ([["$unwind": ["path": "$sizes", "other": 1]]], 102), ([["$count": 1]], 102),
        ([["$sample": 3]], 102), ([["$match": 1]], 102), ([["$match": ["name": ["$bogus": 1]]]], 107),
        ([["$limit": 9], ["$match": ["name": ["$bogus": 1]]]], 102),
        ([["$limit": 9], ["$match": ["name": ["$regex": "("]]]], 102),
        ([["$match": ["createdAt": "x", "_created_at": "y"]]], 102), ([["$match": ["$or": 1]]], 102),
        ([["$limit": 9], ["$match": ["$or": []]]], 102),
        (.array(Array(repeating: ["$limit": 1], count: 51)), 102),
    ]

    @Test func badPipelinesAreRefused() async throws {
        let test = try await Self.filled()
        for (pipeline, expected) in Self.refused {
            let code = await code { _ = try await run(test, pipeline) }
            #expect(code == expected, "\(pipeline.serializedText.prefix(200))")
        }
    }

    @Test func nobodyWithoutTheMasterKeyAggregates() async throws {
        let test = try await Self.filled()
        let group = await code {
            _ = try await test.store.read { try $0.aggregate(Aggregate(className: "Item", pipeline: []), caller: ann) }
        }
        let distinct = await code {
            _ = try await test.store.read { try $0.distinct("name", of: Query(className: "Item"), caller: admin) }
        }
        #expect(group == 119 && distinct == 119)
    }

    // MARK: Bounds

    private func expensive() async throws -> TestStore {
        let test = try await TestStore()
        let list = JSON.array((0..<100).map { .int($0) })
        for _ in 0..<5 { try await test.create("Item", ["a": list, "b": list, "c": list, "d": list, "e": list]) }
        return test
    }

    private func failure(of pipeline: JSON, within limit: Duration, _ test: TestStore) async -> Int? {
        await code {
            _ = try await test.store.read { reader in
                let usual = reader.timeLimit
                reader.timeLimit = limit
                defer { reader.timeLimit = usual }
                return try reader.aggregate(Aggregate(className: "Item", pipeline: pipeline), caller: .master)
            }
        }
    }

    @Test func aPipelineThatMultipliesDocumentsEndsWithItsTime() async throws {
        let test = try await expensive()
        let unwinds: [JSON] = ["a", "b", "c", "d", "e"].map { ["$unwind": .string("$" + $0)] }
        let result = await failure(of: .array(unwinds + [["$count": "n"]]), within: .milliseconds(200), test)
        #expect(result == 124)
    }

    @Test func aPipelineThatKeepsTooMuchIsRefused() async throws {
        let test = try await expensive()
        let unwinds: [JSON] = ["a", "b", "c", "d"].map { ["$unwind": .string("$" + $0)] }
        for gathering in [
            ["$sort": ["x.y": 1]], ["$group": ["_id": .null, "all": ["$push": "$$ROOT"]]],
            ["$sample": ["size": 100_000_000]],
        ]
            as [JSON]
        {
            let result = await failure(of: .array(unwinds + [gathering]), within: .seconds(300), test)
            #expect(result == 154, "\(gathering.serializedText)")
        }
    }

    @Test func aPipelineThatDoublesItsDocumentIsRefused() async throws {
        let test = try await expensive()
        let wide: [JSON] = (0..<40).map { _ in ["$set": ["a": ["$a", "$a"]]] }
        let deep: [JSON] = (0..<40).map { _ in ["$project": ["z": ["b": "$$ROOT"]]] }
        for pipeline in [wide, deep] {
            let result = await failure(of: .array(pipeline), within: .seconds(300), test)
            #expect(result == 154)
        }
    }
}
