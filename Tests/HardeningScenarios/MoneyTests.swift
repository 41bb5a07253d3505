import ParseProtocol
import TestSupport
import Testing

/// T8a, T8b: each refund request refunds once and never more than was paid. Free orders are placed without a charge.
@Suite struct MoneyTests {
    private static func paid(_ suite: Suite, pieces: Int64 = 4) async throws -> (customer: Customer, order: String) {
        let shelf = try await Shelf.fill(suite, names: ["Money \(Names.random(4))"], stock: 100)
        let customer = try await Customer.signUp(suite)
        _ = try await customer.client.run(
            "addToBag", ["productId": .string(shelf.productIds[0]), "quantity": .int(pieces)])
        let paid = try await customer.client.run(
            "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
        guard paid.status == 200 else { throw Unexpected("checkout", paid) }
        return (customer, paid.result.text("orderId"))
    }

    /// T8a
    @Test func theSameAmountTwiceIsTwoRefundsAndTheAnswerSaysSo() async throws {
        let suite = try await Suite.shared
        let (_, order) = try await Self.paid(suite)
        let admin = try await Customer.admin(suite)
        let part: JSON = ["orderId": .string(order), "amount": 500]
        let first = try await admin.run("refundOrder", part)
        #expect(first.result["refundedNow"] == 500, "\(first.text)")
        #expect(first.result["refundedTotal"] == 500, "\(first.text)")
        let second = try await admin.run("refundOrder", part)
        #expect(second.result["refundedNow"] == 500, "\(second.text)")
        #expect(second.result["refundedTotal"] == 1000, "\(second.text)")
        #expect(first.result["refundId"] != second.result["refundId"])
        let tooMuch = try await admin.run("refundOrder", part)
        #expect(tooMuch.code == 142, "\(tooMuch.text)")
        #expect(tooMuch.text.contains("400 of 1400"), "\(tooMuch.text)")
        let rest = try await admin.run("refundOrder", ["orderId": .string(order)])
        #expect(rest.result["refundedNow"] == 400, "\(rest.text)")
        #expect(rest.result["refundedTotal"] == 1400, "\(rest.text)")
        let nothing = try await admin.run("refundOrder", ["orderId": .string(order)])
        #expect(nothing.result["refundedNow"] == 0, "\(nothing.text)")
        #expect(nothing.result["refundedTotal"] == 1400, "\(nothing.text)")
        let moved = try await suite.rows(
            "payments",
            """
            SELECT count(*), sum(r.amount) FROM refunds r JOIN charges c ON c.operationId = r.chargeOperationId
            WHERE c.orderId = '\(order)' AND r.state = 'succeeded'
            """)
        #expect(moved == [[3, 1400]])
    }

    /// T8a
    @Test func aKeyNamesOneRefund() async throws {
        let suite = try await Suite.shared
        let (_, order) = try await Self.paid(suite)
        let (_, other) = try await Self.paid(suite)
        let admin = try await Customer.admin(suite)
        let key = "refund-\(Names.random(8))"
        let part: JSON = ["orderId": .string(order), "amount": 500, "idempotencyKey": .string(key)]
        // Concurrently, like an impatient operator or a network that repeats requests.
        let answers = try await withThrowingTaskGroup(of: ParseClient.Answer.self) { group in
            for _ in 0..<6 { group.addTask { try await admin.run("refundOrder", part) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.allSatisfy { $0.status == 200 && $0.result["refundedNow"] == 500 }, "\(answers.map(\.text))")
        #expect(Set(answers.map { $0.result.text("refundId") }).count == 1)
        let again = try await admin.run("refundOrder", part)
        #expect(again.result["refundedNow"] == 500, "\(again.text)")
        #expect(again.result["refundedTotal"] == 500, "\(again.text)")
        for changed: JSON in [
            ["orderId": .string(order), "amount": 501, "idempotencyKey": .string(key)],
            ["orderId": .string(order), "idempotencyKey": .string(key)],
            ["orderId": .string(other), "amount": 500, "idempotencyKey": .string(key)],
        ] {
            #expect(try await admin.run("refundOrder", changed).code == 142)
        }
        for bad: JSON in [7, "", .string(String(repeating: "k", count: 201)), ["$ne": "x"]] {
            let refused = try await admin.run(
                "refundOrder", ["orderId": .string(order), "amount": 1, "idempotencyKey": bad])
            #expect(refused.code == 142, "\(bad)")
        }
        let rows = try await suite.rows("bag", "SELECT count(*), sum(amount) FROM refunds WHERE orderId = '\(order)'")
        #expect(rows == [[1, 500]])
    }

    /// T8b
    @Test func aFreeBagIsOrderedWithoutACharge() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Sample \(Names.random(4))"], stock: 10)
        let free = try await ParseClient.master(suite).call(
            .PUT, "/classes/Product/\(shelf.productIds[0])", ["unitPrice": 0])
        #expect(free.status == 200, "\(free.text)")
        let customer = try await Customer.signUp(suite)
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0]), "quantity": 2])
        let order: JSON = [
            "shippingAddress": Customer.address, "idempotencyKey": .string("free-\(Names.random(6))"), "amount": 0,
        ]
        let made = try await customer.client.run("checkout", order)
        #expect(made.status == 200, "\(made.text)")
        #expect(made.result["totalMinorUnits"] == 0)
        #expect(made.result["orderStatus"] == 1)
        #expect((made.result["orderNo"]?.intValue ?? 0) > 1_000_000)
        #expect(made.result["orderDate"]?.wireType == "Date")
        #expect(made.result["stripePaymentId"]?.isNull ?? true)
        #expect(try await customer.client.run("checkout", order).body == made.body)
        let id = made.result.text("orderId")
        #expect(try await suite.rows("payments", "SELECT count(*) FROM charges WHERE orderId = '\(id)'") == [[0]])
        try await eventually("stock and mail follow", within: .seconds(20)) {
            try await ParseClient(suite).get("/classes/Product/\(shelf.productIds[0])")["stock"] == 8
                && suite.mails().contains {
                    $0.header("To")?.contains(customer.email) == true && $0.text.contains("$0.00")
                }
        }
        let admin = try await Customer.admin(suite)
        for refund: JSON in [["orderId": .string(id), "amount": 1], ["orderId": .string(id), "restock": true]] {
            let refused = try await admin.run("refundOrder", refund)
            #expect(refused.code == 142, "\(refused.text)")
            #expect(refused["error"]?.stringValue?.contains("Satchel did not charge this order") == true)
        }
        let cancelled = try await admin.run("cancelOrder", ["orderId": .string(id)])
        #expect(cancelled.result["orderState"] == "cancelled", "\(cancelled.text)")
        #expect(cancelled.result["refundedTotal"] == nil, "\(cancelled.text)")
        try await eventually("the goods are back") {
            try await ParseClient(suite).get("/classes/Product/\(shelf.productIds[0])")["stock"] == 10
        }
    }

    /// T8b: a bag with a price cannot be ordered without a payment.
    @Test func aBagThatCostsSomethingNeedsAPayment() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Paid \(Names.random(4))"], stock: 10)
        let customer = try await Customer.signUp(suite)
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        let refused = try await customer.client.run("checkout", ["shippingAddress": Customer.address])
        #expect(refused.code == 142, "\(refused.text)")
        #expect(refused.text.contains("paymentMethodId or tokenId"), "\(refused.text)")
        let paid = try await customer.client.run(
            "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
        #expect(paid.status == 200, "\(paid.text)")
    }
}
