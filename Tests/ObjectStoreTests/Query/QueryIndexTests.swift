import ObjectStore
import ParseProtocol
import Testing

/// Numbers in dotted names: the array element with that index, or the object member with that name.
@Suite struct QueryIndexTests {
    private static func filled() async throws -> TestStore {
        let test = try await TestStore()
        let rows: [(String, JSON)] = [
            (
                "a",
                [
                    "n": [1, 5, 2], "items": [["count": 5, "tags": ["x", "y"]], ["count": 1]],
                    "obj": ["0": "x", "1x": 1, "_x": 2],
                ]
            ),
            (
                "b",
                [
                    "n": [9, 1], "items": [["count": 1], ["count": 5]],
                    "obj": ["0": ["x", "z"], "list": ["p", ["q", 7]]],
                ]
            ),
            (
                "c",
                [
                    "n": [], "items": ["M", .pointer("Product", "p1"), date("2020-01-01T00:00:00Z")],
                    "obj": ["list": [.null, 2]],
                ]
            ),
            (
                "d",
                [
                    "n": .null, "items": [["0": ["count": 5]], .null],
                    "obj": ["00": "x", "list": ["0": "p"], "4294967296": "far"],
                ]
            ),
            ("e", [:]),
        ]
        for (name, object) in rows {
            var object = object
            object["name"] = .string(name)
            try await test.create("Bag", object)
        }
        return test
    }

    private static let cases: [(JSON, String)] = [
        (["items.0.count": 5], "a"), (["items.1.count": 5], "b"), (["items.0.count": ["$ne": 5]], "bcde"),
        (["n.0": 1], "a"),
        (["n.1": ["$gt": 3]], "a"), (["n.1": ["$gte": 1, "$lt": 5]], "b"), (["n.1": ["$gt": "3"]], ""),
        (["n.1": ["$exists": true]], "ab"),
        (["n.2": ["$exists": false]], "bcde"), (["n.1": .null], "cde"), (["n.1": ["$in": [5, .null]]], "acde"),
        (["n.1": ["$nin": [5, 7]]], "bcde"),
        (["obj.0": "x"], "ab"), (["obj.0": ["$all": ["x", "z"]]], "b"), (["obj.0": ["x", "z"]], "b"),
        (["obj.0": ["$regex": "^x"]], "ab"),
        (["obj.00": "x"], "d"), (["obj.0.1": "z"], "b"), (["obj.1x": 1], "a"), (["obj._x": ["$gt": 1]], "a"),
        (["obj.list.0": "p"], "bd"),
        (["obj.list.1.1": 7], "b"), (["obj.list.0": .null], "ace"), (["obj.list.0": ["$exists": true]], "bcd"),
        (["obj.4294967296": "far"], "d"),
        (["obj.list.1": ["$in": [2, "q"]]], "bc"), (["obj.list.1": ["$containedBy": ["q", 7, 8]]], "b"),
        (["items.0": "M"], "c"), (["items.0": ["$regex": "m", "$options": "i"]], "c"),
        (["items.1": .pointer("Product", "p1")], "c"),
        (["items.1.objectId": "p1"], "c"), (["items.2": ["$lt": date("2021-01-01T00:00:00Z")]], "c"),
        (["items.1": ["count": 1]], "a"),
        (["items.1": ["$exists": true]], "abcd"), (["items.1": .null], "de"), (["items.tags.1": "y"], "a"),
        (["items.0.tags.1": "y"], "a"),
        (["items.0.0.count": 5], "d"), (["items.4294967296": "M"], ""), (["name.0": "a"], ""),
        (["missing.0": .null], "abcde"),
        (["$or": [["n.0": 9], ["items.0": "M"]]], "bc"), (["$nor": [["n.0": ["$exists": true]]]], "cde"),
    ]

    @Test func aNumberIsAnIndexOrAName() async throws {
        let test = try await Self.filled()
        for (condition, expected) in Self.cases {
            #expect(try await test.names("Bag", condition).joined() == expected, "\(condition.serializedText)")
        }
    }

    @Test func ordersByAnElement() async throws {
        let test = try await Self.filled()
        for (order, expected) in [
            (["items.0.count"], "cdeba"), (["-n.1"], "abedc"), (["n.0", "name"], "cdeab"), (["obj.list.0"], "acebd"),
            (["-obj._x", "name"], "abcde"),
        ] as [([String], String)] {
            #expect(try await test.names("Bag", [:], order: order).joined() == expected, "\(order)")
        }
        // With cursors, one row at a time.
        var query = Query(className: "Bag", order: ["-n.1"], limit: 1, keys: ["name"])
        query.after = ""
        var names = ""
        for _ in 0..<5 {
            let page = query
            let body = try JSON(parsing: try await test.store.read { try $0.find(page, caller: .master).body })
            names += body["results"]?.arrayValue?.first?["name"]?.stringValue ?? "-"
            query.after = body["cursor"]?.stringValue
        }
        #expect(names == "abedc")
    }

    @Test func namesHaveTheirLetters() async throws {
        let test = try await Self.filled()
        try await test.create("Holder", ["name": "h", "bag": .pointer("Bag", "x")])
        let long = String(repeating: "a", count: 129)
        for name in [
            "0", "0.n", "1x.a", "_x.a", "n.", "n.0.", "n..0", "obj.+1", "obj.[0]", "n[0]", "obj.1'", "obj.1\"",
            "obj.1\\", "obj.€", "obj.😀", "obj.é.\(String(repeating: "é", count: 65))", "n.é", "none.é", "name.a b",
            "ü.a",
            "obj.__proto__", "obj.__type", "obj.a.__op", "obj._bsontype", "obj.\(long)", "obj.0\0", "obj.é'",
        ] {
            #expect(await code { _ = try await test.names("Bag", .object([name: 1])) } == 105, "\(name)")
            #expect(await code { _ = try await test.names("Bag", [:], order: [name]) } == 105, "\(name)")
        }
        for name in ["bag.0", "bag.1x", "bag._x"] {
            #expect(await code { _ = try await test.names("Holder", .object([name: 1])) } == 105, "\(name)")
            #expect(await code { _ = try await test.names("Holder", [:], order: [name]) } == 105, "\(name)")
        }
        #expect(try await test.names("Holder", ["bag.n.0": .null]) == ["h"])
        for name in ["n.0.1.2", "obj.list.0.1.a.2"] {
            #expect(await code { _ = try await test.names("Bag", .object([name: 1])) } == 102, "\(name)")
            #expect(await code { _ = try await test.names("Bag", [:], order: [name]) } == 102, "\(name)")
        }
        #expect(await code { _ = try await test.names("Bag", ["items.0": ["$geoWithin": ["$polygon": []]]]) } == 102)
    }

    /// Numeric member names, such as counters by date, locale or UUID.
    @Test func membersHaveLettersOfEveryScript() async throws {
        let test = try await TestStore()
        try await test.create(
            "Tally",
            [
                "name": "a",
                "n": ["2026-01-01": 3, "größe": "x", "a b": ["k-1": 5], "日本": [1, 2], "0-1": [["ü": 1]], "-": true],
                "l": [["k-1": 4]],
            ])
        try await test.create("Tally", ["name": "b", "n": ["2026-01-01": 1, "größe": "y"], "l": [["k-1": 7]]])
        try await test.create("Tally", ["name": "c", "n": [:], "l": []])
        try await test.create("Holder", ["name": "h", "tally": .pointer("Tally", "none")])
        for (condition, names) in [
            (["n.2026-01-01": 3], "a"), (["n.2026-01-01": ["$lt": 3]], "b"),
            (["n.2026-01-01": ["$exists": false]], "c"),
            (["n.2026-01-01": ["$ne": 3]], "bc"), (["n.größe": ["$in": ["x", "y"]]], "ab"),
            (["n.größe": ["$regex": "^x"]], "a"), (["n.a b.k-1": ["$gte": 5]], "a"), (["n.日本": 2], "a"),
            (["n.日本.1": 2], "a"), (["n.日本": ["$all": [1, 2]]], "a"), (["n.0-1.0.ü": 1], "a"), (["n.-": true], "a"),
            (["l.0.k-1": ["$gt": 4]], "b"), (["$or": [["n.größe": "y"], ["l.0.k-1": 4]]], "ab"),
            (["n.2026-01-01": ["$gt": 0], "n.größe": "y"], "b"), (["n.größe": .null], "c"),
        ] as [(JSON, String)] {
            #expect(try await test.names("Tally", condition).sorted().joined() == names, "\(condition.serializedText)")
            #expect(
                try await test.store.read {
                    try $0.count(Query(className: "Tally", where: condition.serialized), caller: .master)
                }
                    == names.count)
        }
        #expect(try await test.names("Tally", [:], order: ["n.2026-01-01"]) == ["c", "b", "a"])
        #expect(try await test.names("Tally", ["n.größe": ["$gt": "w"]], order: ["-n.2026-01-01"]) == ["a", "b"])
        #expect(try await test.names("Holder", ["tally.n.a b": .null]) == ["h"])
    }

    @Test func anElementOfAProtectedFieldIsRefused() async throws {
        let test = try await TestStore([
            ClassDefinition("Bag", fields: ["n": .array], permissions: ClassPermissions.open.protecting(["*": ["n"]]))
        ])
        try await test.create("Bag", ["n": [1]])
        #expect(await code { _ = try await test.names("Bag", ["n.0": 1], as: ann) } == 119)
        #expect(await code { _ = try await test.names("Bag", [:], order: ["-n.0"], as: ann) } == 119)
    }
}
