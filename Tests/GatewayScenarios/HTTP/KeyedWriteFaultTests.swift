import Glibc
import NIOHTTP1
import ParseProtocol
import Synchronization
import TestSupport
import Testing

/// `Idempotency-Key` while gateways and services fail: nothing is carried out twice, and an acknowledged answer stays.
@Suite(.timeLimit(.minutes(10))) struct KeyedWriteFaultTests {
    private func client(_ client: ParseClient, at gateway: Int, of suite: Suite) -> ParseClient {
        var client = client
        client.url = suite.url(ofGateway: gateway)
        return client
    }

    /// Sends until the suite gives an answer that is final, as a client does.
    private func untilAnswered(
        _ client: ParseClient, _ method: HTTPMethod, _ path: String, _ body: JSON?, key: String
    ) async throws -> ParseClient.Answer {
        var last: ParseClient.Answer?
        try await eventually("\(method) \(path) is answered", within: .seconds(90)) {
            last = try? await KeyedWriteTests.send(client, method, path, body, key: key)
            return last.map { $0.status < 500 && $0.code != 124 } ?? false
        }
        return try #require(last)
    }

    /// Leaves the state of a gateway that ended after the services had committed.
    private func loseAnswers(of suite: Suite) async throws {
        try await suite.tamper("catalog", "UPDATE keyedAnswers SET isDone = 0, answer = NULL, busyUntil = 0")
    }

    @Test func twoGatewaysHaveTheSameAnswers() async throws {
        try await Suite.with(scale: "gateway=2") { suite in
            let guest = ParseClient(suite)
            let (first, second) = (client(guest, at: 1, of: suite), client(guest, at: 2, of: suite))
            for (number, sender) in [first, second].enumerated() {
                let key = Names.random(20)
                let answer = try await KeyedWriteTests.send(sender, .POST, "/classes/Note", ["n": 1], key: key)
                #expect(answer.status == 201, "\(answer.text)")
                let other = number == 0 ? second : first
                KeyedWriteTests.expectReplay(
                    try await KeyedWriteTests.send(other, .POST, "/classes/Note", ["n": 1], key: key), of: answer)
                let refused = try await KeyedWriteTests.send(other, .POST, "/classes/Note", ["n": 2], key: key)
                #expect(refused.status == 422, "\(refused.text)")
            }
            let key = Names.random(20)
            let bodies = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for number in 0..<16 {
                    let sender = number.isMultiple(of: 2) ? first : second
                    group.addTask {
                        try await KeyedWriteTests.send(sender, .POST, "/classes/Note", ["n": 3], key: key).body
                    }
                }
                return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
            }
            #expect(bodies.count == 1)
            #expect(try await KeyedWriteTests.count("Note", suite) == 3)
        }
    }

    /// The services' own stored replies give the next run the answer of the first one.
    @Test func aGatewayThatEndedBeforeItStoredTheAnswerIsFollowedByAnother() async throws {
        try await Suite.with(scale: "gateway=2") { suite in
            let shelf = try await Shelf.fill(suite, names: ["Keyed"])
            let customer = try await Customer.signUp(suite).client
            /// Sends, loses the answer after every service has committed, and sends again.
            func sendTwice(
                _ method: HTTPMethod, _ path: String, _ body: JSON?, as sender: ParseClient? = nil
            ) async throws -> ParseClient.Answer {
                let (key, sender) = (Names.random(20), sender ?? customer)
                let (before, after) = (client(sender, at: 1, of: suite), client(sender, at: 2, of: suite))
                let first = try await KeyedWriteTests.send(before, method, path, body, key: key)
                try await loseAnswers(of: suite)
                let again = try await KeyedWriteTests.send(after, method, path, body, key: key)
                #expect(!KeyedWriteTests.isReplayed(again), "\(again.text)")
                #expect(again.status == first.status, "\(path): \(again.text)")
                #expect(again.body == first.body, "\(path): \(again.text) instead of \(first.text)")
                #expect(again.headers.first(name: "Location") == first.headers.first(name: "Location"))
                KeyedWriteTests.expectReplay(
                    try await KeyedWriteTests.send(before, method, path, body, key: key), of: first)
                return first
            }
            let created = try await sendTwice(.POST, "/classes/Note", ["n": 1])
            #expect(created.status == 201, "\(created.text)")
            let path = "/classes/Note/\(created.objectId)"
            #expect(try await sendTwice(.PUT, path, ["n": ["__op": "Increment", "amount": 1]])["n"] == 2)
            let create: JSON = ["method": "POST", "path": "/parse/classes/Note", "body": ["n": 1]]
            let add: JSON = [
                "method": "POST", "path": "/parse/functions/addToBag",
                "body": ["productId": .string(shelf.productIds[0])],
            ]
            let batch = try await sendTwice(.POST, "/batch", ["requests": [create, add, create, add]])
            #expect(batch.json.at(3, "success", "result", "badgeCount") == 2, "\(batch.text)")
            #expect(try await sendTwice(.DELETE, path, nil).status == 200)
            #expect(try await KeyedWriteTests.count("Note", suite) == 2)
            let user: JSON = ["username": "ann", "password": "a-long-secret"]
            #expect(try await sendTwice(.POST, "/users", user).status == 201)

            try await suite.tamper(
                "mail",
                """
                INSERT INTO suppressedAddresses(address, reason, mailId, suppressedAt)
                VALUES ('ann@customers.example', 'gone', 1, 1)
                """)
            let address: JSON = ["address": "ann@customers.example"]
            let admin = try await Customer.admin(suite)
            #expect(try await sendTwice(.POST, "/functions/unsuppressAddress", address, as: admin).status == 200)

            let order: JSON = ["tokenId": "tok_visa", "shippingAddress": Customer.address]
            let receipt = try await sendTwice(.POST, "/functions/checkout", order)
            #expect(receipt.status == 200, "\(receipt.text)")
            #expect(receipt.result["orderNo"] != nil, "\(receipt.text)")
            let orders = try await ParseClient.master(suite).find(
                "Order", ["orderStatus": 1], ["count": 1, "limit": 0])
            #expect(orders["count"] == 1, "\(orders.text)")
        }
    }

    /// The hook runs again and gets the same object.
    @Test func aDeletionWithAHookHasTheSameAnswerInTheNextRun() async throws {
        try await WebhookHost.with { host in
            let client = ParseClient(host.suite)
            try await host.trigger("beforeDelete", "Note")
            let note = try await client.create("Note", ["n": 1])
            let (path, key) = ("/classes/Note/\(note.objectId)", Names.random(20))
            let first = try await KeyedWriteTests.send(client, .DELETE, path, nil, key: key)
            #expect(first.status == 200, "\(first.text)")
            try await loseAnswers(of: host.suite)
            let again = try await KeyedWriteTests.send(client, .DELETE, path, nil, key: key)
            #expect(again.status == 200, "\(again.text)")
            #expect(again.body == first.body, "\(again.text)")
            let objects = host.calls("Note-beforeDelete").map { $0.at("body", "object", "objectId") }
            #expect(objects == [.string(note.objectId), .string(note.objectId)])
        }
    }

    @Test func theKeyIsFreeAfterADay() async throws {
        try await Suite.with { suite in
            let (client, key) = (ParseClient(suite), Names.random(20))
            let first = try await KeyedWriteTests.send(client, .POST, "/classes/Note", ["n": 1], key: key)
            #expect(first.status == 201, "\(first.text)")
            try await suite.tamper("catalog", "UPDATE keyedAnswers SET keptSince = keptSince - 85800000")
            KeyedWriteTests.expectReplay(
                try await KeyedWriteTests.send(client, .POST, "/classes/Note", ["n": 1], key: key), of: first)
            try await suite.tamper("catalog", "UPDATE keyedAnswers SET keptSince = keptSince - 600000")
            try await eventually("answers of yesterday are removed", within: .seconds(40)) {
                try await suite.rows("catalog", "SELECT key FROM keyedAnswers").isEmpty
            }
            let next = try await KeyedWriteTests.send(client, .POST, "/classes/Note", ["n": 2], key: key)
            #expect(next.status == 201, "\(next.text)")
            #expect(try await KeyedWriteTests.count("Note", suite) == 2)
        }
    }

    @Test func aFailureDoesNotUseUpTheKey() async throws {
        try await Suite.with(settings: Suite.withoutWatchdog) { suite in
            let shelf = try await Shelf.fill(suite, names: ["Keyed"])
            let customer = try await Customer.anonymous(suite).client
            let (key, body): (String, JSON) = (Names.random(20), ["productId": .string(shelf.productIds[0])])
            let bag = try #require(suite.processId(of: "bag-1"))
            #expect(kill(bag, SIGSTOP) == 0)
            defer { _ = kill(bag, SIGCONT) }
            let failed = try await KeyedWriteTests.send(customer, .POST, "/functions/addToBag", body, key: key)
            #expect(failed.status >= 500 || failed.code == 124, "\(failed.text)")
            #expect(kill(bag, SIGCONT) == 0)
            let added = try await untilAnswered(customer, .POST, "/functions/addToBag", body, key: key)
            #expect(added.result["badgeCount"] == 1, "\(added.text)")
            KeyedWriteTests.expectReplay(
                try await KeyedWriteTests.send(customer, .POST, "/functions/addToBag", body, key: key), of: added)
            #expect(try await customer.run("bag").result["badgeCount"] == 1)
        }
    }

    /// Catalog has one writer, which every order needs.
    @Test func waitingRepetitionsOnlyRead() async throws {
        try await WebhookHost.with(["SATCHEL_WEBHOOK_TIMEOUT_SECONDS": "25"]) { host in
            let (name, key, client) = (WebhookHost.name("slow"), Names.random(20), ParseClient(host.suite))
            var root = client
            root.url = host.suite.origin
            /// The calls of a kind so far, as the gateway counts them.
            func calls(_ kind: String) async throws -> Double {
                try await root.send(.GET, "/metrics").text.split(separator: "\n").filter {
                    $0.hasPrefix("satchel_service_call_duration_seconds_count{") && $0.contains(kind)
                }.compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
            }
            try await host.function(name, ["how": "hold"])
            let bodies = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        try await KeyedWriteTests.send(client, .POST, "/functions/\(name)", [:], key: key).body
                    }
                }
                try await eventually("all repetitions wait", within: .seconds(7)) {
                    let (begun, read) = (try await calls("beginWrite"), try await calls("writeState"))
                    return begun >= 20 && read >= 19
                }
                try await host.answer(name, ["json": ["success": 1]])
                return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
            }
            #expect(bodies.count == 1)
            // One for each request, and the renewals of the first.
            let begun = try await calls("beginWrite")
            #expect((20...35).contains(begun), "\(begun)")
        }
    }

    @Test func aBatchRunsAgainAfterATemporaryFailureOfAPart() async throws {
        try await Suite.with(settings: Suite.withoutWatchdog) { suite in
            let shelf = try await Shelf.fill(suite, names: ["Keyed"])
            let customer = try await Customer.anonymous(suite).client
            let key = Names.random(20)
            let batch: JSON = [
                "requests": [
                    ["method": "POST", "path": "/parse/classes/Note", "body": ["n": 1]],
                    [
                        "method": "POST", "path": "/parse/functions/addToBag",
                        "body": ["productId": .string(shelf.productIds[0])],
                    ],
                ]
            ]
            let bag = try #require(suite.processId(of: "bag-1"))
            #expect(kill(bag, SIGSTOP) == 0)
            defer { _ = kill(bag, SIGCONT) }
            let failed = try await KeyedWriteTests.send(customer, .POST, "/batch", batch, key: key)
            let note = try #require(failed.json.at(0, "success", "objectId"), "\(failed.text)")
            #expect(failed.json.at(1, "error", "code") != nil, "\(failed.text)")
            #expect(kill(bag, SIGCONT) == 0)
            var last = failed
            try await eventually("every part has an answer", within: .seconds(90)) {
                last = try await KeyedWriteTests.send(customer, .POST, "/batch", batch, key: key)
                return last.json.at(1, "success") != nil
            }
            #expect(last.json.at(0, "success", "objectId") == note, "\(last.text)")
            KeyedWriteTests.expectReplay(
                try await KeyedWriteTests.send(customer, .POST, "/batch", batch, key: key), of: last)
            #expect(try await KeyedWriteTests.count("Note", suite) == 1)
            #expect(try await customer.run("bag").result["badgeCount"] == 1)
        }
    }

    @Test func aBatchDoesNotRunASuccessfulWebhookAgain() async throws {
        let host = try await WebhookHost.shared
        let (works, fails) = (WebhookHost.name("works"), WebhookHost.name("fails"))
        try await host.function(works, ["json": ["success": 1]])
        try await host.function(fails, ["status": 502])
        func batch(_ names: [String]) -> JSON {
            [
                "requests": .array(
                    names.map { ["method": "POST", "path": .string("/parse/functions/\($0)"), "body": [:]] })
            ]
        }
        let answer = try await KeyedWriteTests.sendTwice(
            ParseClient(host.suite), .POST, "/batch", batch([works, fails]))
        #expect(answer.json.at(0, "success", "result") == 1, "\(answer.text)")
        #expect(answer.json.at(1, "error", "code") != nil, "\(answer.text)")
        #expect(host.calls(works).count == 1)
        // Nothing succeeded, so the next run tries again.
        let key = Names.random(20)
        for count in 1...2 {
            let failed = try await KeyedWriteTests.send(
                ParseClient(host.suite), .POST, "/batch", batch([fails]), key: key)
            #expect(!KeyedWriteTests.isReplayed(failed), "\(failed.text)")
            try await eventually("the webhook is called again") { host.calls(fails).count == 1 + count }
        }
    }

    private final class Flag: Sendable {
        let isSet = Mutex(false)
    }

    @Test func killedProcessesNeitherLoseNorRepeatAWrite() async throws {
        try await Suite.with(scale: "gateway=2") { suite in
            let client = ParseClient(suite)
            let isOver = Flag()
            let acknowledged = try await withThrowingTaskGroup(of: [String: [UInt8]].self) { group in
                for number in 0..<4 {
                    group.addTask {
                        var bodies: [String: [UInt8]] = [:]
                        while !isOver.isSet.withLock({ $0 }) || bodies.count < 5 {
                            let key = "\(number)-\(bodies.count)"
                            let answer = try await untilAnswered(
                                client, .POST, "/classes/Note", ["key": .string(key)], key: key)
                            #expect(answer.status == 201, "\(answer.text)")
                            bodies[key] = answer.body
                        }
                        return bodies
                    }
                }
                group.addTask {
                    defer { isOver.isSet.withLock { $0 = true } }
                    for process in ["catalog-1", "gateway-1", "catalog-1", "gateway-2"] {
                        try await suite.kill(process)
                        try await suite.untilHealthy()
                    }
                    return [:]
                }
                return try await group.reduce(into: [String: [UInt8]]()) { $0.merge($1) { first, _ in first } }
            }
            #expect(try await KeyedWriteTests.count("Note", suite) == Int64(acknowledged.count))
            for (key, body) in acknowledged.prefix(100) {
                let again = try await KeyedWriteTests.send(
                    client, .POST, "/classes/Note", ["key": .string(key)], key: key)
                #expect(again.body == body, "\(key): \(again.text)")
                #expect(KeyedWriteTests.isReplayed(again), "\(key)")
            }
        }
    }

    /// Each stored answer counts as an object.
    @Test func storedAnswersCountForTheQuotaOfObjects() async throws {
        try await Suite.with(settings: ["SATCHEL_QUOTAS": "objects=6/86400s per user"]) { suite in
            let customer = try await Customer.anonymous(suite).client
            var keys: [String: ParseClient.Answer] = [:]
            for _ in 0..<3 {
                let key = Names.random(20)
                keys[key] = try await KeyedWriteTests.send(customer, .POST, "/classes/Note", ["n": 1], key: key)
                #expect(keys[key]?.status == 201, "\(keys[key]?.text ?? "")")
            }
            let refused = try await KeyedWriteTests.send(
                customer, .POST, "/classes/Note", ["n": 1], key: Names.random(20))
            #expect(refused.status == 429, "\(refused.text)")
            #expect(refused.code == 155, "\(refused.text)")
            for (key, first) in keys {
                KeyedWriteTests.expectReplay(
                    try await KeyedWriteTests.send(customer, .POST, "/classes/Note", ["n": 1], key: key), of: first)
            }
            #expect(try await KeyedWriteTests.count("Note", suite) == 3)
        }
    }

    @Test func bytesOfStoredAnswersCountForTheQuotaOfBytes() async throws {
        try await Suite.with(settings: ["SATCHEL_QUOTAS": "objectBytes=3000/86400s per user"]) { suite in
            let customer = try await Customer.anonymous(suite).client
            let note = try await customer.create("Note", ["n": 0])
            let path = "/classes/Note/\(note.objectId)"
            var (changed, last): (Int, ParseClient.Answer?) = (0, nil)
            while changed < 60 {
                let answer = try await KeyedWriteTests.send(customer, .PUT, path, ["n": 1], key: Names.random(20))
                last = answer
                guard answer.status == 200 else { break }
                changed += 1
            }
            #expect(last?.code == 155, "\(last?.text ?? "")")
            #expect((1..<60).contains(changed), "Without a key 428 changes of 7 bytes are possible: \(changed)")
        }
    }
}
