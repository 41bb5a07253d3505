import ParseProtocol
import TestSupport
import Testing

/// An account deleted by its owner: all services delete the user's own data, and the shop keeps its books without the
/// name.
@Suite struct AccountDeletionTests {
    @Test func onlyTheUserAndTheMasterKeyDeleteAnAccount() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let other = try await Customer.signUp(suite)
        let path = "/users/\(customer.userId)"
        #expect(try await ParseClient(suite).call(.DELETE, path).code == 206)
        #expect(try await other.client.call(.DELETE, path).code == 206)
        #expect(try await customer.client.get("/users/me").status == 200)
        #expect(try await ParseClient.master(suite).call(.DELETE, "/users/\(other.userId)").status == 200)
        #expect(try await other.client.get("/users/me").code == 209)
    }

    @Test func theAccountsOwnPartsEndWithTheAnswer() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let device = try await customer.signInAgain()
        let link = try await MailedLink.newest("verify_email", to: customer.email, in: suite)
        let master = ParseClient.master(suite)
        let role = try await master.call(
            .POST, "/roles",
            [
                "name": .string("r\(Names.random(8))"), "ACL": [:],
                "users": ["__op": "AddRelation", "objects": [customer.pointer]],
            ])
        try #require(role.status == 201, "\(role.text)")
        for client in [customer.client, device] { #expect(try await client.get("/users/me").status == 200) }
        let deleted = try await customer.client.call(.DELETE, "/users/\(customer.userId)")
        try #require(deleted.status == 200, "\(deleted.text)")
        try #require(deleted.json == [:], "\(deleted.text)")
        for client in [customer.client, device] { #expect(try await client.get("/users/me").code == 209) }
        for table in ["credentials", "identities", "mailedTokens"] {
            let rows = try await suite.rows(
                "users", "SELECT count(*) FROM \(table) WHERE userId = '\(customer.userId)'")
            #expect(rows == [[0]], "\(table)")
        }
        #expect(try await master.find("_Session", ["user": customer.pointer]).results.isEmpty)
        #expect(try await master.find("_Role", ["users": customer.pointer]).results.isEmpty)
        #expect(try await link.open().status == 404)
        let login: JSON = ["username": .string(customer.email), "password": .string(customer.password)]
        #expect(try await ParseClient(suite).call(.POST, "/login", login).code == 101)
        // The name is free again for a new user.
        let again = try await ParseClient(suite).call(
            .POST, "/users", ["username": .string(customer.email), "password": "secret1"])
        #expect(again.status == 201, "\(again.text)")
        #expect(again.objectId != customer.userId, "\(again.text)")
    }

    @Test func everyServiceGetsTheDeletionOnce() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        #expect(try await customer.client.call(.DELETE, "/users/\(customer.userId)").status == 200)
        // Each service either has processed the message, with its answer stored under the message's key, or will get
        // it.
        for service in ["catalog", "bag", "payments", "mail", "push", "analytics", "crash"] {
            try await eventually("\(service) is told") {
                let key = "outbox:user:\(customer.userId):deleted:%:\(service)"
                let kept = try await suite.rows("users", "SELECT count(*) FROM outbox WHERE key LIKE '\(key)'")
                let done = try await suite.rows(
                    service, "SELECT count(*) FROM deliveredReplies WHERE key LIKE '\(key)'")
                return [kept, done].contains([[1]])
            }
        }
    }

    /// The deletion in each service: only the shop's books remain.
    @Test func nothingOfTheUserIsLeftButTheBooks() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let shelf = try await Shelf.fill(suite, names: ["Lip \(Names.random(4))", "Eye \(Names.random(4))"])
        var customer = try await Customer.signUp(suite)
        customer.client.installationId = Names.random(20).lowercased()
        let product = JSON.pointer("Product", shelf.productIds[0])

        let favourite = try await customer.client.create("FavoriteProduct", ["product": product])
        try #require(favourite.status == 201, "\(favourite.text)")
        let review = try await customer.client.create(
            "ProductReview", ["product": product, "content": "Lovely", "rating": 5])
        try #require(review.status == 201, "\(review.text)")
        let installation = try await customer.client.call(
            .POST, "/installations",
            [
                "deviceType": "ios", "installationId": .string(customer.client.installationId ?? ""),
                "user": customer.pointer,
            ])
        try #require(installation.status == 201, "\(installation.text)")
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        let bought = try await customer.client.run(
            "checkout",
            ["tokenId": "tok_visa", "idempotencyKey": .string(Names.random(10)), "shippingAddress": Customer.address])
        try #require(bought.status == 200, "\(bought.text)")
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[1])])
        _ = try await customer.client.call(.POST, "/events/Looked", ["dimensions": ["what": "lip"]])

        let deleted = try await customer.client.call(.DELETE, "/users/\(customer.userId)")
        try #require(deleted.status == 200, "\(deleted.text)")

        func gone(_ what: String, _ className: String, _ condition: JSON) async throws {
            try await eventually(what, within: .seconds(20)) {
                try await master.find(className, condition).results.isEmpty
            }
        }
        try await gone("favourites are gone", "FavoriteProduct", ["customer": customer.pointer])
        try await gone("reviews name nobody", "ProductReview", ["user": customer.pointer])
        try await gone("the open bag is gone", "Order", ["customer": customer.pointer])
        try await gone("cards are gone", "PaymentMethod", ["owner": customer.pointer])
        try await gone("installations belong to nobody", "_Installation", ["user": customer.pointer])
        #expect(try await master.get("/classes/ProductReview/\(review.objectId)")["content"] == "Lovely")
        #expect(try await master.get("/installations/\(installation.objectId)").status == 200)
        let orders = try await master.find("Order", ["orderNo": bought.result["orderNo"] ?? .null]).results
        #expect(orders.count == 1, "The shop keeps what it sold.")
        #expect(orders.first?["shippingAddress"]?["lastName"] != "Long")
        #expect(orders.first?["total"] != nil)
        try await eventually("events name nobody", within: .seconds(20)) {
            let events = try await master.run("analyticsEvents", ["name": "Looked", "limit": 1000])
            return events.status == 200 && !events.text.contains(customer.userId)
        }
    }
}
