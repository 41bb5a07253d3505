import ObjectStore
import ParseProtocol
import Testing

/// T1b, T11b, T13: fields that no client may query, entries that permission edits do not show, and rights that a query
/// needs.
@Suite struct SecretFieldTests {
    private static let user = ClassDefinition(
        "_User", fields: ["email": .string, "authData": .object, "name": .string],
        permissions: ClassPermissions.open.protecting(["*": ["email", "authData"]]))
    private static let session = ClassDefinition(
        "_Session", fields: ["sessionToken": .string, "user": .pointer("_User"), "installationId": .string],
        uniqueIndexes: [["sessionToken"]])
    private static let ann = Caller(userId: "annannanna")

    private static func filled() async throws -> TestStore {
        let test = try await TestStore([user, session])
        try await test.create(
            "_User", ["name": "Ann", "email": "ann@example.com", "authData": ["anonymous": ["id": "x"]]],
            id: "annannanna")
        try await test.create(
            "_Session",
            [
                "sessionToken": "r:1", "user": .pointer("_User", "annannanna"), "installationId": "i",
                "ACL": ["annannanna": ["read": true]],
            ])
        try await test.create("Note", ["name": "n", "by": .pointer("_User", "annannanna")])
        return test
    }

    @Test func secretsAreNoQueryFields() async throws {
        let test = try await Self.filled()
        let secrets: [(String, String)] = [
            ("_Session", "sessionToken"), ("_User", "authData"), ("_User", "authData.anonymous.id"),
            ("_User", "password"),
            ("_User", "sessionToken"), ("_User", "email"), ("Note", "by.authData.anonymous.id"), ("Note", "by.email"),
            ("Note", "by.sessionToken"),
        ]
        for caller in [Caller.anonymous, bob, admin] {
            for (className, field) in secrets {
                for condition in [
                    [field: "r:1"], [field: ["$regex": "^r:"]], [field: ["$exists": true]],
                    ["$or": [["name": "x"], ["$and": [[field: ["$gt": "r"]]]]]],
                    ["$nor": [[field: "x"]]],
                ] as [JSON] {
                    #expect(
                        await code { _ = try await test.names(className, condition, as: caller) } == 119,
                        "\(className) \(condition.serializedText)")
                    let count = Query(className: className, where: condition)
                    #expect(await code { _ = try await test.store.read { try $0.count(count, caller: caller) } } == 119)
                }
                for order in [field, "-\(field)"] {
                    #expect(await code { _ = try await test.names(className, [:], order: [order], as: caller) } == 119)
                }
            }
        }
        #expect(
            try await test.store.read {
                try $0.count(Query(className: "_Session", where: ["sessionToken": "r:1"]), caller: .master)
            } == 1)
        let own: JSON = ["installationId": "i", "user": .pointer("_User", "annannanna")]
        #expect(
            try await test.store.read { try $0.count(Query(className: "_Session", where: own), caller: Self.ann) } == 1)
    }

    @Test func aPermissionsEditKeepsWhatIsBuiltIn() async throws {
        let test = try await Self.filled()
        let everybody: JSON = ["*": true]
        var edit: JSON = .object(
            Dictionary(
                uniqueKeysWithValues: ["find", "count", "get", "create", "update", "delete", "addField"].map {
                    ($0, everybody)
                }))
        func seen(_ groups: JSON?) async throws -> JSON {
            edit["protectedFields"] = groups
            let wish: JSON = ["classLevelPermissions": edit]
            _ = try await test.store.write { try $0.changeClass("_User", wish, keeping: []) }
            return try await test.get("_User", "annannanna", as: bob)
        }
        for groups in [
            nil, [:], ["authenticated": []], ["role:admins": []], ["*": []], ["*": ["zip"]], ["userField:by": []],
            ["*": [], "authenticated": ["zip"]],
        ] as [JSON?] {
            let object = try await seen(groups)
            #expect(object["email"] == nil, "\(groups?.serializedText ?? "no groups")")
            #expect(object["authData"] == nil)
            #expect(object["name"] == "Ann")
            #expect(await code { _ = try await test.names("_User", ["email": ["$exists": true]], as: bob) } == 119)
            _ = try await seen([:])
        }
        for caller in [Caller.anonymous, admin] {
            #expect(try await test.get("_User", "annannanna", as: caller)["authData"] == nil)
        }
        #expect(try await test.get("_User", "annannanna", as: Self.ann)["authData"] != nil, "It is the user's own.")
        _ = try await seen(["*": ["zip"], "role:admins": [], "role:staff": ["zip"]])
        let schema = try await test.store.read { try JSON(parsing: $0.schema(of: "_User")) }
        #expect(
            schema["classLevelPermissions"]?["protectedFields"] == [
                "*": ["zip", "email", "authData"], "role:admins": [], "role:staff": ["zip", "email", "authData"],
            ])
        #expect(try await test.get("_User", "annannanna", as: admin)["email"] != nil, "An empty list exempts a role.")
        #expect(try await seen(nil)["email"] == nil)
        #expect(try await test.get("_User", "annannanna", as: admin)["email"] != nil, "What is left out stays.")
    }

    /// A database in which an operator replaced the protected fields in a release whose edits did not add to them.
    @Test func aReplacedProtectionComesBackWithTheNextStart() async throws {
        let bare = ClassDefinition("_User", fields: ["email": .string], permissions: .open)
        let test = try await TestStore([bare])
        try await test.create("_User", ["email": "ann@example.com"], id: "annannanna")
        let edit: JSON = ["classLevelPermissions": ["get": ["*": true], "protectedFields": ["*": ["zip"]]]]
        _ = try await test.store.write { try $0.changeClass("_User", edit, keeping: []) }
        #expect(try await test.get("_User", "annannanna", as: bob)["email"] != nil)
        test.store.stop()
        let newer = try await TestStore([Self.user], path: test.path)
        #expect(try await newer.get("_User", "annannanna", as: bob)["email"] == nil)
    }

    /// One of the shop's classes whose definition hides a field from all clients except one role.
    @Test func theProtectionOfAShopsClassIsAddedToAsWell() async throws {
        let test = try await TestStore([
            ClassDefinition(
                "_Product", fields: ["download": .string],
                permissions: ClassPermissions.open.protecting(["*": ["download"], "role:admins": []]))
        ])
        try await test.create("_Product", ["download": "paid", "title": "Song"], id: "song")
        for groups in [nil, ["*": []], ["*": ["title"], "authenticated": []]] as [JSON?] {
            var edit: JSON = ["get": ["*": true]]
            edit["protectedFields"] = groups
            let wish: JSON = ["classLevelPermissions": edit]
            _ = try await test.store.write { try $0.changeClass("_Product", wish, keeping: []) }
            #expect(try await test.get("_Product", "song", as: bob)["download"] == nil)
            #expect(try await test.get("_Product", "song", as: admin)["download"] == "paid")
        }
    }

    @Test func aQueryForOneIdNeedsTheRightToGet() async throws {
        let test = try await TestStore([
            ClassDefinition("Found", permissions: ClassPermissions(find: .everybody, count: .everybody)),
            ClassDefinition("Got", permissions: ClassPermissions(get: .everybody)),
        ])
        for name in ["Found", "Got"] { try await test.create(name, ["name": "x"], id: "one") }
        for condition in [["objectId": "one"]] as [JSON] {
            for text in [false, true] {
                func names(_ className: String) async throws -> Int {
                    let query =
                        text
                        ? Query(className: className, where: condition.serialized)
                        : Query(className: className, where: condition)
                    return try await test.store.read { try $0.documents(query, caller: bob).count }
                }
                #expect(await code { _ = try await names("Found") } == 119)
                #expect(try await names("Got") == 1)
            }
        }
        #expect(await code { _ = try await test.names("Got", ["objectId": ["$in": ["one"]]], as: bob) } == 119)
        #expect(await code { _ = try await test.names("Got", ["objectId": "one", "name": "x"], as: bob) } == 119)
        #expect(try await test.names("Found", ["objectId": ["$in": ["one"]]], as: bob) == ["x"])
        #expect(
            await code {
                _ = try await test.store.read {
                    try $0.count(Query(className: "Got", where: ["objectId": "one"]), caller: bob)
                }
            } == 119)
    }

    @Test func pointerPermissionsAnswerWhoIsNotSignedInWithNothing() async throws {
        let owner = ClassPermissions.Operation(pointerFields: ["owner"])
        let test = try await TestStore([
            ClassDefinition(
                "Mine", fields: ["owner": .pointer("_User"), "team": .array],
                permissions: ClassPermissions(
                    find: owner, count: owner, get: owner, update: owner, delete: owner, readUserFields: ["team"],
                    writeUserFields: ["owner"]))
        ])
        try await test.create(
            "Mine",
            ["name": "x", "owner": .pointer("_User", "bobbobbobb"), "team": [.pointer("_User", "bobbobbobb"), .null]],
            id: "one")
        #expect(try await test.names("Mine", [:], as: .anonymous).isEmpty)
        #expect(try await test.store.read { try $0.count(Query(className: "Mine"), caller: .anonymous) } == 0)
        #expect(await code { _ = try await test.get("Mine", "one", as: .anonymous) } == 101)
        #expect(await code { try await test.update("Mine", "one", ["name": "y"], as: .anonymous) } == 101)
        #expect(await code { try await test.delete("Mine", "one", as: .anonymous) } == 101)
        #expect(await code { try await test.create("Mine", ["name": "y"], as: .anonymous) } == 119)
        #expect(try await test.names("Mine", [:], as: bob) == ["x"])
    }

    /// T2s: names and patterns have a length limit that is checked before any other work.
    @Test func namesAndPatternsAreBounded() async throws {
        let test = try await Self.filled()
        let many = (0..<1001).map { "f\($0)" }
        for query in [
            Query(className: "Note", keys: many), Query(className: "Note", excludeKeys: many),
            Query(className: "Note", keys: [String(repeating: "a", count: 32_769)]),
        ] {
            #expect(await code { _ = try await test.store.read { try $0.find(query, caller: bob) } } == 102)
        }
        _ = try await test.store.read {
            try $0.find(Query(className: "Note", keys: Array(many.dropLast())), caller: bob)
        }
        func patterns(_ count: Int, _ pattern: String) -> JSON {
            ["$or": .array((0..<count).map { _ in ["name": ["$regex": .string(pattern)]] })]
        }
        #expect(try await test.names("Note", patterns(40, "^n"), as: bob) == ["n"])
        #expect(await code { _ = try await test.names("Note", patterns(41, "^n"), as: bob) } == 102)
        #expect(
            await code { _ = try await test.names("Note", patterns(9, String(repeating: "n", count: 900)), as: bob) }
                == 102)
        #expect(
            await code {
                _ = try await test.names(
                    "Note", ["tags": ["$all": .array((0..<41).map { _ in ["$regex": "a"] })]], as: bob)
            } != nil)
    }
}
