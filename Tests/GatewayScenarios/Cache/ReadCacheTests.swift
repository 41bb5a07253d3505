import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Cached answers equal what a read would return at this moment, for each caller.
@Suite struct ReadCacheTests {
    /// Repeats a read until its answer would be cached, and returns the last answer.
    @discardableResult
    private static func read(
        _ client: ParseClient, _ path: String, _ options: [String: JSON] = [:]
    ) async throws -> ParseClient.Answer {
        for _ in 0..<3 { _ = try await client.get(path, options) }
        return try await client.get(path, options)
    }

    private static func counts(_ suite: Suite) async throws -> (hits: Int64, misses: Int64, invalidations: Int64) {
        let cache = try #require(try await ParseClient.master(suite).get("/serverInfo")["readCache"])
        return (
            cache["hits"]?.intValue ?? -1, cache["misses"]?.intValue ?? -1, cache["invalidations"]?.intValue ?? -1
        )
    }

    private static func permit(_ suite: Suite, _ className: String, _ changes: [String: JSON]) async throws {
        let all = ["find", "count", "get", "create", "update", "delete", "addField"]
        let open = Dictionary(uniqueKeysWithValues: all.map { ($0, ["*": true] as JSON) })
        let answer = try await ParseClient.master(suite).call(
            .PUT, "/schemas/\(className)", ["classLevelPermissions": .object(open.merging(changes) { $1 })])
        guard answer.status == 200 else { throw Unexpected("PUT schemas", answer) }
    }

    // MARK: Cached answers

    /// - Parameter isServed: whether all data is in PostgreSQL.
    @Test(arguments: [false, true])
    func theSameReadIsAnsweredWithoutTheServiceAndAChangeEndsThat(isServed: Bool) async throws {
        let database = isServed ? try await PostgreSQLServer.shared.newDatabase() : ""
        try await Suite.with(settings: ["SATCHEL_DATABASE": database]) { suite in
            let shelf = try await Shelf.fill(suite, names: ["Balm", "Serum"])
            let client = ParseClient(suite)
            let object = "/classes/Product/\(shelf.productIds[0])"
            let page = "/classes/Product?\(ParseClient.queryText(["where": ["brand": shelf.pointer], "count": 1]))"
            for path in [object, page] {
                let first = try await Self.read(client, path)
                let before = try await Self.counts(suite)
                let second = try await client.get(path)
                #expect(second.body == first.body)
                #expect(second.headers.first(name: "ETag") == first.headers.first(name: "ETag"))
                #expect(second.headers.first(name: "Content-Type") == first.headers.first(name: "Content-Type"))
                let tag = try #require(first.headers.first(name: "ETag"))
                let unchanged = try await client.send(
                    .GET, path, headers: client.credentials + [("If-None-Match", tag)])
                #expect(unchanged.status == 304)
                #expect(unchanged.body.isEmpty)
                let after = try await Self.counts(suite)
                #expect(after.hits == before.hits + 2, "\(path): \(before) \(after)")
                #expect(after.misses == before.misses)
            }
            // A read that moves from the direct to the general path counts as one look-up.
            let early = try await Self.counts(suite)
            #expect(try await client.get("\(page)&include=brand").text.contains(#""title""#))
            #expect(try await Self.counts(suite).misses == early.misses + 1)
            // A signed-in customer shares the cache entries of public data.
            let customer = try await Customer.signUp(suite).client
            let before = try await Self.counts(suite)
            let signedIn = try await customer.get(object)
            #expect(signedIn.status == 200)
            #expect(try await Self.counts(suite).hits == before.hits + 1)
            _ = try await ParseClient.master(suite).call(.PUT, object, ["name": "Better balm"])
            #expect(try await client.get(object)["name"] == "Better balm")
            #expect(try await client.get(page).text.contains("Better balm"))
            let changed = try await Self.counts(suite)
            #expect(changed.invalidations >= 2)
            #expect(changed.hits == before.hits + 1)
            // The other object was not changed.
            let other = "/classes/Product/\(shelf.productIds[1])"
            try await Self.read(client, other)
            _ = try await ParseClient.master(suite).call(.PUT, object, ["name": "Best balm"])
            let untouched = try await Self.counts(suite)
            #expect(try await client.get(other)["name"] == "Serum")
            #expect(try await Self.counts(suite).hits == untouched.hits + 1)
        }
    }

    /// - Parameter isServed: whether all data is in PostgreSQL.
    @Test(arguments: [false, true])
    func theOwnAccountIsAnsweredWithoutTheServiceAndAChangeEndsThat(isServed: Bool) async throws {
        let database = isServed ? try await PostgreSQLServer.shared.newDatabase() : ""
        try await Suite.with(settings: ["SATCHEL_DATABASE": database]) { suite in
            let customer = try await Customer.signUp(suite)
            let token = customer.client.sessionToken
            let first = try await Self.read(customer.client, "/users/me")
            #expect(first["sessionToken"] == token.map(JSON.string))
            #expect(try await customer.client.get("/users/\(customer.userId)").json == first.json)
            let before = try await Self.counts(suite)
            for style in [ParseClient.Style.headers, .tunnelled] {
                let again = try await ParseClient(suite, sessionToken: token, style: style).get("/users/me")
                #expect(again.body == first.body)
                #expect(try await Self.counts(suite).misses == before.misses)
            }
            #expect(try await Self.counts(suite).hits == before.hits + 2)
            // Each session gets its own token.
            let device = try await customer.signInAgain()
            #expect(try await Self.read(device, "/users/me")["sessionToken"] == device.sessionToken.map(JSON.string))
            #expect(try await customer.client.get("/users/me").body == first.body)
            let changed = try await ParseClient.master(suite).call(
                .PUT, "/users/\(customer.userId)", ["city": "Ulm"])
            try #require(changed.status == 200, "\(changed.text)")
            for client in [customer.client, device] { #expect(try await client.get("/users/me")["city"] == "Ulm") }
            #expect(try await device.call(.POST, "/logout", [:]).status == 200)
            #expect(try await device.get("/users/me").code == 209)
            let last = try await Self.read(customer.client, "/users/me")
            try await suite.restart("users-1")
            try await suite.untilHealthy()
            let later = try await Self.counts(suite)
            #expect(try await Self.read(customer.client, "/users/me").body == last.body)
            #expect(try await Self.counts(suite).misses > later.misses, "A new writer has a new board.")
        }
    }

    /// Counts the memory of an answer's buffer, which is a power of two.
    @Test func answersAreCountedAsWhatTheyTake() async throws {
        try await Suite.with { suite in
            let client = ParseClient(suite)
            func bytes() async throws -> Int64 {
                try await ParseClient.master(suite).get("/serverInfo")["readCache"]?["bytes"]?.intValue ?? -1
            }
            let text = JSON.string(String(repeating: "x", count: 40_000))
            let object = try await client.create("Long", ["text": text])
            let before = try await bytes()
            try await Self.read(client, "/classes/Long/\(object.objectId)")
            #expect(try await bytes() >= before + 65_536)
            // A query longer than any app's is answered but not cached.
            let ids = JSON.array((0..<900).map { .string("id\(10_000_000 + $0)") } + [.string(object.objectId)])
            let kept = try await bytes()
            let condition: JSON = ["objectId": ["$in": ids]]
            #expect(try await Self.read(client, "/classes/Long", ["where": condition]).results.count == 1)
            #expect(try await bytes() == kept)
        }
    }

    @Test(arguments: [ParseClient.Style.headers, .tunnelled])
    func textsThatLookAlikeAreDifferentQuestions(_ style: ParseClient.Style) async throws {
        let client = ParseClient(try await Suite.shared, style: style)
        let name = "Kept\(Names.random(8))"
        let texts = ["caf\u{E9}", "cafe\u{301}"]
        for text in texts { _ = try await client.create(name, ["name": .string(text)]) }
        for text in texts + texts {
            let found = try await Self.read(client, "/classes/\(name)", ["where": ["name": .string(text)]]).results
            #expect(found.map { Array(($0["name"]?.stringValue ?? "").utf8) } == [Array(text.utf8)])
        }
    }

    @Test func nothingIsKeptWhenItIsOff() async throws {
        try await Suite.with(settings: ["SATCHEL_READ_CACHE": "off"]) { suite in
            let shelf = try await Shelf.fill(suite, names: ["Balm"])
            let answer = try await Self.read(ParseClient(suite), "/classes/Product/\(shelf.productIds[0])")
            #expect(answer["name"] == "Balm")
            let info = try await ParseClient.master(suite).get("/serverInfo")
            #expect(info["readCache"] == .null, "\(info.text)")
            #expect(!FileManager.default.fileExists(atPath: suite.dataDirectory + "/catalog.changes"))
        }
    }

    // MARK: Invalidation

    @Test(arguments: [ParseClient.Style.headers, .tunnelled])
    func everyChangeIsSeenByTheNextRead(_ style: ParseClient.Style) async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let client = ParseClient(suite, style: style)
        let name = "Kept\(Names.random(8))"
        let page = "/classes/\(name)"
        func names() async throws -> [String] {
            try await client.get(page, ["order": "name"]).results.compactMap { $0["name"]?.stringValue }
        }
        let first = try await master.create(name, ["name": "a"])
        let object = "\(page)/\(first.objectId)"
        try await Self.read(client, page, ["order": "name"])
        try await Self.read(client, object)

        let second = try await master.create(name, ["name": "b"])
        #expect(try await names() == ["a", "b"])
        _ = try await Self.read(client, page, ["order": "name"])
        _ = try await master.call(.PUT, object, ["name": "c"])
        #expect(try await client.get(object)["name"] == "c")
        #expect(try await names() == ["b", "c"])

        try await Self.read(client, object)
        _ = try await master.call(.PUT, object, ["ACL": [:]])
        #expect(try await client.get(object).code == 101)
        #expect(try await names() == ["b"])
        _ = try await master.call(.PUT, object, ["ACL": ["*": ["read": true]]])
        #expect(try await client.get(object)["name"] == "c")

        _ = try await Self.read(client, page, ["order": "name"])
        _ = try await master.call(.DELETE, "\(page)/\(second.objectId)")
        #expect(try await names() == ["c"])
        _ = try await Self.read(client, page, ["order": "name"])
        let file = JSON.array([["objectId": .string(second.objectId), "name": "imported"]]).serialized
        _ = try await master.send(
            .POST, "/import/\(name)", headers: master.credentials + [("Content-Type", "application/json")], body: file)
        #expect(try await names() == ["c", "imported"])

        try await Self.read(client, object)
        try await Self.permit(suite, name, ["get": [:], "find": [:]])
        #expect(try await client.get(object).code == 119)
        #expect(try await client.get(page, ["order": "name"]).code == 119)
        try await Self.permit(suite, name, ["protectedFields": ["*": ["name"]]])
        #expect(try await client.get(object)["name"] == nil)
        #expect(try await names() == [])
        try await Self.permit(suite, name, [:])
        _ = try await Self.read(client, page, ["order": "name"])
        _ = try await master.call(.DELETE, "/purge/\(name)")
        #expect(try await names() == [])
    }

    @Test func relationsAndWhatACheckoutReservesAreSeen() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let client = ParseClient(suite)
        let shelf = try await Shelf.fill(suite, names: ["Balm", "Serum"], stock: 5)
        let product = JSON.pointer("Product", shelf.productIds[0])
        let lists = "List\(Names.random(8))"
        let list = try await master.create(lists, ["name": "x"])
        let path = "/classes/\(lists)/\(list.objectId)"
        let related: JSON = ["$relatedTo": ["object": .pointer(lists, list.objectId), "key": "products"]]
        func change(_ operation: String) async throws {
            _ = try await master.call(
                .PUT, path, ["products": ["__op": .string(operation), "objects": [product]]])
        }
        try await change("AddRelation")
        for (operation, count) in [("RemoveRelation", 0), ("AddRelation", 1)] {
            _ = try await Self.read(client, "/classes/Product", ["where": related])
            try await change(operation)
            #expect(try await client.find("Product", related).results.count == count)
        }

        let object = "/classes/Product/\(shelf.productIds[1])"
        let customer = try await Customer.signUp(suite)
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[1]), "quantity": 2])
        #expect(try await Self.read(client, object)["stock"] == 5)
        let bought = try await customer.client.run(
            "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
        #expect(bought.status == 200, "\(bought.text)")
        #expect(try await client.get(object)["stock"] == 3)
    }

    @Test func aWebhookHasItsSayFromItsDeclarationOn() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Kept")
        let client = ParseClient(host.suite)
        let object = try await client.create(name, ["name": "a"])
        let path = "/classes/\(name)/\(object.objectId)"
        for path in [path, "/classes/\(name)"] { try await Self.read(client, path) }
        try await host.trigger("beforeFind", name, ["json": ["error": "closed"]])
        for path in [path, "/classes/\(name)"] {
            let refused = try await client.get(path)
            #expect(refused.status == 400, "\(refused.text)")
        }
    }

    // MARK: Sharing between callers

    @Test func privateObjectsAreInNobodyElsesAnswer() async throws {
        let suite = try await Suite.shared
        let ann = try await Customer.signUp(suite)
        let bob = try await Customer.signUp(suite)
        let (stranger, master) = (ParseClient(suite), ParseClient.master(suite))
        let name = "Note\(Names.random(8))"
        _ = try await master.create(name, ["name": "public"])
        // While all objects are public, all clients share an entry.
        for client in [ann.client, stranger] {
            #expect(try await Self.read(client, "/classes/\(name)").results.count == 1)
        }
        let secret = try await ann.client.create(
            name, ["name": "secret", "ACL": [ann.userId: ["read": true, "write": true]]])
        // Independent of the order of the callers and of repetitions.
        let askers = [(ann.client, 2), (bob.client, 1), (stranger, 1), (master, 2)]
        for (client, count) in askers + askers.reversed() + askers {
            #expect(try await Self.read(client, "/classes/\(name)").results.count == count)
            let object = try await Self.read(client, "/classes/\(name)/\(secret.objectId)")
            #expect(object.status == (count == 2 ? 200 : 404), "\(object.text)")
        }
    }

    @Test func fieldsThatAreProtectedFromSomeAreNotShared() async throws {
        let suite = try await Suite.shared
        let ann = try await Customer.signUp(suite)
        let name = "Guarded\(Names.random(8))"
        let master = ParseClient.master(suite)
        let object = try await master.create(name, ["name": "a", "cost": 7])
        try await Self.permit(suite, name, ["protectedFields": ["*": ["cost"], ann.userId: []]])
        let path = "/classes/\(name)/\(object.objectId)"
        let askers = [(ann.client, 7 as JSON?), (ParseClient(suite), nil), (master, 7)]
        for (client, cost) in askers + askers.reversed() {
            let answer = try await Self.read(client, path)
            #expect(answer["cost"] == cost, "\(answer.text)")
        }
    }

    @Test func theTimeIsNotKept() async throws {
        let client = ParseClient(try await Suite.shared)
        let condition: JSON = ["at": ["$lte": ["$relativeTime": "now"]]]
        var name = ""
        var isEmpty = false
        // Begins again if the moment comes before the first answer.
        for _ in 0..<20 where !isEmpty {
            name = "Event\(Names.random(8))"
            let soon = Timestamp.now.advanced(by: .seconds(2))
            _ = try await client.create(name, ["at": soon.wire])
            isEmpty = try await client.find(name, condition).results.isEmpty
            let now = Timestamp.now
            #expect(isEmpty || now >= soon)
        }
        #expect(isEmpty)
        try await eventually("the moment has come", within: .seconds(10)) {
            try await client.find(name, condition).results.count == 1
        }
    }
}
