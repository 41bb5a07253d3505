import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Live queries as Parse's SDKs use them: each kind of event, its content, and the protocol's errors.
@Suite struct LiveQueryTests {
    private static func className() -> String { "Live\(Names.random(8))" }

    @Test func eachChangeHasTheRightEventKind() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let name = Self.className()
        let live = try await LiveConnection.connect(suite)
        #expect(try await live.subscribe(1, name, ["n": ["$gte": 5]])["op"] == "subscribed")

        let fits = try await client.create(name, ["n": 5, "text": "a"]).objectId
        let other = try await client.create(name, ["n": 1]).objectId
        func put(_ id: String, _ changes: JSON) async throws {
            let answer = try await client.call(.PUT, "/classes/\(name)/\(id)", changes)
            guard answer.status == 200 else { throw Unexpected("PUT", answer) }
        }
        try await put(fits, ["text": "b"])
        try await put(other, ["n": 9])
        try await put(fits, ["n": 2])
        _ = try await client.call(.DELETE, "/classes/\(name)/\(fits)")
        _ = try await client.call(.DELETE, "/classes/\(name)/\(other)")

        let expected: [(op: JSON, id: String, n: JSON, original: JSON?)] = [
            ("create", fits, 5, nil), ("update", fits, 5, 5), ("enter", other, 9, 1), ("leave", fits, 2, 5),
            ("delete", other, 9, nil),
        ]
        for event in expected {
            let told = try await live.nextEvent(of: 1)
            #expect(told["op"] == event.op)
            #expect(told.at("object", "objectId") == .string(event.id))
            #expect(told.at("object", "className") == .string(name))
            #expect(told.at("object", "__type") == "Object")
            #expect(told.at("object", "n") == event.n)
            #expect(told.at("original", "n") == event.original, "\(told.serializedText)")
            #expect(told["clientId"]?.stringValue?.isEmpty == false)
        }
        #expect(live.waiting.isEmpty)
    }

    @Test func keysBoundWhatIsShownAndWatchWhatIsTold() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let name = Self.className()
        let live = try await LiveConnection.connect(suite)
        try await live.subscribe(1, name, [:], ["keys": ["text"], "watch": ["n"]])
        try await live.subscribe(2, name, [:], ["fields": ["n"]])
        // Without the watched field, so only the second subscription gets an event.
        _ = try await client.create(name, ["text": "none"])
        #expect(try await live.nextEvent(of: 2)["op"] == "create")
        let id = try await client.create(name, ["n": 1, "text": "a"]).objectId
        let first = try await live.nextEvent(of: 1)
        #expect(
            Set(first["object"]?.objectValue?.keys ?? [:].keys) == [
                "__type", "className", "objectId", "createdAt", "updatedAt", "text",
            ])
        #expect(first.at("object", "text") == "a")
        #expect(try await live.nextEvent(of: 2).at("object", "text") == nil)
        for changes in [["text": "b"], ["n": 2]] as [JSON] {
            _ = try await client.call(.PUT, "/classes/\(name)/\(id)", changes)
        }
        // Only the second change affected the fields that the first subscription watches.
        let update = try await live.nextEvent(of: 1)
        #expect(update["op"] == "update")
        #expect(update.at("object", "text") == "b")
        #expect(update.at("original", "text") == "b")
    }

    @Test func aSubscriptionIsReplacedAndEnded() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let name = Self.className()
        let live = try await LiveConnection.connect(suite)
        try await live.subscribe(7, name, ["n": 1])
        try await live.send([
            "op": "update", "requestId": 7, "query": ["className": .string(name), "where": ["n": 2]],
        ])
        _ = try await live.next { $0["op"] == "subscribed" }
        for n in [1, 2] as [JSON] { _ = try await client.create(name, ["n": n]) }
        #expect(try await live.nextEvent(of: 7).at("object", "n") == 2)
        try await live.send(["op": "unsubscribe", "requestId": 7])
        #expect(try await live.next()["op"] == "unsubscribed")
        _ = try await client.create(name, ["n": 2])
        // A later answer shows that no event came before it.
        try await live.subscribe(8, name, ["n": 3])
        #expect(live.waiting.isEmpty)
    }

    @Test func liveErrorsHaveTheirCodes() async throws {
        let suite = try await Suite.shared
        let stranger = try await LiveConnection(suite)
        try await stranger.send(["op": "subscribe", "requestId": 1, "query": ["className": "Note", "where": [:]]])
        #expect(try await stranger.next()["code"] == 2)
        try await stranger.send(["op": "connect", "applicationId": "another"])
        let refusal = try await stranger.next()
        #expect(refusal["code"] == 4)
        #expect(refusal["reconnect"] == false)
        try await stranger.untilClosed()

        let live = try await LiveConnection.connect(suite)
        try await live.send(raw: LiveConnection.frame(Array("{".utf8)))
        #expect(try await live.next()["code"] == 1)
        try await live.send(["op": "unsubscribe", "requestId": 5])
        #expect(try await live.next()["code"] == 2)
        let cases: [(name: String, condition: JSON, code: JSON)] = [
            ("_Session", [:], 119), ("_Installation", [:], 119), ("_User", [:], 119), ("a b", [:], 103),
            ("Note", ["$foo": 1], 105), ("Note", ["a": ["$foo": 1]], 107), ("Note", ["a": ["$regex": "("]], 102),
            ("Note", ["ACL": 1], 102), ("Note", ["$relatedTo": ["key": "a"]], 102),
            ("Note", ["a": ["$inQuery": ["className": "B", "where": [:]]]], 102), ("Note", ["$or": [:]], 102),
        ]
        for (index, item) in cases.enumerated() {
            let answer = try await live.subscribe(Int64(index + 10), item.name, item.condition)
            #expect(answer["op"] == "error", "\(item)")
            #expect(answer["code"] == item.code, "\(item): \(answer.serializedText)")
        }
    }

    /// Every find constraint that can be decided for a single object, over the wire.
    @Test func everyConstraintIsMatched() async throws {
        let suite = try await Suite.shared
        let client = ParseClient.master(suite)
        let name = Self.className()
        let here: JSON = ["__type": "GeoPoint", "latitude": 10, "longitude": 10]
        let date: JSON = ["__type": "Date", "iso": "2030-01-01T00:00:00.000Z"]
        let object: JSON = [
            "number": 5, "text": "green tea", "list": ["a", "b"], "place": here, "at": date, "flag": true,
            "inner": ["deep": ["x": 1]], "items": [["size": "M"], ["size": "L"]],
            "user": .pointer("_User", "annannanna"),
        ]
        // Creates the class's fields first.
        _ = try await client.create(name, object)
        let matching: [JSON] = [
            ["number": 5], ["number": ["$eq": 5]], ["number": ["$ne": 6]], ["number": ["$gt": 4, "$lte": 5]],
            ["number": ["$lt": 6, "$gte": 5]], ["number": ["$in": [1, 5]]], ["number": ["$nin": [1]]],
            ["missing": ["$exists": false]], ["text": ["$exists": true]], ["missing": .null],
            ["text": ["$regex": "^GREEN", "$options": "i"]], ["list": "a"], ["list": ["$all": ["a", "b"]]],
            ["list": ["$containedBy": ["a", "b", "c"]]], ["user": .pointer("_User", "annannanna")],
            ["user": "annannanna"], ["at": date], ["at": ["$gt": ["$relativeTime": "now"]]],
            ["place": ["$nearSphere": here, "$maxDistanceInKilometers": 1]],
            ["place": ["$within": ["$box": [here, ["__type": "GeoPoint", "latitude": 11, "longitude": 11]]]]],
            ["place": ["$geoWithin": ["$centerSphere": [[10, 10], 0.1]]]], ["inner.deep.x": 1], ["items.size": "L"],
            ["$or": [["number": 1], ["number": 5]]], ["$and": [["number": 5], ["flag": true]]],
            ["$nor": [["number": 1], ["flag": false]]],
        ]
        let live = try await LiveConnection.connect(suite, ["masterKey": .string(Suite.masterKey)])
        for (index, condition) in matching.enumerated() {
            let answer = try await live.subscribe(Int64(index), name, condition)
            #expect(answer["op"] == "subscribed", "\(condition.serializedText): \(answer.serializedText)")
            try await live.subscribe(Int64(index + 1000), name, ["$nor": [condition]])
        }
        _ = try await client.create(name, object)
        for (index, condition) in matching.enumerated() {
            let told = try? await live.nextEvent(of: Int64(index))
            #expect(told?["op"] == "create", "\(condition.serializedText)")
        }
        #expect(live.waiting.map { $0["requestId"] ?? .null } == [])
    }

    /// The stock on a product page, and new orders, as a shop uses them.
    @Test func aCheckoutIsSeenWhileItHappens() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Live tea"], stock: 10)
        let page = try await LiveConnection.connect(suite)
        try await page.subscribe(1, "Product", ["objectId": .string(shelf.productIds[0])])
        let customer = try await Customer.signUp(suite)
        let token = try #require(customer.client.sessionToken)
        let phone = try await LiveConnection.connect(suite, ["sessionToken": .string(token)])
        #expect(try await phone.subscribe(1, "Order")["op"] == "subscribed")
        let added = try await customer.client.run(
            "addToBag", ["productId": .string(shelf.productIds[0]), "quantity": 2])
        #expect(added.status == 200, "\(added.text)")
        let order = try await customer.client.run(
            "checkout",
            ["tokenId": "tok_visa", "idempotencyKey": .string(Names.random(12)), "shippingAddress": Customer.address])
        #expect(order.status == 200, "\(order.text)")
        let stock = try await page.nextEvent(of: 1)
        #expect(stock["op"] == "update")
        #expect(stock.at("object", "stock") == 8, "\(stock.serializedText)")
        let made = try await phone.next { $0["requestId"] == 1 && $0.at("object", "orderStatus") == 1 }
        #expect(made.at("object", "orderNo") == order.result["orderNo"])
    }
}
