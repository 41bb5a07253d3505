import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// `X-Parse-Request-Id`: a write that a client retries after a lost answer runs once (PARSE_PROTOCOL section 12).
@Suite struct IdempotencyTests {
    private func send(
        _ client: ParseClient, _ method: HTTPMethod, _ path: String, _ body: JSON, id: String
    ) async throws -> ParseClient.Answer {
        try await client.send(
            method, path, headers: client.credentials + [("X-Parse-Request-Id", id)], body: body.serialized)
    }

    @Test func aRepetitionIsRefused() async throws {
        let client = ParseClient(try await GatewaySuites.guarded)
        let (className, id) = ("Once\(Names.random(6))", Names.random(20))
        let first = try await send(client, .POST, "/classes/\(className)", ["n": 1], id: id)
        try #require(first.status == 201, "\(first.text)")
        let again = try await send(client, .POST, "/classes/\(className)", ["n": 1], id: id)
        #expect(again.status == 400, "\(again.text)")
        #expect(again.json == ["code": 159, "error": "Duplicate request"], "\(again.text)")
        let path = "/classes/\(className)/\(first.objectId)"
        #expect(
            try await send(client, .PUT, path, ["n": ["__op": "Increment", "amount": 1]], id: Names.random(20))["n"]
                == 2)
        let tunnelled = try await client.send(
            .POST, "/classes/\(className)", headers: [("Content-Type", "text/plain"), ("X-Parse-Request-Id", id)],
            body: Array(#"{"n":1,"_ApplicationId":"satchel"}"#.utf8))
        #expect(tunnelled.code == 159, "\(tunnelled.text)")
        #expect(try await client.find(className, [:], ["count": 1])["count"] == 1)
        // Reads and removals may be repeated, and so may all requests on other routes.
        for _ in 0..<2 {
            #expect(
                try await client.send(.GET, path, headers: client.credentials + [("X-Parse-Request-Id", id)]).status
                    == 200)
            #expect(try await send(client, .POST, "/classes/Other\(className)", [:], id: id).status == 201)
            #expect(try await send(client, .POST, "/classes/\(className)", [:], id: "").status == 201)
        }
        #expect(
            try await send(client, .POST, "/classes/\(className)", [:], id: String(repeating: "x", count: 201)).code
                == 107)
    }

    @Test func concurrentRepetitionsRunOnce() async throws {
        let client = ParseClient(try await GatewaySuites.guarded)
        let (className, id) = ("Once\(Names.random(6))", Names.random(20))
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    let answer = try await send(client, .POST, "/classes/\(className)", ["n": 1], id: id)
                    return answer.status == 201 ? 201 : answer.code ?? 0
                }
            }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses.filter { $0 == 201 }.count == 1, "\(statuses)")
        #expect(statuses.filter { $0 == 159 }.count == 15, "\(statuses)")
        #expect(try await client.find(className, [:], ["count": 1])["count"] == 1)
    }

    @Test func aBatchRunsOnceAsAWhole() async throws {
        let client = ParseClient(try await GatewaySuites.guarded)
        let (className, id) = ("Once\(Names.random(6))", Names.random(20))
        let batch: JSON = [
            "requests": [
                ["method": "POST", "path": .string("/parse/classes/Plain\(className)"), "body": [:]],
                ["method": "post", "path": .string("/1/classes/\(className)/"), "body": ["n": 1]],
            ]
        ]
        let first = try await send(client, .POST, "/batch", batch, id: id)
        #expect(first.json.at(1, "success", "objectId") != nil, "\(first.text)")
        #expect(try await send(client, .POST, "/batch", batch, id: id).code == 159)
        #expect(try await client.find(className, [:], ["count": 1])["count"] == 1)
        #expect(try await client.find("Plain\(className)", [:], ["count": 1])["count"] == 1)
    }

    @Test func functionsAndSignUpsRunOnce() async throws {
        let suite = try await GatewaySuites.guarded
        let client = ParseClient(suite)
        let id = Names.random(20)
        let user: JSON = ["username": .string(Names.random(10)), "password": "secret1"]
        #expect(try await send(client, .POST, "/users", user, id: id).status == 201)
        #expect(try await send(client, .POST, "/users", user, id: id).code == 159)
        #expect(try await send(client, .POST, "/classes/_User", user, id: id).code == 159)
        let other = Names.random(20)
        let first = try await send(client, .POST, "/functions/nothing", [:], id: other)
        #expect(first.code == 141)
        #expect(try await send(client, .POST, "/functions/nothing", [:], id: other).code == 159)
    }

    @Test func onlyTheMasterKeySeesTheIds() async throws {
        let suite = try await GatewaySuites.guarded
        let client = ParseClient(suite)
        let id = Names.random(20)
        #expect(try await send(client, .POST, "/classes/OnceSeen", [:], id: id).status == 201)
        #expect(try await client.find("_Idempotency").code == 119)
        #expect(try await client.create("_Idempotency", ["reqId": "x"]).code == 119)
        let rows = try await ParseClient.master(suite).find("_Idempotency", ["reqId": ["$regex": .string("^\(id) ")]])
        try #require(rows.results.count == 1, "\(rows.text)")
        #expect(rows.results[0]["expire"]?["iso"] != nil, "\(rows.text)")
        let session = try await Customer.signUp(suite)
        let void = ParseClient(suite, sessionToken: "r:0123456789abcdef0123456789abcdef")
        let fresh = Names.random(20)
        #expect(try await send(void, .POST, "/classes/OnceSeen", [:], id: fresh).code == 209)
        #expect(
            try await send(session.client, .POST, "/classes/OnceSeen", [:], id: fresh).status == 201,
            "What was refused took no id.")
    }

    @Test(.timeLimit(.minutes(10))) func idsOutliveTheGatewayAndEndWithTheirTime() async throws {
        let settings = ["SATCHEL_IDEMPOTENCY_PATHS": "classes/*", "SATCHEL_IDEMPOTENCY_SECONDS": "3600"]
        try await Suite.with(settings: settings) { suite in
            let client = ParseClient(suite)
            let master = ParseClient.master(suite)
            let id = Names.random(20)
            #expect(try await send(client, .POST, "/classes/Once", ["n": 1], id: id).status == 201)
            try await suite.kill("gateway-1")
            try await suite.untilHealthy()
            let again = try await send(client, .POST, "/classes/Once", ["n": 1], id: id)
            #expect(again.code == 159, "\(again.text)")
            try await endTheOnlyId(master)
            let late = try await send(client, .POST, "/classes/Once", ["n": 1], id: id)
            #expect(late.status == 201, "\(late.text)")
            try await endTheOnlyId(master)
            try await eventually("ids that are over are removed", within: .seconds(40)) {
                try await master.find("_Idempotency", [:], ["count": 1, "limit": 0])["count"] == 0
            }
        }
    }

    /// Expects one id, which lasts an hour, and sets its end to this moment.
    private func endTheOnlyId(_ master: ParseClient) async throws {
        let rows = try await master.find("_Idempotency").results
        try #require(rows.count == 1, "\(rows)")
        let made = try #require(Timestamp(iso: rows[0].text("createdAt")))
        #expect(rows[0]["expire"] == made.advanced(by: .seconds(3600)).wire, "\(rows)")
        let changed = try await master.call(
            .PUT, "/classes/_Idempotency/\(rows[0].text("objectId"))", ["expire": Timestamp.now.wire])
        try #require(changed.status == 200, "\(changed.text)")
    }

    @Test func withoutTheSettingARepetitionRuns() async throws {
        let client = ParseClient(try await Suite.shared)
        let (className, id) = ("Once\(Names.random(6))", Names.random(20))
        for _ in 0..<2 { #expect(try await send(client, .POST, "/classes/\(className)", [:], id: id).status == 201) }
    }
}
