import ParseProtocol
import TestSupport
import Testing

/// Malicious requests: each is answered, nothing is duplicated or lost, and the suite remains healthy.
@Suite struct HardeningTests {
    @Test func anIncludeThatMultipliesIsRefused() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let className = "Mirror\(Names.random(6))"
        let created = try await client.create(className, ["name": "self"])
        try #require(created.status == 201, "\(created.text)")
        let itself = JSON.pointer(className, created.json.objectId)
        let path = "/classes/\(className)/\(created.json.objectId)"
        let saved = try await client.call(.PUT, path, ["f": .array(Array(repeating: itself, count: 1000))])
        try #require(saved.status == 200, "\(saved.text)")
        for include in ["f", "f.f", "f.f.f.f"] {
            let refused = try await client.get(path, ["include": .string(include)])
            #expect(refused.status == 400)
            #expect(refused.json["code"] == 102)
        }
    }

    @Test func anIncludeOfThousandsOfObjectsIsAnswered() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let className = "Many\(Names.random(6))"
        var pointers: [JSON] = []
        for _ in 0..<12 {
            let requests = (0..<200).map { n -> JSON in
                ["method": "POST", "path": .string("/parse/classes/\(className)"), "body": ["n": .int(Int64(n))]]
            }
            let answer = try await client.call(.POST, "/batch", ["requests": .array(requests)])
            for item in answer.json.arrayValue ?? [] {
                pointers.append(.pointer(className, item.at("success", "objectId")?.stringValue ?? ""))
            }
        }
        try #require(Set(pointers).count == 2400)
        // Two objects, because one with all the pointers would exceed the size limit.
        let owners = "Owner\(Names.random(6))"
        for half in [pointers.prefix(1200), pointers.suffix(1200)] {
            let saved = try await client.create(owners, ["many": .array(Array(half))])
            try #require(saved.status == 201, "\(saved.text)")
        }
        let found = try await client.find(owners, [:], ["include": "many"])
        #expect(found.status == 200)
        var included = 0
        for owner in found.results {
            for element in owner["many"]?.arrayValue ?? [] where element.wireType == "Object" { included += 1 }
        }
        #expect(included == 2400)
    }

    @Test(arguments: ["in 1000000000 years", "9223372036854775807 seconds ago", "in 99999999999999999999 days"])
    func aFarRelativeTimeIsAnswered(_ text: String) async throws {
        let suite = try await Suite.shared
        let condition: JSON = ["createdAt": ["$lt": ["$relativeTime": .string(text)]]]
        let answer = try await ParseClient(suite).find("Product", condition)
        #expect([200, 400].contains(answer.status), "\(answer.text)")
        #expect(try await ParseClient(suite).get("/health").status == 200)
    }

    @Test func anObjectIsNeverTooDeepToBeReadAgain() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let className = "Deep\(Names.random(6))"
        let created = try await client.create(className, ["a": [:]])
        let path = "/classes/\(className)/\(created.json.objectId)"
        let deep = (0..<60).reduce(JSON.array([])) { value, _ in .array([value]) }
        let saved = try await client.call(.PUT, path, ["a.b.c.d.e.f.g.h.i.j.k": deep])
        #expect(saved.status == 400)
        #expect(try await client.find(className, [:], ["include": "a"]).status == 200)
        #expect(try await client.call(.DELETE, path).status == 200)
    }

    @Test func aPasswordThatLooksLikeANumberSignsInByQuery() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let name = "12345\(Names.random(8))"
        let made = try await client.call(.POST, "/users", ["username": .string(name), "password": "12345678"])
        try #require(made.status == 201, "\(made.text)")
        let answer = try await client.send(
            .GET, "/login?username=\(name)&password=12345678", headers: client.credentials)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json["sessionToken"] != nil)
    }

    @Test func anEmptyMasterKeyIsNoMasterKey() async throws {
        let suite = try await Suite.shared
        let answer = try await ParseClient(suite, masterKey: "").get("/serverInfo")
        #expect(answer.status == 403)
    }

    @Test func aBatchAnswersEachRequestByItself() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let className = "Half\(Names.random(6))"
        let requests: [JSON] = [
            ["method": "POST", "path": .string("/parse/classes/\(className)"), "body": ["n": 1]],
            ["method": "POST", "path": .string("/parse/classes/\(className)"), "body": ["n": 2]],
            ["method": "POST", "path": "/parse/classes/OrderItem", "body": ["quantity": -1]],
            ["method": "POST", "path": "/parse/classes/OrderItem", "body": ["quantity": 1.5]],
        ]
        let answer = try await customer.client.call(.POST, "/batch", ["requests": .array(requests)])
        #expect(answer.status == 200)
        let items = answer.json.arrayValue ?? []
        #expect(items.map { $0["success"] != nil } == [true, true, false, false], "\(answer.text)")
    }
}
