import ParseProtocol
import TestSupport
import Testing

/// Stripe's events: only signed ones are accepted, each counts once, and an event decides a charge whose answer was
/// lost.
@Suite struct StripeWebhookTests {
    private static let path = "/webhooks/stripe"
    private static let payment: JSON = [
        "tokenId": "tok_visa", "idempotencyKey": "k", "shippingAddress": Customer.address,
    ]

    private func send(
        _ type: String, about objectId: String, _ more: [String: JSON] = [:], double: StripeDouble, _ suite: Suite
    ) async throws -> JSON {
        let order: [String: JSON] = [
            "type": .string(type), "objectId": .string(objectId), "url": .string(suite.url + Self.path),
        ]
        return try await double.event(.object(order.merging(more) { $1 }))
    }

    private func pay(_ suite: Suite) async throws -> (answer: ParseClient.Answer, customer: Customer) {
        let shelf = try await Shelf.fill(suite, names: ["Cream"])
        let customer = try await Customer.signUp(suite)
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        return (try await customer.client.run("checkout", Self.payment), customer)
    }

    @Test func onlySignedEventsAreBelievedAndEachOnce() async throws {
        try await StripeDouble.with { double in
            try await Suite.with(settings: double.settings()) { suite in
                let (paid, customer) = try await pay(suite)
                #expect(paid.status == 200)
                let state = try await double.state()
                let intent = try #require(state.intents.first?["id"]?.stringValue)
                let charge = try #require(state.json["chargeIds"]?.arrayValue?.first?.stringValue)

                for how in ["wrong", "old", "future", "v0", "none", "nonsense", "moved", "changed"] {
                    let refused = try await send(
                        "payment_intent.succeeded", about: intent, ["how": .string(how)], double: double, suite)
                    #expect(refused["status"] == 400, "\(how)")
                    #expect(refused["answer"]?.stringValue?.contains("not signed") == true, "\(how)")
                }
                #expect(try await suite.rows("payments", "SELECT * FROM paymentEvents") == [])

                for how in ["", "two", ""] {
                    let taken = try await send(
                        "payment_intent.succeeded", about: intent, ["how": .string(how), "eventId": "evt_a"],
                        double: double, suite)
                    #expect(taken["status"] == 200)
                    #expect(taken["answer"] == #"{"received":true}"#)
                }
                let refunded: JSON = ["amount_refunded": 100]
                for (type, object, changes) in [
                    ("charge.refunded", charge, refunded), ("payment_intent.payment_failed", "pi_of_others", [:]),
                    (
                        "charge.dispute.created", "dp_1",
                        ["charge": .string(charge), "payment_intent": .string(intent), "amount": 350]
                    ),
                    ("invoice.paid", "in_1", [:]),
                ] {
                    let taken = try await send(type, about: object, ["changes": changes], double: double, suite)
                    #expect(taken["status"] == 200, "\(type)")
                }
                let admin = try await Customer.admin(suite)
                let events = try await admin.run("paymentEvents").result.arrayValue ?? []
                #expect(
                    events.map { $0["effect"] } == ["dispute", "unknown", "elsewhere", "known"], "\(events)")
                #expect(events[2]["amount"] == 100)
                #expect(try await customer.client.run("paymentEvents").code == 119)
                #expect(try await ParseClient(suite).send(.GET, Self.path).status == 403)
                #expect(try await ParseClient(suite).send(.POST, Self.path, body: []).status == 400)
                let huge = [UInt8](repeating: 0x20, count: 600_000)
                #expect(try await ParseClient(suite).send(.POST, Self.path, body: huge).status == 400)
            }
        }
    }

    @Test func anEventDecidesAChargeWhoseAnswerNeverCame() async throws {
        try await StripeDouble.with { double in
            try await Suite.with(settings: double.settings()) { suite in
                // The charge succeeds, its answer is lost, and afterwards Stripe answers no query about the intent.
                try await double.fail("500_after", ".*/confirm")
                try await double.fail("503", "/v1/payment_intents/\\w+", method: "GET", times: 100_000)
                async let paying = pay(suite)
                try await eventually("the money is taken") { try await double.state().taken == 1 }
                let intent = try #require(try await double.state().intents.first?["id"]?.stringValue)
                // An event about another intent or amount does not decide it.
                let changes: JSON = ["amount": 1]
                _ = try await send(
                    "payment_intent.succeeded", about: intent, ["changes": changes], double: double, suite)
                let open = try await suite.rows("payments", "SELECT state FROM charges")
                #expect(open == [["created"]])
                _ = try await send("payment_intent.succeeded", about: intent, double: double, suite)
                let (first, customer) = try await paying
                // The gateway may time out before the event comes.
                let paid = first.code == 124 ? try await customer.client.run("checkout", Self.payment) : first
                #expect(paid.status == 200, "\(paid.text)")
                #expect(paid.result["stripePaymentId"]?.stringValue == intent)
                #expect(try await double.state().taken == 1)
                let effects = try await suite.rows("payments", "SELECT effect FROM paymentEvents ORDER BY id")
                #expect(effects == [["contradiction"], ["decided"]])
            }
        }
    }

    @Test func theSandboxExpectsNoWebhooks() async throws {
        let suite = try await Suite.shared
        let refused = try await ParseClient(suite).send(
            .POST, Self.path, headers: [("Stripe-Signature", "t=1,v1=00")], body: Array("{}".utf8))
        #expect(refused.status == 400)
        #expect(refused.code == 142)
        #expect(refused.text.contains("expects no webhooks"))
    }
}
