import ParseProtocol
import TestSupport
import Testing

/// The answers to another user with every id of a customer: no data, and no hint that the data exists.
struct PrivacyChecks {
    let owner: ShopperFlow
    let stranger: ParseClient

    func run() async throws {
        try await objectsAreNotFound()
        try await listsAreEmpty()
        try await functionsRefuse()
        try await theEMailIsHidden()
        try await nothingChanged()
    }

    private var orderId: String { owner.orders[0].text("orderId") }

    private func objectsAreNotFound() async throws {
        let objects = [
            "Order/\(orderId)", "Order/\(owner.openOrderId)", "PaymentMethod/\(owner.paymentMethodId)",
            "FavoriteProduct/\(owner.favouriteId)",
        ]
        for path in objects {
            let read = try await stranger.get("/classes/\(path)")
            #expect(read.status == 404, "GET \(path): \(read.text)")
            #expect(read.code == 101, "GET \(path): \(read.text)")
            let absent = try await stranger.get("/classes/\(path.prefix { $0 != "/" })/0123456789")
            #expect(absent.body == read.body, "A hidden object and no object are one answer.")
            let write = try await stranger.call(.PUT, "/classes/\(path)", ["note": "mine"])
            #expect(write.status >= 400, "PUT \(path): \(write.text)")
            let delete = try await stranger.call(.DELETE, "/classes/\(path)")
            #expect(delete.status >= 400, "DELETE \(path): \(delete.text)")
        }
    }

    private func listsAreEmpty() async throws {
        for className in ["Order", "OrderItem", "PaymentMethod", "FavoriteProduct", "_Session"] {
            let found = try await stranger.find(className, [:], ["limit": 1000, "count": 1])
            let text = found.text
            #expect(found.status < 500, "\(className): \(text)")
            for secret in [owner.userId, owner.paymentMethodId, owner.stripeCustomerId, owner.email] {
                #expect(!text.contains(secret), "\(className) shows \(secret)")
            }
        }
        let counted = try await stranger.find("Order", ["customer": owner.pointer], ["limit": 0, "count": 1])
        #expect((counted["count"]?.intValue ?? 0) == 0)
        // Through an object that the other user owns, or a sub-query.
        let hidden = try await stranger.find(
            "Product", ["objectId": ["$select": ["query": ["className": "Order", "where": [:]], "key": "objectId"]]])
        #expect(hidden.results.isEmpty)
    }

    private func functionsRefuse() async throws {
        let refused: [(String, JSON)] = [
            ("chargeCustomer", ["orderId": .string(owner.openOrderId), "customerId": .string(owner.stripeCustomerId)]),
            ("ChargeToken", ["orderId": .string(owner.openOrderId), "chargeToken": "tok_visa"]),
            ("setDefaultPaymentMethod", ["paymentMethodId": .string(owner.paymentMethodId)]),
        ]
        for (name, parameters) in refused {
            let answer = try await stranger.run(name, parameters)
            let expected = stranger.sessionToken == nil ? 209 : 101
            #expect(answer.code == expected, "\(name): \(answer.text)")
        }
    }

    private func theEMailIsHidden() async throws {
        let user = try await stranger.get("/users/\(owner.userId)")
        #expect(user.status == 404, "\(user.text)")
        let byMail = try await stranger.call(.GET, "/users", options: ["where": ["email": .string(owner.email)]])
        #expect(byMail.results.isEmpty)
        #expect(!byMail.text.contains(owner.userId))
        let included = try await stranger.find("Product", [:], ["include": "brand,customer", "limit": 1])
        #expect(included.status == 200)
    }

    private func nothingChanged() async throws {
        let client = owner.signedIn
        let order = try await client.get("/classes/Order/\(orderId)")
        #expect(order.status == 200)
        #expect(order["orderNo"] == owner.orders[0]["orderNo"])
        let bag = try await client.run("bag").result
        #expect(bag.text("orderId") == owner.openOrderId)
        #expect(bag["badgeCount"]?.intValue == 1)
        let method = try await client.get("/classes/PaymentMethod/\(owner.paymentMethodId)")
        #expect(method["default"] == true)
    }
}
