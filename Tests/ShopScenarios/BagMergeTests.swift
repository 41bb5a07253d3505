import ParseProtocol
import TestSupport
import Testing

/// A shopper fills the bag before signing in; signing in to an account keeps it.
@Suite struct BagMergeTests {
    @Test func anonymousBagIsMergedAtLogin() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Both \(Names.random(4))", "One \(Names.random(4))"], stock: 4)
        let account = try await Customer.signUp(suite)
        _ = try await account.client.run("addToBag", ["productId": .string(shelf.productIds[0]), "quantity": 2])
        let (anonymous, _) = try await Customer.anonymous(suite)
        for product in shelf.productIds {
            let added = try await anonymous.run("addToBag", ["productId": .string(product), "quantity": 3])
            #expect(added.status == 200, "\(added.text)")
        }
        // The app signs in with the anonymous session's token still at hand.
        var device = anonymous
        let login = try await device.call(
            .POST, "/login", ["username": .string(account.email), "password": .string(account.password)])
        device.sessionToken = try #require(login["sessionToken"]?.stringValue, "\(login.text)")
        let bag = try await device.run("bag")
        let quantities = (bag.result["items"]?.arrayValue ?? []).reduce(into: [String: Int64]()) {
            $0[$1.at("product", "objectId")?.stringValue ?? ""] = $1["quantity"]?.intValue
        }
        // Two and three of the first, of which four are in stock.
        #expect(quantities == [shelf.productIds[0]: 4, shelf.productIds[1]: 3])
        #expect(bag.result["badgeCount"] == 7)
        let open = try await suite.rows(
            "bag",
            """
            SELECT count(*) FROM checkouts WHERE state IN ('started', 'reserved', 'charged') \
            AND customerId = '\(account.userId)'
            """
        )
        #expect(open == [[0]])
        let paid = try await device.run("checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
        #expect(paid.status == 200, "\(paid.text)")
    }
}
