import ObjectStore
import ParseProtocol
import Testing

/// Sorting and filtering by fields of pointed-to objects: results, permissions, and SQLite's plans.
@Suite struct QueryPointedTests {
    /// Brands `Zeta` (public), `Alpha` (readable by ann only), `Mid` (public), and items `a` to `f`: a and d point to
    /// Zeta, b to Alpha, c to Mid, e to a missing brand, f to none.
    private static func filled(_ permissions: ClassPermissions = .open) async throws -> TestStore {
        let test = try await TestStore(
            [
                ClassDefinition("Country", fields: ["name": .string]),
                ClassDefinition(
                    "Brand",
                    fields: [
                        "title": .string, "rank": .number, "founded": .date, "tags": .array, "home": .object,
                        "secret": .string,
                        "country": .pointer("Country"), "place": .geoPoint, "owner": .pointer("_User"),
                    ], indexes: [["title"]], permissions: permissions),
                ClassDefinition(
                    "Item", fields: ["name": .string, "brand": .pointer("Brand"), "maker": .pointer("Elsewhere")],
                    indexes: [["brand", "name"], ["name"]]),
            ], allowCustomObjectId: true)
        try await test.create("Country", ["name": "Norway"], id: "norway")
        func brand(_ id: String, _ title: String, _ rank: Int64, _ more: [String: JSON]) async throws {
            var object: [String: JSON] = [
                "title": .string(title), "rank": .int(rank), "founded": date("200\(rank)-01-01T00:00:00.000Z"),
                "home": ["city": .string("City of \(title)")], "secret": .string(title),
                "owner": .pointer("_User", "annannanna"),
            ]
            object.merge(more) { $1 }
            try await test.create("Brand", .object(object), id: id)
        }
        try await brand(
            "zeta", "Zeta", 1,
            [
                "tags": ["old", "red"], "country": .pointer("Country", "norway"),
                "place": ["__type": "GeoPoint", "latitude": 59.9, "longitude": 10.7],
            ])
        try await brand("alpha", "Alpha", 2, ["ACL": ["annannanna": ["read": true]], "tags": ["new"]])
        try await brand("mid", "Mid", 3, ["rank": .null])
        for (name, brand) in [("a", "zeta"), ("b", "alpha"), ("c", "mid"), ("d", "zeta"), ("e", "gone")] {
            try await test.create(
                "Item",
                [
                    "name": .string(name), "brand": .pointer("Brand", brand), "maker": .pointer("Elsewhere", "x"),
                ])
        }
        try await test.create("Item", ["name": "f"])
        return test
    }

    private static let cases: [(JSON, String)] = [
        (["brand.title": "Zeta"], "ad"), (["brand.title": ["$eq": "Alpha"]], "b"),
        (["brand.title": ["$ne": "Zeta"]], "bcef"),
        (["brand.title": .null], "ef"), (["brand.title": ["$exists": true]], "abcd"),
        (["brand.title": ["$exists": false]], "ef"),
        (["brand.title": ["$in": ["Zeta", "Mid"]]], "acd"), (["brand.title": ["$in": ["Mid", .null]]], "cef"),
        (["brand.title": ["$nin": ["Zeta"]]], "bcef"), (["brand.title": ["$regex": "^Z"]], "ad"),
        (["brand.title": ["$gt": "B", "$lt": "N"]], "c"), (["brand.rank": ["$gte": 2]], "b"),
        (["brand.rank": .null], "cef"),
        (["brand.founded": ["$lt": date("2002-06-01T00:00:00Z")]], "abd"),
        (["brand.founded": ["$lt": ["$relativeTime": "now"]]], "abcd"),
        (["brand.tags": "red"], "ad"), (["brand.tags": ["$all": ["old", "red"]]], "ad"),
        (["brand.tags": ["$containedBy": ["new"]]], "b"),
        (["brand.home.city": "City of Mid"], "c"),
        (["brand.createdAt": ["$gt": ["$relativeTime": "1 hour ago"]]], "abcd"),
        (["brand.createdAt": ["$exists": false]], "ef"), (["brand.createdAt": .null], "ef"),
        (["brand.country.name": "Norway"], "ad"),
        (["brand.country.name": ["$ne": "Norway"]], "bcef"), (["brand.country": .pointer("Country", "norway")], "ad"),
        (
            [
                "brand.place": [
                    "$geoWithin": ["$centerSphere": [["__type": "GeoPoint", "latitude": 60, "longitude": 10], 0.1]]
                ]
            ], "ad"
        ),
        (
            [
                "brand.place": [
                    "$within": [
                        "$box": [
                            ["__type": "GeoPoint", "latitude": 59, "longitude": 10],
                            ["__type": "GeoPoint", "latitude": 60, "longitude": 11],
                        ]
                    ]
                ]
            ], "ad"
        ),
        (["brand.objectId": "zeta"], "ad"), (["brand.objectId": "gone"], "e"), (["brand.unknown": 1], ""),
        (["brand.unknown": .null], "abcdef"),
        (["maker.title": "x"], ""), (["maker.title": .null], "abcdef"),
        (["$or": [["brand.title": "Mid"], ["name": "a"]]], "ac"), (["$nor": [["brand.title": "Zeta"]]], "bcef"),
        (["$and": [["brand.title": ["$ne": "Mid"]], ["brand.tags": "new"]], "name": "b"], "b"),
        (["brand.title": "Zeta", "brand.country.name": "Norway", "name": ["$gt": "b"]], "d"),
    ]

    @Test func everyConstraintReachesThePointedToObject() async throws {
        let test = try await Self.filled()
        for (condition, expected) in Self.cases {
            #expect(try await test.names("Item", condition).joined() == expected, "\(condition.serializedText)")
            let count = try await test.store.read {
                try $0.count(Query(className: "Item", where: condition), caller: .master)
            }
            #expect(count == expected.count, "count of \(condition.serializedText)")
        }
    }

    @Test func ordersByTheFieldsOfPointedToObjects() async throws {
        let test = try await Self.filled()
        for (order, expected) in [
            (["brand.title", "name"], "efbcad"), (["-brand.title", "name"], "adcbef"),
            (["brand.rank", "name"], "cefadb"),
            (["brand.country.name", "-name"], "fecbda"), (["brand.home.city", "name"], "efbcad"),
            (["brand.unknown", "name"], "abcdef"), (["maker.title", "name"], "abcdef"),
        ] as [([String], String)] {
            #expect(try await test.names("Item", [:], order: order).joined() == expected, "\(order)")
        }
        #expect(
            try await test.names(
                "Item", ["brand.title": ["$exists": true]], order: ["brand.title", "name"], limit: 2, skip: 1
            ).joined() == "ca")
    }

    /// A brand that only ann may read is missing for all other callers, in conditions, orders and counts.
    @Test func anUnreadableObjectActsAsMissing() async throws {
        let test = try await Self.filled()
        for (caller, found, missing, order) in [
            (ann, "b", "ef", "efbcad"), (bob, "", "bef", "befcad"), (.anonymous, "", "bef", "befcad"),
            (admin, "", "bef", "befcad"),
        ] as [(Caller, String, String, String)] {
            #expect(try await test.names("Item", ["brand.title": "Alpha"], as: caller).joined() == found)
            #expect(try await test.names("Item", ["brand.title": ["$regex": "^A"]], as: caller).joined() == found)
            #expect(try await test.names("Item", ["brand.title": .null], as: caller).joined() == missing)
            #expect(try await test.names("Item", [:], order: ["brand.title", "name"], as: caller).joined() == order)
            let query = Query(className: "Item", where: ["brand.tags": "new"])
            #expect(try await test.store.read { try $0.count(query, caller: caller) } == found.count)
        }
    }

    @Test func theClassLevelPermissionsOfThePointedToClassApply() async throws {
        let condition: JSON = ["brand.title": "Zeta"]
        var permissions = ClassPermissions(find: .everybody, get: .signedIn)
        var test = try await Self.filled(permissions)
        #expect(try await test.names("Item", condition, as: bob).joined() == "ad")
        #expect(await code { _ = try await test.names("Item", condition, as: .anonymous) } == 101)
        #expect(await code { _ = try await test.names("Item", [:], order: ["brand.title"], as: .anonymous) } == 101)
        test = try await Self.filled(.masterOnly)
        let denied = await code { _ = try await test.names("Item", ["$or": [condition]], as: ann) }
        #expect(denied == 119)
        permissions = ClassPermissions(get: ClassPermissions.Operation([:], pointerFields: ["owner"]))
        test = try await Self.filled(permissions)
        #expect(try await test.names("Item", condition, as: ann).joined() == "ad", "ann owns every brand.")
        #expect(try await test.names("Item", condition, as: bob).isEmpty)
    }

    @Test func aProtectedFieldOfAPointedToObjectIsRefusedAtAnyDepth() async throws {
        let test = try await Self.filled(ClassPermissions.open.protecting(["*": ["secret", "country"]]))
        for condition: JSON in [
            ["brand.secret": "Zeta"], ["brand.secret.x": 1], ["$or": [["$and": [["brand.secret": ["$regex": "^Z"]]]]]],
            ["brand.country": .pointer("Country", "norway")], ["brand.country.name": "Norway"],
        ] {
            #expect(
                await code { _ = try await test.names("Item", condition, as: ann) } == 119,
                "\(condition.serializedText)")
        }
        for order in ["brand.secret", "-brand.secret", "brand.country.name", "brand.secret.x"] {
            #expect(await code { _ = try await test.names("Item", [:], order: [order], as: ann) } == 119, "\(order)")
        }
        #expect(
            try await test.names("Item", ["brand.secret": "Zeta"]).joined() == "ad", "The master key sees everything.")
    }

    @Test func objectsOfAnotherServiceAreRefusedByName() async throws {
        let test = try await Self.filled()
        for foreign in [["Elsewhere"], ["*"]] as [Set<String>] {
            var query = Query(className: "Item", where: ["maker.title": "x"])
            query.foreignClasses = foreign
            let filter = query
            let refused = await error { _ = try await test.store.read { try $0.find(filter, caller: ann) } }
            #expect(refused?.code == .invalidQuery)
            #expect(refused?.message.contains("Elsewhere") == true)
            query = Query(className: "Item", order: ["-maker.title"])
            query.foreignClasses = foreign
            let order = query
            #expect(await code { _ = try await test.store.read { try $0.find(order, caller: ann) } } == 102)
        }
        #expect(await code { _ = try await test.names("Item", ["brand.ACL": [:]]) } == 102)
        let near: JSON = ["brand.place": ["$nearSphere": ["__type": "GeoPoint", "latitude": 1, "longitude": 1]]]
        #expect(await code { _ = try await test.names("Item", near) } == 102)
        #expect(
            await code { _ = try await test.names("Item", ["brand.title": ["$text": ["$search": ["$term": "x"]]]]) }
                == 102)
    }

    /// One statement. For an equality that an index answers, neither class is scanned.
    @Test(.sqliteOnly("The plan is in the words of SQLite."))
    func thePlanJoinsByKeyAndUsesIndexes() async throws {
        let test = try await Self.filled()
        for caller in [Caller.master, .anonymous, ann, admin] {
            let filtered = try await test.store.read {
                try $0.plan(Query(className: "Item", where: ["brand.title": "Zeta"]), caller: caller)
            }
            #expect(filtered.contains("SEARCH j1 USING INDEX"), "\(filtered)")
            #expect(filtered.contains("SEARCH o USING INDEX"), "\(filtered)")
            let sorted = try await test.store.read {
                try $0.plan(Query(className: "Item", order: ["brand.title"]), caller: caller)
            }
            #expect(sorted.contains("SEARCH j1 USING INDEX sqlite_autoindex"), "\(sorted)")
        }
    }

    @Test func aQueryLooksIntoABoundedNumberOfObjects() async throws {
        let test = try await TestStore()
        let fields = (0..<9).map { "p\($0)" }
        try await test.create("Leaf", ["n": 1])
        try await test.create(
            "Wide", .object(Dictionary(uniqueKeysWithValues: fields.map { ($0, .pointer("Leaf", "x")) })))
        let all = fields.map { "\($0).n" }
        #expect(try await test.names("Wide", [:], order: Array(all.prefix(8))).isEmpty)
        #expect(await code { _ = try await test.names("Wide", [:], order: all) } == 102)
    }
}
