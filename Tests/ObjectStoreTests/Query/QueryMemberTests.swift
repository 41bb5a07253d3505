import ObjectStore
import ParseProtocol
import Testing

/// Dotted names that reach into the objects of an array: a constraint holds if it holds for any of them.
@Suite struct QueryMemberTests {
    private static func filled() async throws -> TestStore {
        let test = try await TestStore()
        func item(_ size: JSON, _ price: Int64, _ more: [String: JSON] = [:]) -> JSON {
            .object(["size": size, "price": .int(price), "on": .bool(price > 5)].merging(more) { $1 })
        }
        let rows: [(String, [JSON])] = [
            ("a", [item("M", 1, ["made": ["in": "Oslo"]]), item("L", 9)]),
            ("b", [item("S", 7, ["since": date("2020-01-01T00:00:00Z")]), "M", 5, "{\"size\":\"M\"}"]),
            ("c", [item(["M", "XL"], 3), .pointer("Product", "p1")]),
            ("d", []),
            ("e", [item(.null, 4), ["price": 8]]),
        ]
        for (name, items) in rows { try await test.create("Bag", ["name": .string(name), "items": .array(items)]) }
        try await test.create("Bag", ["name": "f"])
        try await test.create("Bag", ["name": "g", "items": .null])
        return test
    }

    private static let cases: [(JSON, String)] = [
        (["items.size": "M"], "ac"), (["items.size": ["$eq": "S"]], "b"), (["items.size": ["$ne": "M"]], "bdefg"),
        (["items.size": ["$in": ["S", "XL"]]], "bc"), (["items.size": ["$nin": ["S", "L"]]], "cdefg"),
        (["items.size": ["$all": ["M", "L"]]], "a"),
        (["items.size": ["$all": [["$regex": "^M"], ["$regex": "^L"]]]], "a"),
        (["items.size": ["$regex": "^[SL]$"]], "ab"), (["items.size": ["$regex": "m", "$options": "i"]], "ac"),
        (["items.size": ["M", "XL"]], "c"), (["items.size": ["$containedBy": ["M", "XL", "S"]]], "c"),
        (["items.size": ["$exists": true]], "abce"), (["items.size": ["$exists": false]], "dfg"),
        (["items.size": .null], "cdefg"), (["items.size": ["$ne": .null]], "ab"),
        (["items.size": ["$in": ["S", .null]]], "bcdefg"),
        (["items.price": ["$gt": 7]], "ae"), (["items.price": ["$gte": 7, "$lt": 9]], "abe"),
        (["items.price": ["$gt": "7"]], ""),
        (["items.on": true], "ab"), (["items.made.in": "Oslo"], "a"), (["items.made": ["in": "Oslo"]], "a"),
        (["items.since": date("2020-01-01T00:00:00.000Z")], "b"),
        (["items.since": ["$lt": ["$relativeTime": "1 day ago"]]], "b"),
        (["items.objectId": "p1"], "c"), (["items.className": "Product"], "c"), (["items.nothing": 1], ""),
        (["$or": [["items.size": "S"], ["items.size": "L"]]], "ab"), (["$nor": [["items.size": "M"]]], "bdefg"),
    ]

    @Test func aConstraintHoldsForAnyElement() async throws {
        let test = try await Self.filled()
        for (condition, expected) in Self.cases {
            #expect(try await test.names("Bag", condition).joined() == expected, "\(condition.serializedText)")
        }
    }

    @Test func whatCannotBeAskedOfMembersIsRefused() async throws {
        let test = try await Self.filled()
        for (condition, expected) in [
            (["items.at": ["$nearSphere": ["__type": "GeoPoint", "latitude": 1, "longitude": 1]]], 102),
            (["items.at": ["$within": ["$box": []]]], 102), (["items.at": ["$geoWithin": ["$polygon": []]]], 102),
            (["items.size": ["$exists": 1]], 107), (["items.size": ["$foo": 1]], 107),
            (["items.size": ["$in": 1]], 107), (["items.size": ["$regex": "("]], 102), (["items.a'b": 1], 105),
        ] as [(JSON, Int)] {
            #expect(
                await code { _ = try await test.names("Bag", condition) } == expected, "\(condition.serializedText)")
        }
    }

    @Test func aMemberOfAProtectedArrayIsRefused() async throws {
        let test = try await TestStore([
            ClassDefinition(
                "Bag", fields: ["items": .array], permissions: ClassPermissions.open.protecting(["*": ["items"]]))
        ])
        #expect(await code { _ = try await test.names("Bag", ["items.size": "M"], as: ann) } == 119)
    }
}
