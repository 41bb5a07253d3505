import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Keys with a special meaning in other runtimes (`__proto__`, `constructor`, `_bsontype`) are refused in every write,
/// at every depth and next to any other key. In Swift they would be plain strings, but apps in other runtimes read
/// them.
@Suite struct KeyDenyListAdvisoryTests {
    /// Refused members.
    private static let evil: [(key: String, value: JSON)] = [
        ("__proto__", ["isAdmin": true]), ("constructor", ["prototype": ["isAdmin": true]]), ("__proto__", .null),
        ("constructor", 1), ("_bsontype", "Code"),
    ]

    private static func object(_ key: String, _ value: JSON, beside members: [String: JSON] = [:]) -> JSON {
        .object(members.merging([key: value]) { $1 })
    }

    /// Checks that an object created after the attacks has exactly its own members.
    private func expectNothingWasPolluted(_ suite: Suite) async throws {
        let client = ParseClient(suite)
        let className = "Clean\(Names.random(6))"
        let made = try await client.create(className, ["n": 1])
        let stored = try await client.get("/classes/\(className)/\(made.objectId)")
        #expect(Set(stored.json.objectValue?.keys.map { $0 } ?? []) == ["objectId", "createdAt", "updatedAt", "n"])
        let schema = try await ParseClient.master(suite).get("/schemas/\(className)")
        #expect(schema["fields"]?.objectValue?.count == 5, "\(schema.text)")
    }

    @Test("2022-24760: keys with a meaning elsewhere are refused in objects")
    func advisory2022_24760_evilKeysAreRefusedInObjects() async throws {
        let suite = try await Suite.shared
        let client = try await Customer.signUp(suite).client
        let className = "Plain\(Names.random(6))"
        let made = try await client.create(className, ["data": ["a": 1], "list": []])
        let path = "/classes/\(className)/\(made.objectId)"
        for (key, value) in Self.evil {
            let inner = Self.object(key, value)
            let bodies: [JSON] = [
                inner, ["data": inner], ["data": ["deep": [["er": inner]]]], ["list": [inner]],
                ["list": ["__op": "Add", "objects": [inner]]],
                ["list": ["__op": "AddUnique", "objects": [["a": inner]]]],
                ["list": ["__op": "Remove", "objects": [inner]]], ["data.a": inner],
                ["data.\(key)": value], ["data.\(key).x": 1],
                ["data.\(key)": ["__op": "Increment", "amount": 1]],
            ]
            for body in bodies {
                for way in Way.allCases {
                    for (method, target) in [(HTTPMethod.PUT, path), (.POST, "/classes/\(className)")] {
                        let outcome = try await client.go(way, method, target, body)
                        #expect(!outcome.isSuccess, "\(way) \(method) \(body): \(outcome.text)")
                        #expect(outcome.code == 105, "\(way) \(method) \(body): \(outcome.text)")
                    }
                }
            }
        }
        let allowed = try await client.call(.PUT, path, ["data": ["proto": 1, "_bsontype": "text", "prototype": 2]])
        #expect(allowed.status == 200, "\(allowed.text)")
        let count = try await client.find(className, [:], ["count": 1, "limit": 0])
        #expect(count["count"] == 1)
        try await expectNothingWasPolluted(suite)
    }

    @Test("2022-39396: and in what a client says about a file")
    func advisory2022_39396_evilKeysAreRefusedInMetadata() async throws {
        let suite = try await Suite.shared
        let token = JSON.string(try await Customer.signUp(suite).client.sessionToken ?? "")
        func upload(_ fileData: JSON) async throws -> ParseClient.Answer {
            let body: JSON = [
                "base64": "eA==", "_ContentType": "text/plain", "_ApplicationId": "satchel", "_SessionToken": token,
                "fileData": fileData,
            ]
            return try await ParseClient(suite).send(.POST, "/files/a.txt", body: body.serialized)
        }
        for (key, value) in Self.evil {
            let inner = Self.object(key, value, beside: ["a": 1])
            for fileData in [
                ["metadata": inner], ["tags": inner], ["metadata": ["a": ["b": [inner]]], "tags": [:]],
                ["metadata": [:], "tags": ["x": inner]],
            ] as [JSON] {
                let refused = try await upload(fileData)
                #expect(refused.status == 400, "\(fileData): \(refused.text)")
                #expect(refused.code == 105, "\(fileData): \(refused.text)")
            }
        }
        let allowed = try await upload(["metadata": ["by": "ann"], "tags": ["kind": "note"]])
        #expect(allowed.status == 201)
        let metadata = try await ParseClient(suite).download(
            "/files/satchel/metadata/\(allowed.json.text("name"))")
        #expect(metadata.json == ["metadata": ["by": "ann"], "tags": ["kind": "note"]])
    }

    @Test(
        "2023-36475: and in everything else that is written: users, sessions, roles, devices, Config, events, schemas")
    func advisory2023_36475_evilKeysAreRefusedElsewhere() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let master = ParseClient.master(suite)
        let session = try await customer.client.get("/sessions/me").objectId
        let tag = Names.random(8)
        for (key, value) in Self.evil {
            let inner = Self.object(key, value, beside: ["a": 1])
            let requests: [(ParseClient, HTTPMethod, String, JSON)] = [
                (customer.client, .PUT, "/users/\(customer.userId)", ["settings": inner]),
                (
                    ParseClient(suite), .POST, "/users",
                    ["username": .string(tag), "password": "a-long-one", "s": [inner]]
                ),
                (customer.client, .PUT, "/sessions/\(session)", ["device": inner]),
                (master, .POST, "/roles", ["name": .string("r\(tag)"), "ACL": ["*": ["read": true]], "more": inner]),
                (
                    customer.client, .POST, "/installations",
                    ["deviceType": "ios", "installationId": .string("i\(tag)"), "more": inner]
                ),
                (master, .PUT, "/config", ["params": ["p\(tag)": inner]]),
                (master, .PUT, "/config", ["params": .object([key: value])]),
                (
                    master, .POST, "/schemas/S\(tag)",
                    ["fields": ["f": ["type": "Object", "defaultValue": inner]]]
                ),
            ]
            for (client, method, path, body) in requests {
                for way in [Way.plain, .tunnelled, .batched] {
                    let outcome = try await client.go(way, method, path, body)
                    #expect(!outcome.isSuccess, "\(way) \(method) \(path) \(key): \(outcome.text)")
                    #expect(outcome.code == 105, "\(way) \(method) \(path) \(key): \(outcome.text)")
                }
            }
        }
        #expect(try await customer.client.call(.PUT, "/users/\(customer.userId)", ["settings": ["a": 1]]).status == 200)
        #expect(try await customer.client.get("/users/me")["settings"] == ["a": 1])
        #expect(try await master.get("/schemas/S\(tag)").code == 103)
        try await expectNothingWasPolluted(suite)
    }

    @Test("2026-32878: neither a schema nor its defaults take such keys, and objects made from defaults are clean")
    func advisory2026_32878_schemasTakeNoEvilKeys() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let name = "Made\(Names.random(6))"
        let type: JSON = ["type": "String"]
        for key in ["__proto__", "constructor", "_bsontype", "a.b", "$a", "a b", "a'b", "length", "className", ""] {
            let refused = try await master.call(.POST, "/schemas/\(name)", ["fields": .object([key: type])])
            #expect(refused.status == 400, "\(key): \(refused.text)")
            #expect(refused.code == 105, "\(key): \(refused.text)")
        }
        for key in ["__proto__", "a b", "a'b", "_x", "1a"] {
            let path =
                "/schemas/\(key.replacingOccurrences(of: " ", with: "%20").replacingOccurrences(of: "'", with: "%27"))"
            let refused = try await master.call(.POST, path, [:])
            #expect(refused.code == 103, "\(key): \(refused.text)")
        }
        for value in [["__proto__": ["x": 1]], ["a": [["constructor": 1]]]] as [JSON] {
            let body: JSON = ["fields": ["data": ["type": "Object", "defaultValue": value]]]
            #expect(try await master.call(.POST, "/schemas/\(name)", body).code == 105)
        }
        #expect(try await master.get("/schemas/\(name)").code == 103)
        // The same with a permitted default. Objects that change their value do not change the default.
        let fields: JSON = ["fields": ["data": ["type": "Object", "defaultValue": ["a": ["b": 1]]]]]
        #expect(try await master.call(.POST, "/schemas/\(name)", fields).status == 200)
        let client = ParseClient(suite)
        let first = try await client.create(name, [:])
        #expect(try await client.call(.PUT, "/classes/\(name)/\(first.objectId)", ["data.a.b": 7]).status == 200)
        let second = try await client.create(name, [:])
        #expect(try await client.get("/classes/\(name)/\(second.objectId)")["data"] == ["a": ["b": 1]])
        #expect(try await client.get("/classes/\(name)/\(first.objectId)")["data"] == ["a": ["b": 7]])
        try await expectNothingWasPolluted(suite)
    }

    @Test("2026-30938: every sibling at every depth is looked at, before and after other values")
    func advisory2026_30938_everySiblingIsLookedAt() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let className = "Wide\(Names.random(6))"
        for (key, value) in Self.evil {
            let inner = Self.object(key, value)
            // A check that stops at the first nested value or array would accept one of these.
            let harmless: JSON = ["x": ["y": ["z": []]]]
            for body in [
                ["a": harmless, "z": inner], ["a": inner, "z": harmless], ["m": [harmless, inner, harmless]],
                ["m": [[], [[]], [harmless], [[inner]]]], ["m": ["a": [:], "b": [], "c": ["d": .null, "e": inner]]],
                ["m": ["a": [1, "x", .null, true, ["n": [inner]]], "z": 1]],
                ["m": Self.object(key, value, beside: ["a": harmless, "b": [harmless], "z": 1, "_": 2])],
                ["list": ["__op": "Add", "objects": [harmless, [harmless], ["k": [inner]]]]],
            ] as [JSON] {
                for way in Way.allCases {
                    let outcome = try await client.go(way, .POST, "/classes/\(className)", body)
                    #expect(!outcome.isSuccess, "\(way) \(body): \(outcome.text)")
                    #expect(outcome.code == 105, "\(way) \(body): \(outcome.text)")
                }
            }
            // Additional members of a typed value are dropped.
            for hash in [
                ["__type": "Date", "iso": "2022-01-01T00:00:00.000Z"], .pointer("Product", "abcdefghij"),
                ["__type": "GeoPoint", "latitude": 1, "longitude": 2],
            ] as [JSON] {
                let members = (hash.objectValue ?? [:]).merging([key: value]) { $1 }
                let made = try await client.create("\(className)Hash", ["h\(hash.wireType ?? "")": .object(members)])
                if made.status == 201 {
                    let stored = try await client.get("/classes/\(className)Hash/\(made.objectId)")
                    #expect(stored["h\(hash.wireType ?? "")"] == hash, "\(stored.text)")
                } else {
                    #expect(made.code == 105, "\(made.text)")
                }
            }
        }
        #expect(try await client.find(className, [:], ["count": 1])["count"] == 0)
        #expect(try await client.create(className, ["m": [["a": ["b": [["c": 1]]]]]]).status == 201)
        try await expectNothingWasPolluted(suite)
    }
}
