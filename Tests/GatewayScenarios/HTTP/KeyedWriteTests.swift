import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// `Idempotency-Key`: a client that repeats a write with its key gets the first answer byte for byte.
@Suite struct KeyedWriteTests {
    static func send(
        _ client: ParseClient, _ method: HTTPMethod, _ path: String, _ body: JSON?, key: String
    ) async throws -> ParseClient.Answer {
        try await client.send(
            method, path,
            headers: client.credentials + [("Content-Type", "application/json"), ("Idempotency-Key", key)],
            body: body?.serialized)
    }

    static func isReplayed(_ answer: ParseClient.Answer) -> Bool {
        answer.headers.first(name: "Idempotent-Replayed") == "true"
    }

    /// Sends twice. The second answer must be the first one.
    static func sendTwice(
        _ client: ParseClient, _ method: HTTPMethod, _ path: String, _ body: JSON?
    ) async throws -> ParseClient.Answer {
        let key = Names.random(20)
        let first = try await send(client, method, path, body, key: key)
        #expect(!isReplayed(first), "\(first.text)")
        let again = try await send(client, method, path, body, key: key)
        expectReplay(again, of: first)
        return first
    }

    static func expectReplay(_ again: ParseClient.Answer, of first: ParseClient.Answer) {
        #expect(isReplayed(again), "\(again.text)")
        #expect(again.status == first.status, "\(again.text)")
        #expect(again.body == first.body, "\(again.text) instead of \(first.text)")
        for name in ["Location", "Content-Type"] {
            #expect(again.headers.first(name: name) == first.headers.first(name: name), "\(name)")
        }
    }

    static func count(_ className: String, _ suite: Suite) async throws -> Int64? {
        try await ParseClient.master(suite).find(className, [:], ["count": 1, "limit": 0])["count"]?.intValue
    }

    @Test func everyWriteOfAnObjectIsCarriedOutOnce() async throws {
        let suite = try await Suite.shared
        let className = "Keyed\(Names.random(6))"
        for client in [ParseClient(suite), ParseClient.master(suite)] {
            let created = try await Self.sendTwice(client, .POST, "/classes/\(className)", ["n": 1])
            #expect(created.status == 201, "\(created.text)")
            #expect(created.headers.first(name: "Location")?.hasSuffix("/\(created.objectId)") == true)
            #expect(try await Self.count(className, suite) == 1)
            let path = "/classes/\(className)/\(created.objectId)"
            let changed = try await Self.sendTwice(client, .PUT, path, ["n": ["__op": "Increment", "amount": 1]])
            #expect(changed["n"] == 2, "\(changed.text)")
            #expect(try await client.get(path)["n"] == 2)
            let deleted = try await Self.sendTwice(client, .DELETE, path, nil)
            #expect(deleted.status == 200, "\(deleted.text)")
            #expect(try await client.call(.DELETE, path).code == 101)
        }
    }

    @Test func aRequestInABodyIsCarriedOutOnce() async throws {
        let client = ParseClient(try await Suite.shared)
        let (className, key) = ("Keyed\(Names.random(6))", Names.random(20))
        func send(_ body: String) async throws -> ParseClient.Answer {
            try await client.send(
                .POST, "/classes/\(className)", headers: [("Content-Type", "text/plain"), ("Idempotency-Key", key)],
                body: Array(body.utf8))
        }
        let first = try await send(#"{"n":1,"a":[2],"_ApplicationId":"satchel"}"#)
        #expect(first.status == 201, "\(first.text)")
        Self.expectReplay(try await send(#"{"n":1,"a":[2],"_ApplicationId":"satchel"}"#), of: first)
        let read = try await send(#"{"_method":"GET","_ApplicationId":"satchel"}"#)
        #expect(read.results.count == 1, "A read needs no key: \(read.text)")
    }

    @Test func aRefusalIsRepeatedAndSoIsASession() async throws {
        let client = ParseClient(try await Suite.shared)
        #expect(try await Self.sendTwice(client, .POST, "/functions/nothing", [:]).code == 141)
        #expect(try await Self.sendTwice(client, .POST, "/classes/Keyed", "text").code == 107)
        #expect(try await Self.sendTwice(client, .POST, "/schemas/Keyed", [:]).status == 403)
        let user: JSON = ["username": .string(Names.random(10)), "password": "a-long-secret"]
        let signedUp = try await Self.sendTwice(client, .POST, "/users", user)
        #expect(signedUp.status == 201, "\(signedUp.text)")
        var signedIn = client
        signedIn.sessionToken = signedUp["sessionToken"]?.stringValue
        #expect(try await signedIn.get("/users/me").status == 200)
    }

    @Test func aRequestWithoutARouteStoresNothing() async throws {
        let (client, key) = (ParseClient(try await Suite.shared), Names.random(20))
        for _ in 0..<2 {
            let answer = try await Self.send(client, .POST, "/nonsense", [:], key: key)
            #expect(answer.status == 404, "\(answer.text)")
            #expect(!Self.isReplayed(answer))
        }
    }

    @Test func anotherRequestUnderTheKeyIsRefused() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let (className, key) = ("Keyed\(Names.random(6))", Names.random(20))
        let first = try await Self.send(client, .POST, "/classes/\(className)", ["n": 1], key: key)
        try #require(first.status == 201, "\(first.text)")
        let others: [(HTTPMethod, String, JSON?)] = [
            (.POST, "/classes/\(className)", ["n": 2]), (.POST, "/classes/\(className)?a=1", ["n": 1]),
            (.POST, "/classes/Other\(className)", ["n": 1]),
            (.PUT, "/classes/\(className)/\(first.objectId)", ["n": 1]),
            (.DELETE, "/classes/\(className)/\(first.objectId)", nil),
        ]
        for (method, path, body) in others {
            let other = try await Self.send(client, method, path, body, key: key)
            #expect(other.status == 422, "\(method) \(path): \(other.text)")
            #expect(other.code == 142, "\(method) \(path): \(other.text)")
        }
        #expect(try await Self.count(className, suite) == 1)
        Self.expectReplay(
            try await Self.send(client, .POST, "/classes/\(className)", ["n": 1], key: key), of: first)
    }

    @Test func everyClientHasItsOwnKeys() async throws {
        let suite = try await Suite.shared
        let (className, key) = ("Keyed\(Names.random(6))", Names.random(20))
        let (ann, bob) = (try await Customer.anonymous(suite).client, try await Customer.anonymous(suite).client)
        var (device, other) = (ParseClient(suite), ParseClient(suite))
        device.installationId = Names.random(20)
        other.installationId = Names.random(20)
        let clients = [ParseClient(suite), device, other, ann, bob, ParseClient.master(suite)]
        for client in clients {
            let answer = try await Self.send(client, .POST, "/classes/\(className)", ["n": 1], key: key)
            #expect(answer.status == 201, "\(answer.text)")
            #expect(!Self.isReplayed(answer))
        }
        #expect(try await Self.count(className, suite) == Int64(clients.count))
        // A user's keys are valid on every device.
        var moved = ann
        moved.installationId = Names.random(20)
        let again = try await Self.send(moved, .POST, "/classes/\(className)", ["n": 1], key: key)
        #expect(Self.isReplayed(again), "\(again.text)")
    }

    @Test func concurrentRepetitionsMakeOneObject() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let (className, key) = ("Keyed\(Names.random(6))", Names.random(20))
        let answers = try await withThrowingTaskGroup(of: ParseClient.Answer.self) { group in
            for _ in 0..<16 {
                group.addTask { try await Self.send(client, .POST, "/classes/\(className)", ["n": 1], key: key) }
            }
            return try await group.reduce(into: [ParseClient.Answer]()) { $0.append($1) }
        }
        #expect(answers.allSatisfy { $0.status == 201 }, "\(answers.map(\.text))")
        #expect(Set(answers.map(\.body)).count == 1)
        #expect(answers.count { !Self.isReplayed($0) } == 1)
        #expect(try await Self.count(className, suite) == 1)
    }

    @Test func aRepetitionWaitsForTheFirstAnswer() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("slow")
        try await host.function(name, ["how": "slow", "seconds": 2, "json": ["success": ["n": 1]]])
        let (client, key) = (ParseClient(host.suite), Names.random(20))
        async let one = Self.send(client, .POST, "/functions/\(name)", [:], key: key)
        async let two = Self.send(client, .POST, "/functions/\(name)", [:], key: key)
        let answers = try await [one, two]
        #expect(answers[0].body == answers[1].body, "\(answers.map(\.text))")
        #expect(answers.count { Self.isReplayed($0) } == 1)
        #expect(host.calls(name).count == 1)
    }

    @Test func aWebhookThatWasAwayIsCalledAgain() async throws {
        let host = try await WebhookHost.shared
        let (name, key) = (WebhookHost.name("away"), Names.random(20))
        try await host.function(name, ["status": 503, "json": [:]])
        let client = ParseClient(host.suite)
        let failed = try await Self.send(client, .POST, "/functions/\(name)", [:], key: key)
        #expect(failed.code == 141, "\(failed.text)")
        try await host.answer(name, ["json": ["success": 1]])
        let answer = try await Self.send(client, .POST, "/functions/\(name)", [:], key: key)
        #expect(answer.result == 1, "\(answer.text)")
        Self.expectReplay(try await Self.send(client, .POST, "/functions/\(name)", [:], key: key), of: answer)
        #expect(host.calls(name).count == 2)
    }

    @Test func aBatchIsAnsweredAsAWhole() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Keyed \(Names.random(6))"])
        let customer = try await Customer.anonymous(suite).client
        let (className, key) = ("Keyed\(Names.random(6))", Names.random(20))
        let known = try await customer.create(className, ["n": 1])
        let path = JSON.string("/parse/classes/\(className)/\(known.objectId)")
        let create: JSON = ["method": "POST", "path": .string("/parse/classes/\(className)"), "body": ["n": 1]]
        let add: JSON = [
            "method": "POST", "path": "/parse/functions/addToBag",
            "body": ["productId": .string(shelf.productIds[0])],
        ]
        let batch: JSON = [
            "requests": [
                create, create, ["method": "GET", "path": path],
                add, ["method": "PUT", "path": path, "body": ["n": ["__op": "Increment", "amount": 1]]],
                ["method": "PUT", "path": path, "body": ["n": "text"]],
            ]
        ]
        let first = try await Self.send(customer, .POST, "/batch", batch, key: key)
        #expect(first.json.at(1, "success", "objectId") != nil, "\(first.text)")
        #expect(first.json.at(2, "success", "n") == 1, "\(first.text)")
        #expect(first.json.at(4, "success", "n") == 2, "\(first.text)")
        #expect(first.json.at(5, "error", "code") == 111, "\(first.text)")
        Self.expectReplay(try await Self.send(customer, .POST, "/batch", batch, key: key), of: first)
        #expect(try await Self.count(className, suite) == 3)
        #expect(try await customer.run("bag").result["badgeCount"] == 1)
        let atomic: JSON = ["requests": [create, create], "transaction": true]
        #expect(try await Self.sendTwice(customer, .POST, "/batch", atomic).status == 200)
        #expect(try await Self.count(className, suite) == 5)
    }

    @Test func anUploadIsStoredOnce() async throws {
        let suite = try await Suite.shared
        let client = try await Customer.signUp(suite).client
        let key = Names.random(20)
        func upload(_ text: String) async throws -> ParseClient.Answer {
            try await client.send(
                .POST, "/files/a.txt",
                headers: client.credentials + [("Content-Type", "text/plain"), ("Idempotency-Key", key)],
                body: Array(text.utf8))
        }
        let first = try await upload("hello")
        try #require(first.status == 201, "\(first.text)")
        Self.expectReplay(try await upload("hello"), of: first)
        #expect(try await upload("hallo").status == 422)
        let name = try #require(first["name"]?.stringValue)
        #expect(try await client.download(client.path(of: name)).text == "hello")
    }

    @Test func anAnswerThatIsTooLargeIsNotStored() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let (className, key) = ("Keyed\(Names.random(6))", Names.random(20))
        let large = try await client.create(className, ["text": .string(String(repeating: "x", count: 70_000))])
        try #require(large.status == 201, "\(large.text)")
        let path = "/parse/classes/\(className)"
        let read: JSON = ["method": "GET", "path": .string("\(path)/\(large.objectId)")]
        let batch: JSON = [
            "requests": [
                ["method": "POST", "path": .string(path), "body": ["n": 1]], read, read,
            ]
        ]
        let first = try await Self.send(client, .POST, "/batch", batch, key: key)
        #expect(first.json.at(2, "success", "text") != nil, "\(first.text.prefix(200))")
        let again = try await Self.send(client, .POST, "/batch", batch, key: key)
        #expect(again.code == 159, "\(again.text.prefix(200))")
        #expect(Self.isReplayed(again))
        #expect(try await Self.count(className, suite) == 2)
    }

    @Test func aMalformedKeyIsRefused() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let path = "/classes/Keyed\(Names.random(6))"
        for key in [String(repeating: "x", count: 256), "a b", ""] {
            let answer = try await Self.send(client, .POST, path, [:], key: key)
            #expect(answer.code == 107, "\(key): \(answer.text)")
        }
        for key in [String(repeating: "x", count: 255), "\"\(Names.random(20))\"", "~!'(;,\(Names.random(8))"] {
            let first = try await Self.send(client, .POST, path, [:], key: key)
            #expect(first.status == 201, "\(key): \(first.text)")
            Self.expectReplay(try await Self.send(client, .POST, path, [:], key: key), of: first)
        }
        let read = try await client.send(.GET, path, headers: client.credentials + [("Idempotency-Key", "a b")])
        #expect(read.status == 200, "\(read.text)")
        let head = "POST /parse\(path) HTTP/1.1\r\nHost: x\r\nX-Parse-Application-Id: satchel\r\nContent-Length: 2\r\n"
        for lines in ["Idempotency-Key: a\r\nIdempotency-Key: b", "Idempotency-Key: \u{E4}"] {
            let answer = try await RawRequest.send(suite, Array("\(head)\(lines)\r\n\r\n{}".utf8))
            #expect(answer.hasPrefix("HTTP/1.1 400"), "\(lines): \(answer)")
        }
        // Bytes that are no UTF-8.
        let bytes = Array("\(head)Idempotency-Key: ".utf8) + [0xFF, 0xFE] + Array("\r\n\r\n{}".utf8)
        let answer = try await RawRequest.send(suite, bytes)
        #expect(answer.hasPrefix("HTTP/1.1 400"), "\(answer)")
    }

    @Test func theKeyTakesThePlaceOfARequestId() async throws {
        let client = ParseClient(try await GatewaySuites.guarded)
        let (className, id) = ("Once\(Names.random(6))", Names.random(20))
        let headers = client.credentials + [("X-Parse-Request-Id", id), ("Idempotency-Key", id)]
        let first = try await client.send(.POST, "/classes/\(className)", headers: headers, body: Array("{}".utf8))
        #expect(first.status == 201, "\(first.text)")
        let again = try await client.send(.POST, "/classes/\(className)", headers: headers, body: Array("{}".utf8))
        Self.expectReplay(again, of: first)
    }
}
