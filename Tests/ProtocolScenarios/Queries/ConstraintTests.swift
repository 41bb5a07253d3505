import ParseProtocol
import TestSupport
import Testing

/// Every query constraint, as header clients and tunnelling clients send it (PARSE_PROTOCOL section 4.1).
@Suite struct ConstraintTests {
    struct Condition: Sendable, CustomTestStringConvertible {
        let condition: JSON
        /// The matching names in order.
        let finds: [String]

        init(_ condition: JSON, _ finds: String...) {
            self.condition = condition
            self.finds = finds
        }

        var testDescription: String { condition.serializedText }
    }

    /// Five objects named a to e; `other` points to objects of the class `<class>Other` named x and y.
    private struct Rows: Sendable {
        let className: String
        let others: [String]
    }

    private static let rows = Task { () async throws -> Rows in
        let client = ParseClient(try await Suite.shared)
        let className = "Constraint\(Names.random(6))"
        var others: [String] = []
        for (name, rank) in [("x", 1), ("y", 2)] as [(String, Int64)] {
            let answer = try await client.create("\(className)Other", ["name": .string(name), "rank": .int(rank)])
            others.append(answer.objectId)
        }
        func place(_ latitude: JSON, _ longitude: JSON) -> JSON {
            ["__type": "GeoPoint", "latitude": latitude, "longitude": longitude]
        }
        func date(_ iso: JSON) -> JSON { ["__type": "Date", "iso": iso] }
        let (x, y) = (JSON.pointer("\(className)Other", others[0]), JSON.pointer("\(className)Other", others[1]))
        let rows: [JSON] = [
            [
                "name": "a", "n": 1, "tags": ["red", "big"], "other": x, "place": place(40, -30), "text": "green tea",
                "at": date("2001-01-01T00:00:00.000Z"), "object": ["city": "Oslo"],
                "area": ["__type": "Polygon", "coordinates": [[0, 0], [0, 10], [10, 10], [10, 0]]],
                "friends": ["__op": "AddRelation", "objects": [x]],
            ],
            [
                "name": "b", "n": 2, "tags": ["red"], "other": y, "place": place(41, -30), "text": "black coffee",
                "at": date("2101-01-01T00:00:00.000Z"), "object": ["city": "Bergen"],
                "area": ["__type": "Polygon", "coordinates": [[20, 20], [20, 30], [30, 30], [30, 20]]],
                "friends": ["__op": "AddRelation", "objects": [x, y]],
            ],
            ["name": "c", "n": 3, "tags": ["blue", "big"], "other": x, "place": place(0, 0), "text": "Coffee coffee"],
            ["name": "d", "n": .null, "tags": [], "text": "water"],
            ["name": "e"],
        ]
        for row in rows {
            let answer = try await client.create(className, row)
            guard answer.status == 201 else { throw Unexpected("POST \(className)", answer) }
        }
        return Rows(className: className, others: others)
    }

    private static let scalars: [Condition] = [
        .init(["n": 2], "b"),
        .init(["tags": "red"], "a", "b"),
        .init(["n": .null], "d", "e"),
        .init(["n": ["$eq": 1]], "a"),
        .init(["n": ["$ne": 1]], "b", "c", "d", "e"),
        .init(["n": ["$nin": [1, 2]]], "c", "d", "e"),
        .init(["n": ["$lt": 2]], "a"),
        .init(["n": ["$lte": 2]], "a", "b"),
        .init(["n": ["$gt": 2]], "c"),
        .init(["n": ["$gte": 2]], "b", "c"),
        .init(["at": ["$lt": ["$relativeTime": "12 days ago"]]], "a"),
        .init(["at": ["$gt": ["$relativeTime": "in 1 day"]]], "b"),
        .init(["n": ["$in": [1, 3, 7]]], "a", "c"),
        .init(["tags": ["$in": ["blue", "big"]]], "a", "c"),
        .init(["tags": ["$all": ["red", "big"]]], "a"),
        .init(["tags": ["$all": [["$regex": "^re"], ["$regex": "^bi"]]]], "a"),
        .init(["tags": ["$containedBy": ["red", "big", "small"]]], "a", "b", "d"),
        .init(["n": ["$exists": false]], "e"),
        .init(["tags": ["$exists": true]], "a", "b", "c", "d"),
        .init(["text": ["$regex": "^c", "$options": "i"]], "c"),
        .init(["text": ["$regex": "\\Qtea\\E"]], "a"),
        .init(["text": ["$text": ["$search": ["$term": "coffee"]]]], "b", "c"),
        .init(["object.city": "Oslo"], "a"),
        .init(["$or": [["n": 1], ["n": 3]]], "a", "c"),
        .init(["$and": [["n": ["$gt": 1]], ["n": ["$lt": 3]]]], "b"),
        .init(["$nor": [["n": 1], ["tags": "blue"]]], "b", "d", "e"),
    ]

    private static let point: JSON = ["__type": "GeoPoint", "latitude": 40, "longitude": -30]
    private static let box: JSON = [
        ["__type": "GeoPoint", "latitude": 39, "longitude": -31],
        ["__type": "GeoPoint", "latitude": 42, "longitude": -29],
    ]
    private static let triangle: JSON = [
        ["__type": "GeoPoint", "latitude": 39, "longitude": -31],
        ["__type": "GeoPoint", "latitude": 39, "longitude": -29],
        ["__type": "GeoPoint", "latitude": 40.5, "longitude": -30],
    ]

    private static let places: [Condition] = [
        .init(["place": ["$nearSphere": point]], "a", "b", "c"),
        .init(["place": ["$nearSphere": point, "$maxDistance": 0.02]], "a", "b"),
        .init(["place": ["$nearSphere": point, "$maxDistanceInRadians": 0.01]], "a"),
        .init(["place": ["$nearSphere": point, "$maxDistanceInMiles": 70]], "a", "b"),
        .init(["place": ["$nearSphere": point, "$maxDistanceInKilometers": 100]], "a"),
        .init(["place": ["$within": ["$box": box]]], "a", "b"),
        .init(["place": ["$geoWithin": ["$polygon": triangle]]], "a"),
        .init(["place": ["$geoWithin": ["$centerSphere": [point, 0.02]]]], "a", "b"),
        .init(["area": ["$geoIntersects": ["$point": ["__type": "GeoPoint", "latitude": 25, "longitude": 25]]]], "b"),
    ]

    @Test(arguments: scalars + places, [ParseClient.Style.headers, .tunnelled])
    func eachConstraintFindsWhatItShould(_ expected: Condition, _ style: ParseClient.Style) async throws {
        let rows = try await Self.rows.value
        let client = ParseClient(try await Suite.shared, style: style)
        let isNear = expected.condition.serializedText.contains("$nearSphere")
        let answer = try await client.find(rows.className, expected.condition, isNear ? [:] : ["order": "name"])
        #expect(answer.results.map { $0.text("name") } == expected.finds, "\(answer.text.prefix(500))")
    }

    @Test(arguments: [ParseClient.Style.headers, .tunnelled])
    func pointersSubQueriesAndRelationsFindWhatTheyShould(_ style: ParseClient.Style) async throws {
        let rows = try await Self.rows.value
        let client = ParseClient(try await Suite.shared, style: style)
        let other = "\(rows.className)Other"
        func find(_ condition: JSON, in className: String? = nil) async throws -> [String] {
            let answer = try await client.find(className ?? rows.className, condition, ["order": "name"])
            return answer.results.isEmpty && answer.status != 200
                ? [answer.text] : answer.results.map { $0.text("name") }
        }
        let x = JSON.pointer(other, rows.others[0])
        #expect(try await find(["other": x]) == ["a", "c"])
        let first: JSON = ["className": .string(other), "where": ["rank": 1]]
        #expect(try await find(["other": ["$inQuery": first]]) == ["a", "c"])
        #expect(try await find(["other": ["$notInQuery": first]]) == ["b", "d", "e"])
        let ranks: JSON = ["query": first, "key": "rank"]
        #expect(try await find(["n": ["$select": ranks]]) == ["a"])
        #expect(try await find(["n": ["$dontSelect": ranks]]).contains("a") == false)
        #expect(try await find(["friends": x]) == ["a", "b"])
        #expect(try await find(["friends": ["$in": [.pointer(other, rows.others[1])]]]) == ["b"])
        let owner = try await client.find(rows.className, ["name": "b"]).results.first?.objectId ?? ""
        let related: JSON = ["$relatedTo": ["object": .pointer(rows.className, owner), "key": "friends"]]
        #expect(try await find(related, in: other) == ["x", "y"])
        let object = try await client.find(rows.className, ["name": "a"], ["include": "other"])
        #expect(object.json.at("results", 0, "other", "name") == "x")
    }

    /// Invalid constraints and the protocol's codes for them.
    @Test(
        arguments: [
            (["n": ["$nothing": 1]], 107), (["n": ["$in": 1]], 107), (["n": ["$regex": "a", "$options": "q"]], 102),
            (["$or": 1], 102), (["$and": [1]], 102), (["$nor": []], 102), (["n": ["$select": ["key": "a"]]], 102),
            (["other": ["$inQuery": ["where": [:]]]], 102), (["place": ["$within": ["$box": [1]]]], 107),
            (["at": ["$lt": ["$relativeTime": "soon"]]], 107), (["ACL": 1], 102), (["9": 1], 105),
            (["_hidden": 1], 105),
            (["tags": ["$all": [["$regex": "a"], "b"]]], 107),
        ] as [(JSON, Int)])
    func malformedConstraintsHaveTheirCodes(_ condition: JSON, _ code: Int) async throws {
        let rows = try await Self.rows.value
        let answer = try await ParseClient(try await Suite.shared).find(rows.className, condition)
        #expect(answer.code == code, "\(answer.text)")
        #expect(answer.status == 400, "\(answer.text)")
    }
}
