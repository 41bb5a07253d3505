import ObjectStore
import ParseProtocol
import Testing

/// Pipelines over a few objects: every stage, accumulator and expression, with results, refusals and bounds.
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

    @Test func wholeObjectsEqualThoseOfFinds() async throws {
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
        ([["$graphLookup": ["from": "Item"]]], 102), ([["$lookup": ["from": "Item"]]], 102), ([["$lookup": 1]], 102),
        ([["$lookup": ["from": "Nowhere", "localField": "a", "foreignField": "b", "as": "c"]]], 102),
        ([["$lookup": ["from": "_Join:a:b", "localField": "a", "foreignField": "b", "as": "c"]]], 103),
        ([["$lookup": ["from": "Item", "localField": "a'", "foreignField": "b", "as": "c"]]], 105),
        ([["$lookup": ["from": "Item", "localField": "a", "foreignField": "b'", "as": "c"]]], 105),
        ([["$lookup": ["from": "Item", "localField": "a", "foreignField": "b", "as": "c.d"]]], 105),
        ([["$project": ["x": ["$substr": ["$name", 0]]]]], 102),
        ([["$project": ["x": ["$substr": [["a"], 0, 1]]]]], 102),
        ([["$project": ["x": ["$substr": ["é", 1, 1]]]]], 102),
        ([["$project": ["x": ["$substr": ["$name", "0", 1]]]]], 102),
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

    @Test func aLookupJoinsObjectsOfAnotherClass() async throws {
        let test = try await Self.filled()
        var ids: [String] = []
        for (title, rank) in [("one", 1), ("two", 2), ("three", 2)] {
            ids.append(
                try await test.create(
                    "Brand", ["title": .string(title), "rank": .int(Int64(rank)), "tags": ["a", .string(title)]]))
        }
        for (name, brand) in [("x", ids[0]), ("y", ids[1]), ("z", "gone")] {
            try await test.create(
                "Goods", ["name": .string(name), "brand": .pointer("Brand", brand), "ranks": [2, 1], "rank": 2])
        }
        func joined(_ lookup: JSON, before: [JSON] = []) async throws -> [JSON] {
            let rows = try await run(test, .array(before + [["$lookup": lookup], ["$sort": ["name": 1]]]), "Goods")
            return rows.map { .array(($0["found"]?.arrayValue ?? []).map { $0["title"] ?? .null }) }
        }
        let byText: JSON = ["$project": ["name": 1, "id": ["$substr": ["$_p_brand", 6, -1]]]]
        #expect(
            try await joined(
                ["from": "Brand", "localField": "id", "foreignField": "_id", "as": "found"], before: [byText])
                == [["one"], ["two"], []])
        #expect(
            try await joined(["from": "Brand", "localField": "rank", "foreignField": "rank", "as": "found"])
                == [["two", "three"], ["two", "three"], ["two", "three"]])
        #expect(
            try await joined(["from": "Brand", "localField": "ranks", "foreignField": "rank", "as": "found"])
                == [["one", "two", "three"], ["one", "two", "three"], ["one", "two", "three"]])
        #expect(
            try await joined(["from": "Brand", "localField": "nothing", "foreignField": "nothing", "as": "found"])[0]
                == ["one", "two", "three"])
        // The pipeline of an SDK's own test.
        let goods: JSON = [
            ["$match": ["name": ["$ne": "z"]]], byText,
            ["$lookup": ["from": "Brand", "localField": "id", "foreignField": "_id", "as": "brand"]],
            ["$unwind": ["path": "$brand"]], ["$match": ["brand.rank": 2]],
        ]
        let rows = try await run(test, goods, "Goods")
        try #require(rows.count == 1)
        #expect(rows[0]["brand"]?["objectId"] == .string(ids[1]))
        #expect(rows[0]["brand"]?["_id"] == nil)
        let mutual: JSON = [
            ["$lookup": ["from": "Brand", "localField": "rank", "foreignField": "rank", "as": "same"]],
            ["$sort": ["title": 1]],
        ]
        #expect(try await run(test, mutual, "Brand").map { $0["same"]?.arrayValue?.count } == [1, 2, 2])
    }

    @Test func manyDocumentsAreJoinedInParts() async throws {
        let test = try await TestStore()
        for n in 0..<1200 { try await test.create("Many", ["n": .int(Int64(n)), "twin": .int(Int64(1199 - n))]) }
        let rows = try await run(
            test, [["$lookup": ["from": "Many", "localField": "twin", "foreignField": "n", "as": "t"]]], "Many")
        #expect(rows.count == 1200)
        #expect(rows.allSatisfy { $0["t"]?.arrayValue?.map { $0["n"] } == [$0["twin"]] })
    }

    @Test func aggregatesNeedTheMasterKey() async throws {
        let test = try await Self.filled()
        let group = await code {
            _ = try await test.store.read { try $0.aggregate(Aggregate(className: "Item", pipeline: []), caller: ann) }
        }
        #expect(group == 119)
    }

    /// The distinct values come only from objects and fields that a find would show.
    @Test func distinctValuesAreThoseThatTheCallerMayFind() async throws {
        let test = try await TestStore([
            ClassDefinition(
                "Page", fields: ["section": .string, "secret": .string],
                permissions: ClassPermissions(find: .signedIn, get: .signedIn).protecting(["*": ["secret"]])),
            ClassDefinition(
                "Note", fields: ["owner": .pointer("_User"), "text": .string],
                permissions: ClassPermissions.open.protecting(["userField:owner": ["text"]])),
        ])
        for (section, access) in [
            ("a", ["*": ["read": true]]), ("a", ["*": ["read": true]]), ("b", ["annannanna": ["read": true]]),
            ("c", [:]),
        ] as [(String, JSON)] {
            try await test.create("Page", ["section": .string(section), "secret": "s", "ACL": access])
        }
        for owner in ["annannanna", "bob"] {
            try await test.create("Note", ["owner": .pointer("_User", owner), "text": .string(owner)])
        }
        func values(
            _ field: String, _ condition: JSON = [:], of className: String = "Page", as caller: Caller = ann
        ) async throws -> JSON? {
            let query = Query(className: className, where: condition.serialized)
            let body = try await test.store.read { try $0.distinct(field, of: query, caller: caller).body }
            return try JSON(parsing: body)["results"]
        }
        #expect(try await values("section") == ["a", "b"])
        #expect(try await values("section", ["section": ["$ne": "a"]]) == ["b"])
        #expect(try await values("section", as: .master) == ["a", "b", "c"])
        #expect(try await values("text", of: "Note") == ["bob"], "Of ann's own note the field is hidden from ann.")
        #expect(await code { _ = try await values("secret") } == 119)
        #expect(await code { _ = try await values("section", ["secret": "s"]) } == 119)
        #expect(await code { _ = try await values("section", as: .anonymous) } == 101)
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
