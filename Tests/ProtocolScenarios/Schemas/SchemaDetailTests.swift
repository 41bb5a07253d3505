import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Details of schemas and internal classes that operators' tools read, and how these tools clean up.
@Suite struct SchemaDetailTests {
    private static let standard = ["objectId", "createdAt", "updatedAt", "ACL"]

    private func fields(_ text: [UInt8], of className: String) throws -> [String] {
        let answer = try JSON(parsing: text, membersInOrderOf: ["fields"])
        let schemas = answer["results"]?.arrayValue ?? [answer]
        let fields = schemas.first { $0["className"] == .string(className) }?["fields"]?.arrayValue
        return (fields ?? []).compactMap { $0.arrayValue?.first?.stringValue }
    }

    @Test func fieldsComeInTheOrderOfTheirCreation() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let className = "Ordered\(Names.random(8))"
        let path = "/schemas/\(className)"
        let body = #"{"fields":{"zeal":{"type":"Number"},"alpha":{"type":"String"},"mood":{"type":"Date"}}}"#
        let headers = master.credentials + [("Content-Type", "application/json")]
        let created = try await master.send(.POST, path, headers: headers, body: Array(body.utf8))
        let expected = Self.standard + ["zeal", "alpha", "mood"]
        #expect(try fields(created.body, of: className) == expected, "\(created.text)")
        _ = try await ParseClient(suite).create(className, ["learnt": 1])
        let change = #"{"fields":{"d":{"type":"Array"},"c":{"type":"Object"},"alpha":{"__op":"Delete"}}}"#
        let changed = try await master.send(.PUT, path, headers: headers, body: Array(change.utf8))
        let later = Self.standard + ["zeal", "mood", "learnt", "d", "c"]
        #expect(try fields(changed.body, of: className) == later, "\(changed.text)")
        #expect(try fields(try await master.get(path).body, of: className) == later)
        #expect(try fields(try await master.get("/schemas").body, of: className) == later)
    }

    @Test func noIndexIsShownWhereNobodyMadeOne() async throws {
        let master = ParseClient.master(try await Suite.shared)
        let path = "/schemas/Bare\(Names.random(8))"
        let created = try await master.call(.POST, path, ["fields": ["score": ["type": "Number"]]])
        #expect(created.status == 200, "\(created.text)")
        #expect(created["indexes"] == nil, "\(created.text)")
        #expect(try await master.get(path)["indexes"] == nil)
        let indexed = try await master.call(.PUT, path, ["indexes": ["best": ["score": -1]]])
        #expect(indexed["indexes"] == ["_id_": ["_id": 1], "best": ["score": -1]], "\(indexed.text)")
        let emptied = try await master.call(.PUT, path, ["indexes": ["best": ["__op": "Delete"]]])
        #expect(emptied["indexes"] == ["_id_": ["_id": 1]], "\(emptied.text)")
    }

    /// Clean-ups purge every listed class. The test has its own suite, so that other tests keep their ids.
    @Test func requestIdsCanBePurged() async throws {
        try await Suite.with(settings: ["SATCHEL_IDEMPOTENCY_PATHS": "classes/Once*"]) { suite in
            let master = ParseClient.master(suite)
            let listed = try await master.get("/schemas").results.map { $0.text("className") }
            #expect(listed.contains("_Idempotency"))
            let headers =
                ParseClient(suite).credentials + [
                    ("X-Parse-Request-Id", Names.random(20)), ("Content-Type", "application/json"),
                ]
            func save() async throws -> ParseClient.Answer {
                try await ParseClient(suite).send(
                    .POST, "/classes/OncePurged", headers: headers, body: Array("{}".utf8))
            }
            #expect(try await save().status == 201)
            #expect(try await save().code == 159)
            let purge = try await master.call(.DELETE, "/purge/_Idempotency")
            #expect(purge.status == 200, "\(purge.text)")
            #expect(purge.json == [:], "\(purge.text)")
            #expect(try await save().status == 201)
            for className in ["_Hooks", "_GlobalConfig", "_Join:users:_Role", "_SCHEMA"] {
                #expect(try await master.call(.DELETE, "/purge/\(className)").code == 103, "\(className)")
            }
        }
    }

    /// The PHP SDK stores all options of a find in an audience.
    @Test func anAudienceHoldsTheOptionsOfAFind() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let token = Names.random(40).lowercased()
        let channel = "Heard\(Names.random(8))"
        let device = try await ParseClient(suite).call(
            .POST, "/installations",
            ["deviceType": "ios", "deviceToken": .string(token), "channels": [.string(channel)]])
        try #require(device.status == 201, "\(device.text)")
        let query = #"{"limit":100,"where":{"channels":{"$in":["\#(channel)"]},"deviceType":{"$eq":"ios"}}}"#
        for path in ["/classes/_Audience", "/push_audiences"] {
            let made = try await master.call(.POST, path, ["name": "Options", "query": .string(query)])
            try #require(made.status == 201, "\(made.text)")
            let read = try await master.get("/classes/_Audience/\(made.objectId)")
            #expect(read["query"] == .string(query))
            let id = try await master.push(["audience_id": .string(made.objectId), "data": ["alert": "hi"]])
            _ = try await master.pushEnded(id)
            #expect(suite.devices(of: id) == [token])
        }
        let bad = try await master.call(
            .POST, "/classes/_Audience", ["name": "Bad", "query": #"{"where":{"a":{"$nothing":1}}}"#])
        #expect(bad.code == 107, "\(bad.text)")
    }
}
