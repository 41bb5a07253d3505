import ObjectStore
import ParseProtocol
import Testing

/// Every geo constraint on well-known places, including the poles and the 180-degree meridian.
@Suite struct GeoTests {
    static let places: [(String, Double, Double)] = [
        ("fiji", -17.8, 179.9), ("north", 90, 0), ("oakland", 37.8044, -122.2712), ("paris", 48.8566, 2.3522),
        ("samoa", -13.8, -171.8), ("sf", 37.7749, -122.4194), ("south", -90, 77), ("sydney", -33.8688, 151.2093),
        ("taveuni", -16.8, -179.9),
    ]

    static func filled() async throws -> TestStore {
        let test = try await TestStore()
        for (name, latitude, longitude) in places {
            try await test.create(
                "Place",
                ["name": .string(name), "at": point(latitude, longitude), "tag": .string(String(name.prefix(1)))])
        }
        try await test.create("Place", ["name": "nowhere", "area": polygon([[0, 0], [0, 10], [10, 10], [10, 0]])])
        try await test.create(
            "Place", ["name": "dateline", "area": polygon([[-20, 170], [-20, -170], [-10, -170], [-10, 170]])])
        return test
    }

    static func point(_ latitude: Double, _ longitude: Double) -> JSON {
        ["__type": "GeoPoint", "latitude": JSON(number: latitude), "longitude": JSON(number: longitude)]
    }

    static func polygon(_ pairs: [[Double]]) -> JSON {
        ["__type": "Polygon", "coordinates": .array(pairs.map { .array($0.map(JSON.init(number:))) })]
    }

    private static let sf = point(37.7749, -122.4194)

    /// Condition, order (empty: by distance) and the names in the expected order.
    static let found: [(JSON, [String], [String])] = [
        (["at": ["$nearSphere": sf, "$maxDistanceInKilometers": 20]], [], ["sf", "oakland"]),
        (["at": ["$nearSphere": sf, "$maxDistanceInMiles": 8]], [], ["sf"]),
        (["at": ["$nearSphere": sf, "$maxDistanceInMiles": 9]], [], ["sf", "oakland"]),
        (["at": ["$nearSphere": sf, "$maxDistance": 0.01]], [], ["sf", "oakland"]),
        (["at": ["$nearSphere": sf, "$maxDistanceInRadians": 0.01]], [], ["sf", "oakland"]),
        (["at": ["$nearSphere": sf, "$maxDistance": 0]], [], ["sf"]),
        (["at": ["$nearSphere": sf, "$maxDistance": 0.01, "$minDistanceInKilometers": 1]], [], ["oakland"]),
        (["at": ["$nearSphere": sf], "tag": "s"], [], ["sf", "samoa", "sydney", "south"]),
        (["at": ["$nearSphere": sf], "tag": "s"], ["-name"], ["sydney", "south", "sf", "samoa"]),
        (["at": ["$nearSphere": sf], "tag": "s"], ["tag"], ["sf", "samoa", "sydney", "south"]),
        (
            ["at": ["$nearSphere": point(-17, 180)]], [],
            ["taveuni", "fiji", "samoa", "sydney", "south", "sf", "oakland", "north", "paris"]
        ),
        (["at": ["$nearSphere": point(-17, -180), "$maxDistanceInKilometers": 200]], [], ["taveuni", "fiji"]),
        (["at": ["$nearSphere": point(89.9, -150), "$maxDistanceInKilometers": 12]], [], ["north"]),
        (["at": ["$nearSphere": point(-89.9, -150), "$maxDistanceInKilometers": 12]], [], ["south"]),
        (["at": ["$within": ["$box": [point(37, -123), point(38, -122)]]]], ["name"], ["oakland", "sf"]),
        (["at": ["$within": ["$box": [point(38, -122), point(37, -123)]]]], ["name"], ["oakland", "sf"]),
        (["at": ["$within": ["$box": [point(38, -123), point(37, -122)]]]], ["name"], ["oakland", "sf"]),
        (["at": ["$within": ["$box": [point(-20, 170), point(-10, -170)]]]], ["name"], []),
        (["at": ["$within": ["$box": [point(-20, 170), point(-10, 180)]]]], ["name"], ["fiji"]),
        (["at": ["$within": ["$box": [point(-20, 180), point(-10, -180)]]]], ["name"], ["fiji", "samoa", "taveuni"]),
        (["at": ["$within": ["$box": [point(80, 100), point(90, 120)]]]], ["name"], ["north"]),
        (["at": ["$within": ["$box": [point(-90, -180), point(90, 180)]]]], ["name"], places.map(\.0)),
        (["at": ["$within": ["$box": [point(48.8566, 2.3522), point(48.8566, 2.3522)]]]], ["name"], ["paris"]),
        (["at": ["$geoWithin": ["$centerSphere": [sf, 0.01]]]], ["name"], ["oakland", "sf"]),
        (["at": ["$geoWithin": ["$centerSphere": [[-122.4194, 37.7749], 0.01]]]], ["name"], ["oakland", "sf"]),
        (["at": ["$geoWithin": ["$centerSphere": [sf, 4]]]], ["name"], places.map(\.0)),
        (
            ["at": ["$geoWithin": ["$polygon": [point(37, -123), point(38, -123), point(38, -122), point(37, -122)]]]],
            ["name"], ["oakland", "sf"]
        ),
        // Pairs are longitude and latitude here, but latitude and longitude in a Polygon.
        (["at": ["$geoWithin": ["$polygon": [[-123, 37], [-123, 38], [-122, 38]]]]], ["name"], ["oakland", "sf"]),
        (
            ["at": ["$geoWithin": ["$polygon": polygon([[37, -123], [38, -123], [38, -122]])]]], ["name"],
            ["oakland", "sf"]
        ),
        (
            [
                "at": [
                    "$geoWithin": ["$polygon": [point(-20, 170), point(-20, -170), point(-10, -170), point(-10, 170)]]
                ]
            ],
            ["name"], ["fiji", "samoa", "taveuni"]
        ),
        (["at": ["$geoWithin": ["$polygon": [point(60, 0), point(60, 120), point(60, -120)]]]], ["name"], ["north"]),
        (
            ["at": ["$geoWithin": ["$polygon": [point(-60, 0), point(-60, 120), point(-60, -120)]]]], ["name"],
            ["south"]
        ),
        (
            ["at": ["$geoWithin": ["$polygon": [[-180, -80], [180, -80], [180, 80], [-180, 80]]]]], ["name"],
            places.map(\.0).filter { $0 != "north" && $0 != "south" }
        ),
        (
            ["$or": [["at": ["$geoWithin": ["$centerSphere": [sf, 0.001]]]], ["name": "paris"]]], ["name"],
            ["paris", "sf"]
        ),
        (
            ["$nor": [["at": ["$within": ["$box": [point(-90, -180), point(90, 180)]]]]]], ["name"],
            ["dateline", "nowhere"]
        ),
        (["area": ["$geoIntersects": ["$point": point(5, 5)]]], ["name"], ["nowhere"]),
        (["area": ["$geoIntersects": ["$point": point(-15, 180)]]], ["name"], ["dateline"]),
        (["area": ["$geoIntersects": ["$point": point(-15, -175)]]], ["name"], ["dateline"]),
        (["area": ["$geoIntersects": ["$point": point(-15, 160)]]], ["name"], []),
        (["unknown": ["$nearSphere": sf]], [], []), (["name": ["$nearSphere": sf]], [], []),
        (["name": ["$within": ["$box": [point(0, 0), point(1, 1)]]]], [], []),
        (["unknown": ["$geoIntersects": ["$point": sf]]], [], []),
    ]

    @Test func everyGeoConstraintFindsWhatItShould() async throws {
        let test = try await Self.filled()
        for (condition, order, expected) in Self.found {
            #expect(try await test.names("Place", condition, order: order) == expected, "\(condition.serializedText)")
            let count = try await test.store.read {
                try $0.count(Query(className: "Place", where: condition), caller: .master)
            }
            #expect(count == expected.count, "count of \(condition.serializedText)")
        }
    }

    static let refused: [(JSON, Int)] = [
        (["at": ["$nearSphere": [1, 2]]], 107), (["at": ["$nearSphere": point(91, 0)]], 107),
        (["at": ["$nearSphere": point(0, 181)]], 107),
        (["at": ["$nearSphere": sf, "$maxDistance": "1"]], 107),
        (["at": ["$nearSphere": sf, "$maxDistanceInMiles": -1]], 107),
        (["at": ["$maxDistance": 1]], 102), (["$or": [["at": ["$nearSphere": sf]], ["name": "x"]]], 102),
        (["$nor": [["at": ["$nearSphere": sf]]]], 102), (["$and": [["at": ["$nearSphere": sf]]]], 102),
        (["at.x": ["$nearSphere": sf]], 102), (["at.x": ["$within": ["$box": [sf, sf]]]], 102),
        (["at": ["$within": 1]], 107), (["at": ["$within": ["$box": [sf]]]], 107),
        (["at": ["$within": ["$box": [sf, sf, sf]]]], 107),
        (["at": ["$within": ["$box": [sf, 1]]]], 107),
        (["at": ["$within": ["$box": [sf, sf], "$polygon": []]]], 107),
        (["at": ["$geoWithin": ["$polygon": [sf, sf]]]], 107),
        (["at": ["$geoWithin": ["$polygon": [sf, sf, sf]]]], 107), (["at": ["$geoWithin": ["$polygon": 1]]], 107),
        (["at": ["$geoWithin": ["$polygon": [sf, [200, 0], [0, 0]]]]], 107),
        (["at": ["$geoWithin": ["$polygon": [sf, [1], [0, 0]]]]], 107),
        (["at": ["$geoWithin": ["$polygon": .array(Array(repeating: sf, count: 1001))]]], 102),
        (["at": ["$geoWithin": ["$centerSphere": [sf]]]], 107),
        (["at": ["$geoWithin": ["$centerSphere": [sf, -1]]]], 107),
        (["at": ["$geoWithin": ["$centerSphere": [[0, 91], 1]]]], 107), (["at": ["$geoWithin": ["$nothing": 1]]], 107),
        (["area": ["$geoIntersects": ["$point": 1]]], 107), (["area": ["$geoIntersects": sf]], 107),
    ]

    @Test func malformedGeoConstraintsAreRefusedWithTheirCode() async throws {
        let test = try await Self.filled()
        for (condition, expected) in Self.refused {
            #expect(
                await code { _ = try await test.names("Place", condition) } == expected, "\(condition.serializedText)")
        }
    }

    @Test func pagesOfTheNearestNeitherRepeatNorSkip() async throws {
        let test = try await Self.filled()
        // Places at equal distances are ordered by creation.
        for name in ["twin1", "twin2", "twin3"] {
            try await test.create("Place", ["name": .string(name), "at": Self.sf])
        }
        let near: JSON = ["at": ["$nearSphere": Self.sf]]
        let all = try await test.names("Place", near, order: [])
        #expect(all.prefix(5) == ["sf", "twin1", "twin2", "twin3", "oakland"])
        var paged: [String] = []
        for skip in stride(from: 0, to: 14, by: 2) {
            paged += try await test.names("Place", near, order: [], limit: 2, skip: skip)
        }
        #expect(paged == all)
        #expect(all.count == 12)
    }

    @Test func unreadableObjectsAreNeverNear() async throws {
        let test = try await Self.filled()
        try await test.create("Place", ["name": "secret", "at": Self.sf, "ACL": [.init("bobbobbobb"): ["read": true]]])
        let near: JSON = ["at": ["$nearSphere": Self.sf]]
        #expect(try await test.names("Place", near, order: [], limit: 2, as: ann) == ["sf", "oakland"])
        #expect(try await test.names("Place", near, order: [], limit: 2, as: bob) == ["sf", "secret"])
    }

    /// The order by distance would reveal where a protected place is.
    @Test func aProtectedPlaceCannotBeSearchedFor() async throws {
        var permissions = ClassPermissions.open
        permissions.protectedFields = ["*": ["at"]]
        let definition = ClassDefinition("Home", fields: ["at": .geoPoint], permissions: permissions)
        let test = try await TestStore([definition])
        try await test.create("Home", ["name": "mine", "at": Self.sf])
        for condition: JSON in [
            ["$nearSphere": Self.sf], ["$geoWithin": ["$centerSphere": [Self.sf, 1]]],
            ["$within": ["$box": [Self.sf, Self.sf]]],
        ] {
            #expect(await code { _ = try await test.names("Home", ["at": condition], as: ann) } == 119)
            #expect(try await test.names("Home", ["at": condition]) == ["mine"])
        }
    }

    @Test func theIndexFollowsEveryChange() async throws {
        let test = try await Self.filled()
        let near: JSON = ["at": ["$nearSphere": Self.sf, "$maxDistanceInKilometers": 1]]
        let id = try await test.create("Place", ["name": "van"])
        #expect(try await test.names("Place", near) == ["sf"])
        try await test.update("Place", id, ["at": Self.sf])
        #expect(try await test.names("Place", near) == ["sf", "van"])
        try await test.update("Place", id, ["at": Self.point(1, 1)])
        #expect(try await test.names("Place", near) == ["sf"])
        try await test.update("Place", id, ["at": Self.sf])
        try await test.update("Place", id, ["at": ["__op": "Delete"]])
        #expect(try await test.names("Place", near) == ["sf"])
        try await test.update("Place", id, ["at": Self.sf])
        try await test.delete("Place", id)
        #expect(try await test.names("Place", near) == ["sf"])
        // PostgreSQL maintains its own index of places.
        guard TestStore.server == nil else { return }
        #expect(
            try await test.store.read { try $0.rows("SELECT count(*) FROM g1") }.first?.int(0)
                == Int64(Self.places.count))
    }

    @Test func theIndexFollowsTheSchema() async throws {
        let test = try await TestStore()
        let near: JSON = ["at": ["$nearSphere": Self.sf]]
        for round in 1...2 {
            let place: JSON = ["fields": ["at": ["type": "GeoPoint"], "name": ["type": "String"]]]
            _ = try await test.store.write { try $0.createClass("Place", place) }
            let id = try await test.create("Place", ["name": "here", "at": Self.sf])
            #expect(try await test.names("Place", near) == ["here"])
            let removal: JSON = ["fields": ["at": ["__op": "Delete"]]]
            _ = try await test.store.write { try $0.changeClass("Place", removal, keeping: []) }
            #expect(try await test.names("Place", near).isEmpty)
            if round == 1 {
                // Another field takes its place, created by saving an object.
                try await test.update("Place", id, ["spot": Self.sf])
                #expect(try await test.names("Place", ["spot": ["$nearSphere": Self.sf]]) == ["here"])
            }
            #expect(try await test.store.write { try $0.objectIds("Place", max: 10) } == [id])
            _ = try await test.store.write { try $0.delete("Place", id, caller: .master) }
            try await test.store.write { try $0.dropClass("Place") }
            #expect(try await test.relations("g1").isEmpty)
        }
    }

    @Test func aRefusedSaveLeavesNoIndexBehind() async throws {
        let test = try await TestStore()
        try await test.create("Place", ["name": "first"])
        let second: JSON = ["at": Self.sf, "other": Self.sf]
        #expect(await error { try await test.create("Place", second) }?.code == .incorrectType)
        #expect(
            await code {
                _ = try await test.store.write { transaction in
                    _ = try transaction.create("Place", ["at": Self.sf], caller: .master)
                    throw ParseError(.validationError, "no")
                }
            } == 142)
        try await test.create("Place", ["name": "kept", "at": Self.sf])
        #expect(try await test.names("Place", ["at": ["$nearSphere": Self.sf]]) == ["kept"])
    }

    /// In files from releases without an index of places, the writer builds the index at startup.
    @Test func placesStoredEarlierAreFound() async throws {
        let test = try await Self.filled()
        let kind = TestStore.server == nil ? "TABLE" : "INDEX"
        _ = try await test.store.write { transaction in
            _ = try transaction.execute("DROP \(kind) g1")
            if TestStore.server != nil { _ = try transaction.execute("DELETE FROM storeIndexes WHERE name = 'g1'") }
        }
        test.store.stop()
        let again = try await TestStore(path: test.path)
        #expect(
            try await again.names("Place", ["at": ["$nearSphere": Self.sf]], order: [], limit: 2) == ["sf", "oakland"])
        #expect(try await again.relations("g1").contains("g1"))
    }

    @Test func badPlacesAndAreasAreNotStored() async throws {
        let test = try await Self.filled()
        for bad in [Self.point(90.1, 0), Self.point(0, -180.1), ["__type": "GeoPoint", "latitude": 1]] as [JSON] {
            #expect(await code { try await test.create("Place", ["at": bad]) } == 111)
        }
        for bad in [
            [[0, 0], [1, 1]], [[0, 0], [1, 1], [0, 0]], [[0, 0], [1, 1], [91, 0]], [[0, 0], [1, 1], [2]],
        ] as [[[Double]]] {
            #expect(await code { try await test.create("Place", ["area": Self.polygon(bad)]) } == 107)
        }
        let id = try await test.create("Place", ["area": Self.polygon([[0, 0], [0, 1], [1, 1]])])
        #expect(try await test.get("Place", id)["area"] == Self.polygon([[0, 0], [0, 1], [1, 1], [0, 0]]))
    }
}
