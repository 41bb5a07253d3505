import ParseProtocol
import TestSupport
import Testing

/// Alternative forms that Parse Server accepts for schemas, rights and Config.
@Suite struct SchemaLenienceTests {
    private static func make(_ schema: JSON) async throws -> (suite: Suite, name: String) {
        let (suite, name) = (try await Suite.shared, "Lenient\(Names.random(8))")
        let made = try await ParseClient.master(suite).call(.POST, "/schemas/\(name)", schema)
        try #require(made.status == 200, "\(made.text)")
        return (suite, name)
    }

    @Test func permissionsThatAreNullAreThoseOfBeforeAnyEdit() async throws {
        let (suite, name) = try await Self.make(["classLevelPermissions": ["find": [:]]])
        let (master, client) = (ParseClient.master(suite), ParseClient(suite))
        #expect(try await client.find(name).code == 119)
        let kept = try await master.call(.PUT, "/schemas/\(name)", ["fields": ["x": ["type": "String"]]])
        #expect(kept.status == 200)
        #expect(try await client.find(name).code == 119, "Without a word of them they stay.")
        let reset = try await master.call(.PUT, "/schemas/\(name)", ["classLevelPermissions": .null])
        #expect(reset.status == 200, "\(reset.text)")
        #expect(reset.json.at("classLevelPermissions", "find", "*") == true, "\(reset.text)")
        #expect(try await client.find(name).status == 200)
        #expect(try await client.create(name, ["x": "1"]).status == 201)
    }

    /// Permissions in the form that Parse Server 8 returns.
    @Test func newObjectsGetTheDefaultACLOfTheirClass() async throws {
        let everybody: JSON = ["*": true]
        var permissions: JSON = [:]
        for action in ["find", "get", "count", "create", "update", "delete", "addField"] {
            permissions[action] = everybody
        }
        permissions["ACL"] = ["currentUser": ["read": true, "write": true], "role:editors": ["read": true]]
        let (suite, name) = try await Self.make(["classLevelPermissions": permissions])
        let (master, guest) = (ParseClient.master(suite), ParseClient(suite))
        let customer = try await Customer.signUp(suite)
        #expect(try await master.get("/schemas/\(name)").json.at("classLevelPermissions", "ACL") == permissions["ACL"])
        func access(_ client: ParseClient, _ object: JSON) async throws -> (told: JSON?, stored: JSON?) {
            let made = try await client.create(name, object)
            #expect(made.status == 201, "\(made.text)")
            return (made["ACL"], try await master.get("/classes/\(name)/\(made.objectId)")["ACL"])
        }
        let editors: JSON = ["role:editors": ["read": true]]
        let own: JSON = .object([customer.userId: ["read": true, "write": true], "role:editors": ["read": true]])
        #expect(try await access(customer.client, ["n": 1]) == (own, own))
        #expect(try await access(guest, ["n": 2]) == (editors, editors))
        #expect(try await access(guest, ["n": 3, "ACL": ["*": ["read": true]]]) == (nil, ["*": ["read": true]]))
        #expect(try await customer.client.find(name).results.count == 2)
        permissions["ACL"] = ["*": ["read": true, "write": true]]
        #expect(try await master.call(.PUT, "/schemas/\(name)", ["classLevelPermissions": permissions]).status == 200)
        #expect(try await access(guest, ["n": 4]) == (nil, nil))
        for bad: JSON in [1, ["*": true], ["*": ["read": 1]], ["a b": ["read": true]]] {
            permissions["ACL"] = bad
            #expect(try await master.call(.PUT, "/schemas/\(name)", ["classLevelPermissions": permissions]).code == 107)
        }
    }

    /// One of Satchel's own classes gets its default permissions back, not public ones.
    @Test func theShopsClassesStayTheShops() async throws {
        try await Suite.with { suite in
            let master = ParseClient.master(suite)
            for name in ["Product", "_User"] {
                let before = try await master.get("/schemas/\(name)")["classLevelPermissions"]
                let open: JSON = [
                    "find": ["*": true], "get": ["*": true], "create": ["*": true], "update": ["*": true],
                ]
                let edited = try await master.call(.PUT, "/schemas/\(name)", ["classLevelPermissions": open])
                #expect(edited.status == 200, "\(edited.text)")
                #expect(edited["classLevelPermissions"] != before, "\(edited.text)")
                let reset = try await master.call(.PUT, "/schemas/\(name)", ["classLevelPermissions": .null])
                #expect(reset.status == 200, "\(reset.text)")
                #expect(reset["classLevelPermissions"] == before, "\(reset.text)")
            }
            #expect(try await ParseClient(suite).create("Product", ["name": "Mine"]).code == 119)
        }
    }

    @Test func aRequiredTextIsNotEmpty() async throws {
        let (suite, name) = try await Self.make([
            "fields": ["title": ["type": "String", "required": true], "hint": ["type": "String"]]
        ])
        let client = ParseClient(suite)
        for value in ["", .null, ["__op": "Delete"]] as [JSON] {
            let refused = try await client.create(name, ["title": value])
            #expect(refused.status == 400, "\(value.serializedText): \(refused.text)")
            #expect(refused.code == 142, "\(value.serializedText): \(refused.text)")
            #expect(refused["error"] == "title is required")
        }
        let made = try await client.create(name, ["title": "x", "hint": ""])
        #expect(made.status == 201, "\(made.text)")
        #expect(try await client.call(.PUT, "/classes/\(name)/\(made.objectId)", ["title": ""]).code == 142)
        #expect(try await client.call(.PUT, "/classes/\(name)/\(made.objectId)", ["hint": "y"]).status == 200)
    }

    @Test func rightsMayNameUsersWithIdsOfOtherShapes() async throws {
        let ids = ["7f9a.ada", "ada@example.com", "auth0|5f7c", "0b0e1a52-3c8e-4c0e-9a53-6b1f6f1f7f11", "émile"]
        let grants = JSON.object(Dictionary(uniqueKeysWithValues: ids.map { ($0, true as JSON) }))
        let open: JSON = ["*": true]
        let (suite, name) = try await Self.make([
            "classLevelPermissions": ["find": grants, "get": open, "create": open, "update": open, "addField": open]
        ])
        #expect(try await ParseClient(suite).find(name).code == 119, "Nobody here has such an id.")
        let rights = JSON.object(Dictionary(uniqueKeysWithValues: ids.map { ($0, ["read": true] as JSON) }))
        let made = try await ParseClient(suite).create(name, ["ACL": rights])
        try #require(made.status == 201, "\(made.text)")
        let stored = try await ParseClient.master(suite).get("/classes/\(name)/\(made.objectId)")
        #expect(stored["ACL"] == rights, "\(stored.text)")
        #expect(try await ParseClient(suite).get("/classes/\(name)/\(made.objectId)").code == 101)
        for bad in ["*unresolved", "a b", "role:", "x:y", "$ne", ""] {
            let refused = try await ParseClient(suite).create(name, ["ACL": .object([bad: ["read": true]])])
            #expect(refused.code == 123, "\(bad): \(refused.text)")
            let edited = try await ParseClient.master(suite).call(
                .PUT, "/schemas/\(name)", ["classLevelPermissions": ["find": .object([bad: true])]])
            #expect(edited.code == 107, "\(bad): \(edited.text)")
        }
    }

    @Test func configTakesOperators() async throws {
        let suite = try await Suite.shared
        let (master, name) = (ParseClient.master(suite), "op\(Names.random(8))")
        func put(_ value: JSON) async throws -> ParseClient.Answer {
            try await master.call(.PUT, "/config", ["params": .object([name: value])])
        }
        func value() async throws -> JSON? { try await ParseClient(suite).get("/config")["params"]?[name] }
        let steps: [(JSON, JSON?)] = [
            (["__op": "Increment", "amount": 2], 2), (["__op": "Increment", "amount": -5], -3),
            (["__op": "Delete"], nil), (["__op": "Add", "objects": ["a", "b"]], ["a", "b"]),
            (["__op": "AddUnique", "objects": ["b", "c"]], ["a", "b", "c"]),
            (["__op": "Remove", "objects": ["a", "z"]], ["b", "c"]), ("plain", "plain"),
        ]
        for (change, expected) in steps {
            let changed = try await put(change)
            #expect(changed.status == 200, "\(changed.text)")
            #expect(changed["result"] == true, "\(changed.text)")
            #expect(try await value() == expected, "\(change.serializedText)")
        }
        #expect(try await put(["__op": "Increment", "amount": 1]).code == 111)
        #expect(try await put(["__op": "Add", "objects": "x"]).code == 107)
        #expect(try await value() == "plain")
        _ = try await put(["__op": "Delete"])
    }
}
