import ParseProtocol
import TestSupport
import Testing

/// Many changes in few requests: batches keep their order and are durable, and a transaction is all or nothing
/// (PARSE_PROTOCOL section 3.1).
@Suite struct BulkTests {
    private func request(_ method: String, _ path: String, _ body: JSON = [:]) -> JSON {
        ["method": .string(method), "path": .string("/parse\(path)"), "body": body]
    }

    private func batch(
        _ client: ParseClient, _ requests: [JSON], transaction: JSON? = nil
    ) async throws -> ParseClient.Answer {
        var body: JSON = ["requests": .array(requests)]
        body["transaction"] = transaction
        return try await client.call(.POST, "/batch", body)
    }

    private func count(_ client: ParseClient, _ className: String, _ condition: JSON = [:]) async throws -> JSON? {
        try await client.find(className, condition, ["limit": 0, "count": 1])["count"]
    }

    // MARK: Bulk

    @Test func threeThousandObjectsInBatchesOfFiftySurviveKillMinusNine() async throws {
        try await Suite.with { suite in
            let client = ParseClient(suite)
            var ids: [String] = []
            for round in 0..<60 {
                let requests = (0..<50).map { request("POST", "/classes/Bulk", ["n": .int(Int64(round * 50 + $0))]) }
                let answer = try await batch(client, requests)
                ids += (answer.json.arrayValue ?? []).compactMap { $0.at("success", "objectId")?.stringValue }
            }
            // Immediately after the last answer.
            try await suite.kill("catalog-1")
            #expect(Set(ids).count == 3000)
            try await suite.untilHealthy()
            #expect(try await count(client, "Bulk") == 3000)
            let rows = try await client.find("Bulk", [:], ["order": "n", "limit": 1000, "skip": 2000])
            #expect(rows.results.map(\.objectId) == Array(ids[2000...]))

            // The same for updates and deletes.
            for start in stride(from: 0, to: 3000, by: 50) {
                let requests = (start..<(start + 50)).map { index in
                    index % 10 == 0
                        ? request("DELETE", "/classes/Bulk/\(ids[index])")
                        : request("PUT", "/classes/Bulk/\(ids[index])", ["n": ["__op": "Increment", "amount": 10_000]])
                }
                let answer = try await batch(client, requests)
                #expect(answer.json.arrayValue?.allSatisfy { $0["success"] != nil } == true)
            }
            try await suite.kill("catalog-1")
            try await suite.untilHealthy()
            #expect(try await count(client, "Bulk") == 2700)
            #expect(try await count(client, "Bulk", ["n": ["$gte": 10_000]]) == 2700)
        }
    }

    @Test func aMixedBatchIsDoneInItsOrder() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let name = "Note\(Names.random(6))"
        let note = try await customer.client.create(name, ["n": 1]).objectId
        let path = "/classes/\(name)/\(note)"
        let answer = try await batch(
            customer.client,
            [
                request("PUT", path, ["n": ["__op": "Increment", "amount": 1]]),
                request("PUT", path, ["n": ["__op": "Increment", "amount": 10]]), request("GET", path),
                request("PUT", "/users/\(customer.userId)", ["nick": "x"]),
                request("PUT", "/classes/_User/\(customer.userId)", ["nick": "y"]),
                request("PUT", path, ["n": ["__op": "Increment", "amount": 100]]), request("DELETE", path),
                request("PUT", path, ["n": 5]), request("GET", "/users/\(customer.userId)"),
            ])
        let items = answer.json.arrayValue ?? []
        try #require(items.count == 9, "\(answer.text)")
        #expect(items[0].at("success", "n") == 2)
        #expect(items[1].at("success", "n") == 12)
        #expect(items[2].at("success", "n") == 12)
        #expect(items[3].at("success", "updatedAt") != nil)
        #expect(items[4].at("success", "updatedAt") != nil)
        #expect(items[5].at("success", "n") == 112)
        #expect(items[6] == ["success": [:]])
        #expect(items[7].at("error", "code") == 101)
        #expect(items[8].at("success", "nick") == "y")
    }

    // MARK: Transactions

    @Test func aTransactionIsAllOrNothing() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let name = "Account\(Names.random(6))"
        let from = try await client.create(name, ["balance": 100]).objectId
        let to = try await client.create(name, ["balance": 0]).objectId
        func move(_ amount: Int64) -> [JSON] {
            [
                request(
                    "PUT", "/classes/\(name)/\(from)", ["balance": ["__op": "Increment", "amount": .int(-amount)]]),
                request("PUT", "/classes/\(name)/\(to)", ["balance": ["__op": "Increment", "amount": .int(amount)]]),
                request("POST", "/classes/\(name)", ["balance": 0, "moved": .int(amount)]),
            ]
        }
        let done = try await batch(client, move(30), transaction: true)
        #expect(done.status == 200)
        #expect(done.json.at(0, "success", "balance") == 70)
        #expect(done.json.at(1, "success", "balance") == 30)
        #expect(done.json.at(2, "success", "objectId") != nil)

        // If any part fails, nothing is stored, and the answer contains only the error.
        let failures: [(JSON, Int)] = [
            (request("POST", "/classes/\(name)", ["balance": "text"]), 111),
            (request("PUT", "/classes/\(name)/missing000", ["balance": 1]), 101),
            (request("DELETE", "/classes/\(name)/missing000"), 101),
            (request("POST", "/classes/\(name)", ["a.b$": 1]), 105),
        ]
        for (failing, code) in failures {
            for position in 0...3 {
                var requests = move(5)
                requests.insert(failing, at: position)
                let answer = try await batch(client, requests, transaction: true)
                #expect(answer.status >= 400, "\(answer.text)")
                #expect(answer.code == code, "\(answer.text)")
            }
        }
        let deleted = try await batch(
            client, [request("DELETE", "/classes/\(name)/\(from)"), failures[0].0], transaction: true)
        #expect(deleted.code == 111)
        #expect(try await client.get("/classes/\(name)/\(from)")["balance"] == 70)
        #expect(try await client.get("/classes/\(name)/\(to)")["balance"] == 30)
        #expect(try await count(client, name) == 3)
        #expect(try await batch(client, [], transaction: true).json == [])
    }

    @Test func aTransactionThatOneServiceCannotKeepIsRefusedBeforeAnythingIsDone() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let client = customer.client
        let name = "Note\(Names.random(6))"
        let create = request("POST", "/classes/\(name)", ["n": 1])
        let username = "\(Names.random(8).lowercased())@example.com"
        for other in [
            request("PUT", "/users/\(customer.userId)", ["nick": "x"]),
            request("POST", "/users", ["username": .string(username), "password": "a-long-secret"]),
            request("POST", "/classes/_User", ["username": .string(username), "password": "a-long-secret"]),
            request("GET", "/classes/\(name)"), request("POST", "/functions/addToBag"), request("POST", "/nothing"),
            request("POST", "/batch", ["requests": []]),
        ] {
            for requests in [[create, other], [other, create]] {
                let answer = try await batch(client, requests, transaction: true)
                #expect(answer.status == 400, "\(answer.text)")
                #expect(answer.code == 108, "\(answer.text)")
            }
        }
        #expect(try await count(client, name) == 0)
        #expect(
            try await client.call(.POST, "/login", ["username": .string(username), "password": "a-long-secret"]).code
                == 101)

        // The users service stores users; the JavaScript SDK addresses them by their own path.
        let path = "/users/\(customer.userId)"
        let users = try await batch(
            client, [request("PUT", path, ["nick": "a"]), request("PUT", path, ["nick": "b"])], transaction: true)
        #expect(users.json.arrayValue?.count == 2)
        let mixed = try await batch(
            client, [request("PUT", path, ["nick": "c"]), request("PUT", path, ["sessionToken": "r:x"])],
            transaction: true)
        #expect(mixed.status == 400)
        #expect(try await client.get(path)["nick"] == "b")
    }

    @Test func bothFormsOfSDKsAreTransactions() async throws {
        let suite = try await Suite.shared
        let name = "Note\(Names.random(6))"
        let bad = request("POST", "/classes/\(name)", ["n": "text"])
        let good = request("POST", "/classes/\(name)", ["n": 1])
        _ = try await ParseClient(suite).create(name, ["n": 0])
        for style in [ParseClient.Style.headers, .tunnelled] {
            let client = ParseClient(suite, style: style)
            #expect(try await batch(client, [good, bad], transaction: true).code == 111)
            #expect(try await batch(client, [good, good], transaction: true).json.arrayValue?.count == 2)
            #expect(try await batch(client, [good, bad], transaction: false).json.at(0, "success") != nil)
            for value in ["true", 1, [:], ["$ne": false]] as [JSON] {
                #expect(try await batch(client, [good], transaction: value).code == 107)
            }
        }
        #expect(try await count(ParseClient(suite), name) == 7)
    }
}
