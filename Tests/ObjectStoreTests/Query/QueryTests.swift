import ObjectStore
import ParseProtocol
import Testing

/// Every constraint against the same few objects. `a` to `d` are complete; `e` has only its name.
@Suite struct QueryTests {
    static func filled() async throws -> TestStore {
        let test = try await TestStore()
        let rows: [(String, Double, Bool, [JSON], String)] = [
            ("a", 1, true, ["red", 1], "2020-01-01T00:00:00Z"),
            ("b", 2.5, false, ["red", "blue"], "2021-01-01T00:00:00.5Z"),
            ("c", 3, true, [true, .pointer("Brand", "b1")], "2022-01-01T00:00:00.000Z"),
            ("d", 10, false, [], "2023-01-01T00:00:00.000Z"),
        ]
        for (name, price, flag, tags, day) in rows {
            try await test.create(
                "Item",
                [
                    "name": .string(name), "price": JSON(number: price), "flag": .bool(flag), "tags": .array(tags),
                    "day": date(day), "brand": .pointer("Brand", name == "a" ? "b1" : "b2"),
                    "place": [
                        "city": .string("Oslo \(name)"), "floor": JSON(number: price), "open": .bool(flag),
                        "since": date(day),
                    ],
                    "at": ["__type": "GeoPoint", "latitude": JSON(number: price), "longitude": 2],
                    "data": ["__type": "Bytes", "base64": "aGVsbG8="],
                    "image": ["__type": "File", "name": .string("\(name).png")],
                ])
        }
        try await test.create("Item", ["name": "e", "price": .null])
        return test
    }

    static let cases: [(JSON, String)] = [
        ([:], "abcde"),
        (["name": "a"], "a"), (["name": ["$eq": "b"]], "b"), (["name": 1], ""), (["name": .null], ""),
        (["price": 3], "c"), (["price": 3.0], "c"), (["price": "3"], ""), (["price": 2.5], "b"),
        (["price": .null], "e"), (["price": ["$ne": .null]], "abcd"), (["price": ["$ne": 3]], "abde"),
        (["price": ["$ne": "x"]], "abcde"), (["price": true], ""), (["flag": 1], ""), (["flag": true], "ac"),
        (["flag": ["$ne": true]], "bde"),
        (["price": ["$lt": 3]], "ab"), (["price": ["$lte": 3]], "abc"), (["price": ["$gt": 2.5]], "cd"),
        (["price": ["$gte": 2.5, "$lt": 10]], "bc"), (["price": ["$lt": "z"]], ""), (["name": ["$gt": "c"]], "de"),
        (["name": ["$lt": 5]], ""),
        (["price": ["$in": [1, 10, "x"]]], "ad"), (["price": ["$in": []]], ""), (["price": ["$in": [.null, 1]]], "ae"),
        (["price": ["$nin": [1, 10]]], "bce"), (["price": ["$nin": []]], "abcde"),
        (["price": ["$nin": [.null, 1]]], "bcd"),
        (["price": ["$nin": ["x"]]], "abcde"),
        (["price": ["$exists": true]], "abcde"), (["flag": ["$exists": true]], "abcd"),
        (["flag": ["$exists": false]], "e"),
        (["unknown": ["$exists": false]], "abcde"), (["unknown": 1], ""), (["unknown": ["$ne": 1]], "abcde"),
        (["unknown": .null], "abcde"), (["unknown": ["$nin": [1]]], "abcde"),
        (["tags": "red"], "ab"), (["tags": 1], "a"), (["tags": true], "c"), (["tags": ["$ne": "red"]], "cde"),
        (["tags": .pointer("Brand", "b1")], "c"), (["tags": ["$in": ["blue", true]]], "bc"),
        (["tags": ["$nin": ["red"]]], "cde"), (["tags": ["$all": ["red", "blue"]]], "b"),
        (["tags": ["$all": [["$regex": "^re"], ["$regex": "^bl"]]]], "b"), (["tags": ["$regex": "^bl"]], "b"),
        (["tags": ["$containedBy": ["red", "blue", 1]]], "abd"), (["tags": ["$containedBy": [1.0, "red"]]], "ad"),
        (["tags": ["red", 1]], "a"), (["tags": []], "d"),
        (["tags": .null], "e"), (["tags": ["$gt": "c"]], "ab"), (["tags": ["$all": []]], ""),
        (["brand": .pointer("Brand", "b1")], "a"), (["brand": .pointer("Other", "b1")], ""), (["brand": "b2"], "bcd"),
        (["brand": ["__type": "Object", "className": "Brand", "objectId": "b1", "title": "x"]], "a"),
        (["brand": ["$in": [.pointer("Brand", "b2"), .pointer("Brand", "b9")]]], "bcd"),
        (["brand": ["$ne": .pointer("Brand", "b2")]], "ae"), (["brand": ["$exists": true]], "abcd"),
        (["day": date("2021-01-01T00:00:00.500Z")], "b"), (["day": ["$gt": date("2021-06-01T00:00:00Z")]], "cd"),
        (["day": ["$lt": ["$relativeTime": "1 day ago"]]], "abcd"), (["day": ["$gt": ["$relativeTime": "now"]]], ""),
        (["createdAt": ["$gt": ["$relativeTime": "1 hour ago"]]], "abcde"),
        (["createdAt": ["$lt": "2020-01-01T00:00:00.000Z"]], ""),
        (["createdAt": ["$gt": date("2020-01-01T00:00:00Z")]], "abcde"),
        (["place.city": "Oslo a"], "a"), (["place.floor": ["$gte": 3]], "cd"), (["place.open": true], "ac"),
        (["place.open": 1], ""), (["place.city": ["$regex": "b$"]], "b"),
        (["place.city": ["$in": ["Oslo a", "Oslo c"]]], "ac"),
        (["place.nothing": .null], "abcde"), (["place.since": ["$gt": date("2021-06-01T00:00:00Z")]], "cd"),
        (["place.city": ["$ne": "Oslo a"]], "bcde"), (["place.since": date("2020-01-01T00:00:00.000Z")], "a"),
        (["place": ["floor": 1, "city": "Oslo a", "open": true, "since": date("2020-01-01T00:00:00Z")]], "a"),
        (["at": ["__type": "GeoPoint", "latitude": 1.0, "longitude": 2]], "a"),
        (["data": ["__type": "Bytes", "base64": "aGVsbG8="]], "abcd"),
        (["image": ["__type": "File", "name": "c.png"]], "c"),
        (["name": ["$regex": "^[ab]$"]], "ab"), (["name": ["$regex": "B", "$options": "i"]], "b"),
        (["price": ["$regex": "1"]], ""),
        (["$or": [["name": "a"], ["price": ["$gt": 5]]]], "ad"),
        (["$and": [["flag": true], ["price": ["$gt": 1]]]], "c"),
        (["$nor": [["flag": true], ["name": "b"]]], "de"),
        (["$or": [["$and": [["name": "a"]]], ["$nor": [["price": ["$lt": 100]]]]]], "ae"),
        (["name": "a\0"], ""), (["name": ["$in": ["a\0"]]], ""),
    ]

    @Test func everyConstraintFindsWhatItShould() async throws {
        let test = try await Self.filled()
        for (condition, expected) in Self.cases {
            let found = try await test.names("Item", condition).joined()
            #expect(found == expected, "\(condition.serializedText)")
            let count = try await test.store.read {
                try $0.count(Query(className: "Item", where: condition), caller: .master)
            }
            #expect(count == expected.count, "count of \(condition.serializedText)")
        }
    }

    /// A condition that only compares is compiled once for all values.
    @Test func whatWasCompiledForOneValueFindsByAnother() async throws {
        let test = try await Self.filled()
        let cases: [(JSON, String)] = [
            (["name": "a"], "a"), (["name": "b"], "b"), (["name": 1], ""), (["name": "a\0"], ""), (["name": "x"], ""),
            (["price": 3], "c"), (["price": 10], "d"), (["price": 2.5], "b"), (["price": "3"], ""),
            (["name": "c", "price": 3], "c"), (["name": "d", "price": 10], "d"), (["name": "d", "price": 3], ""),
            (["brand": .pointer("Brand", "b1")], "a"), (["brand": .pointer("Brand", "b2")], "bcd"),
            (["brand": .pointer("Other", "b2")], ""), (["brand": "b1"], "a"),
            (["brand": .pointer("Brand", "b2"), "price": 3], "c"), (["name": "e"], "e"),
            (["flag": true], "ac"), (["flag": false], "bd"), (["flag": 1], ""), (["flag": ["$ne": true]], "bde"),
            (["flag": ["$ne": false]], "ace"), (["flag": ["$ne": .null]], "abcd"), (["name": ["$ne": "a"]], "bcde"),
            (["name": ["$ne": "b"]], "acde"), (["name": ["$ne": 1]], "abcde"), (["name": ["$ne": "a\0"]], "abcde"),
            (["price": ["$ne": 3]], "abde"), (["price": ["$ne": 10]], "abce"), (["price": ["$ne": 2.5]], "acde"),
            (["brand": ["$ne": .pointer("Brand", "b2")]], "ae"), (["brand": ["$ne": .pointer("Brand", "b1")]], "bcde"),
            (["brand": ["$ne": .pointer("Other", "b1")]], "abcde"),
            (["brand": .pointer("Brand", "b2"), "flag": true], "c"),
            (["brand": .pointer("Brand", "b2"), "flag": ["$ne": true]], "bd"),
        ]
        let found = try await test.store.read { reader in
            // As from Satchel's own code, and as from a client.
            let queries = (cases + cases).flatMap { condition, _ in
                [
                    Query(className: "Item", where: condition, order: ["name"]),
                    Query(className: "Item", where: condition.serialized, order: ["name"]),
                ]
            }
            return try queries.map { query in
                let names = try reader.documents(query, caller: .master).compactMap { $0["name"]?.stringValue }
                return try names.joined() + "\(reader.count(query, caller: .master))"
            }
        }
        let expected = (cases + cases).flatMap { [$0, $0] }
        #expect(found.count == expected.count)
        for ((condition, expected), found) in zip(expected, found) {
            #expect(found == "\(expected)\(expected.count)", "\(condition.serializedText)")
        }
    }

    @Test func allObjectsButOneAreFound() async throws {
        let test = try await Self.filled()
        try await test.store.read { reader in
            let all = try reader.documents(Query(className: "Item"), caller: .master)
            #expect(all.count == 5)
            for object in all {
                let condition: JSON = ["objectId": ["$ne": object["objectId"] ?? .null]]
                let found = try reader.documents(Query(className: "Item", where: condition.serialized), caller: .master)
                #expect(found == all.filter { $0 != object })
            }
        }
    }

    /// A client must not send the bytes of a cached condition's key: the answer would use another query's values.
    @Test(arguments: ["name\0", "\0name\0", "\0", ""])
    func theFormOfAConditionIsNoCondition(text: String) async throws {
        let test = try await Self.filled()
        try await test.store.read { reader in
            for condition in [["name": "a"], [:]] as [JSON] {
                _ = try reader.documents(Query(className: "Item", where: condition), caller: .master)
            }
            let sent = Query(className: "Item", where: Array(text.utf8))
            if text.isEmpty {
                #expect(try reader.documents(sent, caller: .master).count == 5)
            } else {
                #expect(throws: ParseError.self) { try reader.documents(sent, caller: .master) }
            }
        }
    }

    static let refused: [(JSON, Int)] = [
        (["price": ["$in": 1]], 107), (["price": ["$foo": 1]], 107), (["price": ["$lt": 1, "x": 2]], 107),
        (["$foo": []], 105),
        (["$or": 1], 102), (["$or": []], 102), (["$nor": []], 102), (["$or": [1]], 102), (["ACL": [:]], 102),
        (["a'b": 1], 105), (["a\"b": 1], 105), (["a) OR 1=1--": 1], 105), (["a..b": 1], 105), ([".a": 1], 105),
        (["": 1], 105), (["_rperm": 1], 105),
        (["place.a'": 1], 105), (["name": ["$regex": "("]], 102), (["name": ["$regex": 1]], 107),
        (["name": ["$regex": "a", "$options": "g"]], 102), (["name": ["$options": "i"]], 102),
        (["name": ["$exists": 1]], 107),
        (["name": ["$regex": .string(String(repeating: "a", count: 1001))]], 102),
        (["name": ["$text": ["$search": ["$term": ""]]]], 102),
        (["brand": ["$inQuery": ["className": "Brand", "where": [:]]]], 102), (["at": ["$nearSphere": 1]], 107),
        (["tags": ["$all": [["$regex": "a"], "b"]]], 107), (["day": ["$gt": ["$relativeTime": "yesterday"]]], 107),
        (["day": date("nonsense")], 111), (["$relatedTo": ["object": 1, "key": "x"]], 102),
    ]

    @Test func malformedConstraintsAreRefusedWithTheirCode() async throws {
        let test = try await Self.filled()
        for (condition, expected) in Self.refused {
            let answer = await code { _ = try await test.names("Item", condition) }
            #expect(answer == expected, "\(condition.serializedText)")
        }
        #expect(
            await code {
                _ = try await test.store.read {
                    try $0.count(Query(className: "Item", where: Array("{".utf8)), caller: .master)
                }
            } == 107)
    }

    @Test func ordersByEveryKindOfField() async throws {
        let test = try await Self.filled()
        for (order, expected) in [
            ([], "abcde"), (["-name"], "edcba"), (["price"], "eabcd"), (["-price"], "dcbae"),
            (["flag", "-name"], "edbca"),
            (["day"], "eabcd"), (["-createdAt"], "edcba"), (["place.floor"], "eabcd"), (["unknown", "-name"], "edcba"),
            (["brand", "-name"], "eadcb"),
        ] as [([String], String)] {
            #expect(try await test.names("Item", [:], order: order).joined() == expected, "\(order)")
        }
        #expect(await code { _ = try await test.names("Item", [:], order: ["a b"]) } == 105)
        #expect(await code { _ = try await test.names("Item", [:], order: ["name'; DROP TABLE classes"]) } == 105)
    }

    @Test func pagesNeitherRepeatNorSkip() async throws {
        let test = try await Self.filled()
        var seen = ""
        for skip in stride(from: 0, to: 6, by: 2) {
            seen += try await test.names("Item", [:], order: ["flag"], limit: 2, skip: skip).joined()
        }
        #expect(seen.count == 5)
        #expect(Set(seen).count == 5)
        let page = try await test.store.read {
            try $0.find(
                Query(
                    className: "Item", where: ["flag": true], order: ["name"], limit: 1, wantsCount: true,
                    keys: ["place.city"]), caller: .master)
        }
        let body = try JSON(parsing: page.body)
        #expect(page.rows == 1)
        #expect(body["count"] == 2)
        let first = body["results"]?.arrayValue?.first?.objectValue ?? [:]
        #expect(Set(first.keys) == ["objectId", "createdAt", "updatedAt", "place"])
        let none = try await test.store.read {
            try $0.find(Query(className: "Item", limit: 0, wantsCount: true), caller: .master)
        }
        #expect(String(decoding: none.body, as: UTF8.self) == #"{"results":[],"count":5}"#)
        let unknown = try await test.store.read { try $0.find(Query(className: "Nothing"), caller: .anonymous) }
        #expect(String(decoding: unknown.body, as: UTF8.self) == #"{"results":[]}"#)
        #expect(await code { _ = try await test.names("No such", [:]) } == 103)
    }

    @Test(.sqliteOnly("The plan is in the words of SQLite."))
    func anIndexedQueryUsesItsIndex() async throws {
        let test = try await TestStore([
            ClassDefinition(
                "Product", fields: ["name": .string, "brand": .pointer("Category"), "day": .date],
                indexes: [["brand", "name"], ["name"], ["day"], ["updatedAt"]])
        ])
        try await test.create("Product", ["name": "x"])
        func plan(_ condition: JSON, _ order: [String], _ caller: Caller) async throws -> String {
            try await test.store.read {
                try $0.plan(Query(className: "Product", where: condition, order: order), caller: caller)
            }
        }
        for caller in [Caller.master, .anonymous, ann, admin] {
            let page = try await plan(["brand": .pointer("Category", "c1")], ["name"], caller)
            #expect(page.contains("_brand_name"), "\(page)")
            #expect(!page.contains("TEMP B-TREE"), "\(page)")
            #expect(try await plan(["name": ["$gt": "a"]], ["-name"], caller).contains("_name (<expr>>?)"))
            #expect(try await plan(["day": ["$lt": date("2020-01-01T00:00:00Z")]], ["day"], caller).contains("_day"))
            #expect(try await plan([:], ["-updatedAt"], caller).contains("_updatedAt"))
            #expect(try await plan(["objectId": "x"], [], caller).contains("SEARCH o USING INDEX"))
        }
    }

    @Test func limitsOfSizeAndDepthHold() async throws {
        let test = try await Self.filled()
        var deep: JSON = ["name": "a"]
        for _ in 0..<15 { deep = ["$or": [deep]] }
        #expect(try await test.names("Item", deep) == ["a"])
        deep = ["$or": [deep]]
        let tooDeep = deep
        #expect(await code { _ = try await test.names("Item", tooDeep) } == 102)
        func many(_ count: Int) -> JSON { ["$or": .array((0..<count / 2).map { ["price": .int(Int64($0))] })] }
        #expect(try await test.names("Item", many(1000)) == ["a", "c", "d"])
        #expect(await code { _ = try await test.names("Item", many(1002)) } == 102)
        func list(_ count: Int) -> JSON { ["price": ["$in": .array((0..<count).map { .int(Int64($0)) })]] }
        #expect(try await test.names("Item", list(10_000)) == ["a", "c", "d"])
        #expect(await code { _ = try await test.names("Item", list(10_001)) } == 102)
        let bytes = Array((String(repeating: "{\"$or\":[", count: 10_000)).utf8)
        #expect(
            await code {
                _ = try await test.store.read { try $0.find(Query(className: "Item", where: bytes), caller: .master) }
            } == 102)
    }

    @Test func aRunawayPatternMatchesNothingAndEnds() async throws {
        let test = try await TestStore()
        try await test.create("T", ["name": .string(String(repeating: "a", count: 5000) + "!")])
        let start = ContinuousClock.now
        #expect(try await test.names("T", ["name": ["$regex": "^(a+)+$"]]).isEmpty)
        #expect(ContinuousClock.now - start < .seconds(20))
        #expect(try await test.names("T", ["name": ["$regex": "a!$"]]).count == 1)
        #expect(try await test.names("T", ["name": ["$regex": ""]]).count == 1)
    }

    @Test func aReadThatTakesTooLongIsEnded() async throws {
        let test = try await TestStore()
        try await test.store.write { job in
            for index in 0..<400 {
                _ = try job.create(
                    "T", ["n": .int(Int64(index)), "tags": .array((0..<200).map { .int($0) })], caller: .master)
            }
        }
        let answer = await error {
            try await test.store.read { reader in
                reader.timeLimit = .milliseconds(5)
                _ = try reader.count(
                    Query(className: "T", where: ["$nor": .array((0..<400).map { ["tags": .int(1000 + $0)] })]),
                    caller: .master)
            }
        }
        #expect(answer?.code == .timeout)
    }
}
