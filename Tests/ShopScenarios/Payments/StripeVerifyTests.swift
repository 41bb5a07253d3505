import ParseProtocol
import TestSupport
import Testing

/// `scripts/verify` on a shop that is paid by Stripe.
@Suite struct StripeVerifyTests {
    @Test func theBooksAreComparedWithStripesList() async throws {
        try await StripeDouble.with { double in
            try await Suite.with(settings: double.settings()) { suite in
                try await Self.buy(suite, orders: 4)
                try await double.limitPages(to: 3)
                try await Self.awaitCleanBooks(suite)
                let report = try JSON(parsing: try await suite.script("verify", "--json"))
                let sums = report["sums"]?.arrayValue ?? []
                #expect(!sums.isEmpty)
                for day in sums { #expect(day["provider"] == day["bag"]) }

                try await double.fail("401", "/v1/charges", method: "GET", times: 1000)
                let refused = try await Self.problem(suite)
                #expect(refused.contains("ended with 2"), "\(refused)")
                #expect(refused.contains("Not checked: Stripe. Stripe refuses the request: status 401"), "\(refused)")
                try await double.heal()

                let made = try await double.state().chargeIds
                try #require(made.count == 4)
                try await double.change(made[0], ["amount": 351])
                try await double.change(made[1], .null)
                try await double.change(made[2], ["amount_refunded": 100])
                try await double.change("", ["amount": 5, "metadata": ["operation_id": "co_elsewhere"]])
                let wrong = try await Self.problem(suite)
                for text in [
                    "ended with 1", "Charged 350 usd; Stripe has 351 usd", "Charged 350 usd; Stripe has nothing",
                    "Refunded 0; Stripe has 100", "5 usd, co_elsewhere: not known",
                ] {
                    #expect(wrong.contains(text), "\(text): \(wrong)")
                }
                #expect(try await double.state().violations == [])
            }
        }
    }

    @Test func aRefundThatFailsAtTheBankIsTheShopsMoneyAgain() async throws {
        try await StripeDouble.with { double in
            try await Suite.with(settings: double.settings()) { suite in
                try await Self.buy(suite, orders: 1)
                let admin = try await Customer.admin(suite)
                let rows = try await suite.rows("bag", "SELECT orderId FROM checkouts")
                let order = try #require(rows.first?.arrayValue?.first?.stringValue)
                let given = try await admin.run("refundOrder", ["orderId": .string(order), "amount": 100])
                #expect(given.result["refundedNow"] == 100, "\(given.text)")
                let refund = try await double.failRefund("expired_or_canceled_card")
                for type in ["refund.updated", "refund.failed", "charge.refund.updated"] {
                    let event: JSON = [
                        "type": .string(type), "objectId": refund, "url": .string("\(suite.url)/webhooks/stripe"),
                    ]
                    #expect(try await double.event(event)["status"] == 200, "\(type)")
                }
                // A late event of the refund, from before its failure.
                let charge = try await double.state().json["chargeIds"]?.arrayValue?.first
                let late: JSON = [
                    "type": "charge.refunded", "objectId": charge ?? .null, "changes": ["amount_refunded": 100],
                    "created": .int(Timestamp.now.milliseconds / 1000 - 60),
                    "url": .string("\(suite.url)/webhooks/stripe"),
                ]
                #expect(try await double.event(late)["status"] == 200)
                let effects = try await suite.rows("payments", "SELECT effect FROM paymentEvents ORDER BY id")
                #expect(effects == [["refundFailed"], ["known"], ["known"], ["known"]])

                try await eventually("the order counts as paid") {
                    let stored = try await admin.get("/classes/Order/\(order)")
                    return stored["refundState"] == "failed" && stored["refundedTotal"] == nil
                        && stored["paymentStatus"] == "paid"
                }
                let parked = try await admin.get("/operations/parked").json["results"]?.arrayValue ?? []
                let item = try #require(parked.first { $0["kind"] == "refund" })
                #expect(item["reason"]?.stringValue?.contains("expired_or_canceled_card") == true, "\(item)")
                #expect(item["amount"] == 100)
                try await Self.awaitCleanBooks(suite)

                let body: JSON = ["service": "bag", "kind": "refund", "id": item["id"] ?? .null]
                #expect(try await admin.call(.POST, "/operations/parked/retry", body).status == 200)
                try await eventually("the order is refunded") {
                    let stored = try await admin.get("/classes/Order/\(order)")
                    return stored["refundState"] == "done" && stored["refundedTotal"] == 100
                }
                #expect(try await double.state().back == 100)
                try await Self.awaitCleanBooks(suite)
                #expect(try await double.state().violations == [])
            }
        }
    }

    /// Somebody refunded a cancelled order in Stripe's dashboard after its refund had failed: the retry takes that.
    @Test func aCancelledOrderThatIsRefundedAtStripeIsRefunded() async throws {
        try await StripeDouble.with { double in
            try await Suite.with(settings: double.settings()) { suite in
                try await Self.buy(suite, orders: 1)
                let admin = try await Customer.admin(suite)
                let rows = try await suite.rows("bag", "SELECT orderId FROM checkouts")
                let order = try #require(rows.first?.arrayValue?.first?.stringValue)
                let cancelled = try await admin.run("cancelOrder", ["orderId": .string(order)])
                #expect(cancelled.result["refundedTotal"] == 350, "\(cancelled.text)")
                let failed = try await double.failRefund("expired_or_canceled_card")
                let event: JSON = [
                    "type": "refund.failed", "objectId": failed, "url": .string("\(suite.url)/webhooks/stripe"),
                ]
                #expect(try await double.event(event)["status"] == 200)
                try await eventually("the order counts as paid") {
                    try await admin.get("/classes/Order/\(order)")["paymentStatus"] == "paid"
                }
                let charge = try #require(try await double.state().json["chargeIds"]?.arrayValue?.first)
                let asked: JSON = [
                    "method": "POST", "path": ["charges", charge, "refund"], "form": [["amount", "350"]],
                ]
                let refunded = try await ParseClient.master(suite).run("stripeRequest", asked)
                #expect(refunded.result["status"] == 200, "\(refunded.text)")

                let parked = try await admin.get("/operations/parked").json["results"]?.arrayValue ?? []
                let item = try #require(parked.first { $0["kind"] == "refund" })
                let body: JSON = ["service": "bag", "kind": "refund", "id": item["id"] ?? .null]
                #expect(try await admin.call(.POST, "/operations/parked/retry", body).status == 200)
                try await eventually("the order is refunded") {
                    let stored = try await admin.get("/classes/Order/\(order)")
                    return stored["paymentStatus"] == "refunded" && stored["orderState"] == "cancelled"
                        && stored["refundedTotal"] == 350
                }
                #expect(try await double.state().back == 350)
            }
        }
    }

    private static func awaitCleanBooks(_ suite: Suite) async throws {
        try await eventually("the books are clean", within: .seconds(120)) {
            (try? await suite.script("verify")) != nil
        }
    }

    /// Orders of 3.50 each.
    private static func buy(_ suite: Suite, orders: Int) async throws {
        let product = try await Shelf.fill(suite, names: ["Cream"]).productIds[0]
        let customer = try await Customer.signUp(suite)
        for _ in 0..<orders {
            _ = try await customer.client.run("addToBag", ["productId": .string(product)])
            let paid = try await customer.client.run(
                "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
            try #require(paid.status == 200, "\(paid.text)")
        }
    }

    /// The output of a check that does not end with 0.
    private static func problem(_ suite: Suite) async throws -> String {
        let failed = await #expect(throws: Command.Failed.self) { try await suite.script("verify") }
        return try #require(failed).description
    }
}
