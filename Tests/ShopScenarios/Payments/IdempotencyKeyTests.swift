import ParseProtocol
import TestSupport
import Testing

/// An idempotency key over HTTP: a repetition gets the first answer byte for byte, and a different bag never gets it.
@Suite struct IdempotencyKeyTests {
    private static let functions = ["checkout", "chargeCustomer", "ChargeToken"]

    /// The parameters of one of the paying functions.
    private func parameters(_ function: String, _ customer: Customer) async throws -> JSON {
        var wanted: JSON = ["idempotencyKey": "k", "shippingAddress": Customer.address]
        if function != "checkout" { wanted["orderId"] = try await customer.client.run("bag").result["orderId"] }
        switch function {
        case "chargeCustomer":
            wanted["customerId"] = try await customer.client.run(
                "createStripeCustomer", ["tokenId": "tok_visa", "customerEmail": .string(customer.email)]
            ).result
        case "ChargeToken": wanted["chargeToken"] = "tok_visa"
        default: wanted["tokenId"] = "tok_visa"
        }
        return wanted
    }

    @Test(arguments: functions) func aKeyOrdersOneBagAndNoOther(_ function: String) async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Key \(Names.random(4))"])
        let customer = try await Customer.signUp(suite)
        func fill() async throws {
            let added = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
            try #require(added.status == 200, "\(added.text)")
        }
        try await fill()
        let first = try await parameters(function, customer)
        // A refusal does not use up the key.
        var wrong = first
        wrong["amount"] = 1
        #expect(try await customer.client.run(function, wrong).code == 142)
        let receipt = try await customer.client.run(function, first)
        try #require(receipt.status == 200, "\(receipt.text)")
        #expect(try await customer.client.run(function, first).text == receipt.text)
        var other = first
        other["note"] = "Ring twice"
        #expect(try await customer.client.run(function, other).code == 142)

        try await fill()
        var second = first
        if function != "checkout" { second["orderId"] = try await customer.client.run("bag").result["orderId"] }
        let refused = try await customer.client.run(function, second)
        #expect(refused.code == 142, "\(refused.text)")
        #expect(refused["error"]?.stringValue?.contains("idempotency key") == true, "\(refused.text)")
        #expect(try await customer.client.run("bag").result["badgeCount"] == 1)
        second["idempotencyKey"] = "l"
        #expect(try await customer.client.run(function, second).status == 200)
        #expect(try await customer.client.run(function, first).text == receipt.text)
    }
}
