import ParseProtocol
import TestSupport
import Testing

/// The schemas API: operators define classes, and the definitions are enforced from then on (PARSE_PROTOCOL section 7).
@Suite struct SchemaTests {
    private func newClass() -> String { "Game\(Names.random(8))" }

    @Test func aClassIsCreatedShownChangedAndDropped() async throws {
        let master = ParseClient.master(try await Suite.shared)
        let name = newClass()
        let created = try await master.call(
            .POST, "/schemas/\(name)", ["className": .string(name), "fields": ["score": ["type": "Number"]]])
        #expect(created.status == 200)
        #expect(created["fields"]?.objectValue?.count == 5)
        #expect(created["fields"]?["score"] == ["type": "Number"])
        #expect(created["classLevelPermissions"]?["find"] == ["*": true])
        #expect(created["indexes"] == nil)

        #expect(try await master.get("/schemas/\(name)").json == created.json)
        #expect(try await master.get("/schemas/").results.contains(created.json))

        let changed = try await master.call(
            .PUT, "/schemas/\(name)",
            [
                "fields": [
                    "score": ["__op": "Delete"], "owner": ["type": "Pointer", "targetClass": "_User"],
                    "fans": ["type": "Relation", "targetClass": "_User"],
                ]
            ])
        let fields = Set(changed["fields"]?.objectValue.map { Array($0.keys) } ?? [])
        #expect(fields.isSuperset(of: ["owner", "fans"]))
        #expect(changed["fields"]?["score"] == nil)

        let object = try await master.create(name, ["title": "x"])
        let full = try await master.call(.DELETE, "/schemas/\(name)")
        #expect(full.code == 255)
        #expect(full["error"] == .string("Class \(name) is not empty, contains 1 objects, cannot drop schema."))
        #expect(try await master.call(.DELETE, "/purge/\(name)").json == [:])
        #expect(try await master.get("/classes/\(name)/\(object.objectId)").code == 101)
        #expect(try await master.call(.DELETE, "/schemas/\(name)").json == [:])
        #expect(try await master.get("/schemas/\(name)").code == 103)
        #expect(try await master.call(.DELETE, "/schemas/\(name)").json == [:])
    }

    @Test func aRemovedFieldIsGoneFromTheObjects() async throws {
        let master = ParseClient.master(try await Suite.shared)
        let name = newClass()
        let id = try await master.create(name, ["a": 1, "b": "keep"]).objectId
        _ = try await master.call(.PUT, "/schemas/\(name)", ["fields": ["a": ["__op": "Delete"]]])
        let object = try await master.get("/classes/\(name)/\(id)")
        #expect(object["a"] == nil)
        #expect(object["b"] == "keep")
        // The field can get another type again.
        #expect(try await master.create(name, ["a": "now a text"]).status == 201)
    }

    @Test func defaultsAndRequiredFieldsHold() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let client = ParseClient(suite)
        let name = newClass()
        _ = try await master.call(
            .POST, "/schemas/\(name)",
            [
                "fields": [
                    "score": ["type": "Number", "defaultValue": 7], "title": ["type": "String", "required": true],
                    "level": ["type": "Number", "required": true, "defaultValue": 1],
                ]
            ])
        let missing = try await client.create(name, ["score": 1])
        #expect(missing.code == 142)
        #expect(missing["error"] == "title is required")
        let created = try await client.create(name, ["title": "t"])
        #expect(created["score"] == 7)
        let stored = try await client.get("/classes/\(name)/\(created.objectId)")
        #expect(stored["score"] == 7)
        #expect(stored["level"] == 1)
        for taken in [JSON.null, ["__op": "Delete"]] {
            let refused = try await client.call(.PUT, "/classes/\(name)/\(created.objectId)", ["title": taken])
            #expect(refused.code == 142)
        }
        #expect(try await client.call(.PUT, "/classes/\(name)/\(created.objectId)", ["score": 2]).status == 200)
    }

    @Test func permissionsOfAnOperatorHoldAndOutliveARestart() async throws {
        try await Suite.with { suite in
            let master = ParseClient.master(suite)
            let client = ParseClient(suite)
            let signedIn = try await Customer.signUp(suite).client
            let name = newClass()
            let id = try await client.create(name, ["secret": "s", "open": 1]).objectId
            // A class created by a client and one defined in code.
            for className in [name, "Store"] {
                let answer = try await master.call(
                    .PUT, "/schemas/\(className)",
                    [
                        "classLevelPermissions": [
                            "find": ["requiresAuthentication": true], "get": ["*": true],
                            "protectedFields": ["*": ["secret"]],
                        ]
                    ])
                #expect(answer.status == 200)
                #expect(answer["classLevelPermissions"]?["create"] == [:])
            }
            func check() async throws {
                #expect(try await client.get("/classes/\(name)/\(id)").json["secret"] == nil)
                #expect(try await client.get("/classes/\(name)/\(id)").json["open"] == 1)
                #expect(try await client.find(name).code == 101)
                #expect(try await signedIn.find(name).results.count == 1)
                #expect(try await signedIn.create(name, ["open": 2]).code == 119)
                #expect(try await client.find("Store").code == 101)
            }
            try await check()
            try await suite.kill("catalog-1")
            try await suite.untilHealthy()
            try await check()
        }
    }

    @Test func aUniqueIndexRefusesASecondObject() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let client = ParseClient(suite)
        let name = newClass()
        _ = try await client.create(name, ["code": "A"])
        let added = try await master.call(
            .PUT, "/schemas/\(name)", ["indexes": ["byCode": ["code": 1, "_unique": true]]])
        #expect(added["indexes"]?["byCode"] == ["code": 1, "_unique": true])
        #expect(try await client.create(name, ["code": "A"]).code == 137)
        let other = try await client.create(name, ["code": "B"])
        #expect(try await client.call(.PUT, "/classes/\(name)/\(other.objectId)", ["code": "A"]).code == 137)
        _ = try await master.call(.PUT, "/schemas/\(name)", ["indexes": ["byCode": ["__op": "Delete"]]])
        #expect(try await client.create(name, ["code": "A"]).status == 201)
        #expect(
            try await master.call(.PUT, "/schemas/\(name)", ["indexes": ["again": ["code": 1, "_unique": true]]]).code
                == 137)
    }

    @Test func badSchemasAreRefused() async throws {
        let master = ParseClient.master(try await Suite.shared)
        let name = newClass()
        _ = try await master.call(.POST, "/schemas/\(name)", ["fields": ["score": ["type": "Number"]]])
        let cases: [(JSON, Int)] = [
            (["fields": ["score": ["type": "String"]]], 255),
            (["fields": ["none": ["__op": "Delete"]]], 255),
            (["fields": ["x": ["type": "Nonsense"]]], 111),
            (["fields": ["x": ["type": "Pointer"]]], 135),
            (["fields": ["x": ["type": "Pointer", "targetClass": "no class"]]], 103),
            (["fields": ["objectId": ["type": "Number"]]], 136),
            (["fields": ["createdAt": ["__op": "Delete"]]], 136),
            (["fields": ["a b": ["type": "String"]]], 105),
            (["fields": ["x": ["type": "Number", "defaultValue": "text"]]], 111),
            (["fields": ["x": ["type": "Relation", "targetClass": "_User", "required": true]]], 111),
            (["fields": 5], 107),
            (["className": "Other"], 103),
            (["indexes": ["i": ["missing": 1]]], 102),
            (["indexes": ["i": ["score": "DROP TABLE"]]], 102),
            (["indexes": ["i\"; DROP TABLE o1; --": ["score": 1]]], 102),
            (["indexes": ["gone": ["__op": "Delete"]]], 102),
            (["classLevelPermissions": ["fly": ["*": true]]], 107),
            (["classLevelPermissions": ["find": ["*": "yes"]]], 107),
            (["classLevelPermissions": ["find": ["role:": true]]], 107),
            (["classLevelPermissions": ["readUserFields": ["score"]]], 107),
            (["classLevelPermissions": ["protectedFields": ["*": ["objectId"]]]], 107),
        ]
        for (body, code) in cases {
            let answer = try await master.call(.PUT, "/schemas/\(name)", body)
            #expect(answer.code == code, "\(body.serializedText): \(answer.text)")
        }
        #expect(try await master.call(.POST, "/schemas/\(name)", [:]).code == 103)
        #expect(try await master.call(.POST, "/schemas/_Bad", [:]).code == 103)
        #expect(try await master.call(.PUT, "/schemas/Nowhere", [:]).code == 103)
        #expect(try await master.call(.PUT, "/schemas/Order", ["fields": ["items": ["__op": "Delete"]]]).code == 136)
        #expect(try await master.call(.DELETE, "/schemas/Product").code == 119)
        // The refused changes left nothing behind.
        #expect(try await master.get("/schemas/\(name)")["fields"]?.objectValue?.count == 5)
    }

    @Test func onlyTheMasterKeySeesOrChangesSchemas() async throws {
        let client = ParseClient(try await Suite.shared)
        for (method, path) in [
            ("GET", "/schemas"), ("GET", "/schemas/Product"), ("POST", "/schemas/X"), ("PUT", "/schemas/Product"),
            ("DELETE", "/schemas/Product"), ("DELETE", "/purge/Product"),
        ] {
            let answer = try await client.call(.init(rawValue: method), path, method == "GET" ? nil : [:])
            #expect(answer.status == 403)
            #expect(answer["error"] == "unauthorized: master key is required", "\(answer.text)")
        }
    }

    @Test func aPurgeEmptiesALargeClass() async throws {
        let master = ParseClient.master(try await Suite.shared)
        let name = newClass()
        let request: JSON = ["method": "POST", "path": .string("/parse/classes/\(name)"), "body": ["a": 1]]
        for _ in 0..<8 {
            _ = try await master.call(.POST, "/batch", ["requests": .array(Array(repeating: request, count: 200))])
        }
        #expect(try await master.find(name, [:], ["count": 1, "limit": 0])["count"] == 1600)
        #expect(try await master.call(.DELETE, "/purge/\(name)").status == 200)
        #expect(try await master.find(name, [:], ["count": 1, "limit": 0])["count"] == 0)
        #expect(try await master.get("/schemas/\(name)").status == 200)
        #expect(try await master.call(.DELETE, "/purge/NeverThere").json == [:])
    }
}
