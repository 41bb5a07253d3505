import ParseProtocol
import TestSupport
import Testing

/// A payment that the provider leaves undecided times out, and the bag is released once nothing can be charged any
/// more.
@Suite struct UndecidedPaymentTests {
    /// A suite whose payments time out after five seconds, and a customer with 7.00 in the bag.
    private func with(
        _ body: (StripeDouble, Suite, ParseClient, _ product: JSON) async throws -> Void
    ) async throws {
        try await StripeDouble.with { double in
            let settings = double.settings().merging(["SATCHEL_PAYMENT_UNDECIDED_SECONDS": "5"]) { $1 }
            try await Suite.with(settings: settings) { suite in
                let product = JSON.string(try await Shelf.fill(suite, names: ["Cream"]).productIds[0])
                let client = try await Customer.signUp(suite).client
                let added = try await client.run("addToBag", ["productId": product, "quantity": 2])
                try #require(added.status == 200, "\(added.text)")
                try await body(double, suite, client, product)
            }
        }
    }

    private static func payment(_ token: String, key: String) -> JSON {
        [
            "tokenId": .string(token), "idempotencyKey": .string(key), "shippingAddress": Customer.address,
        ]
    }

    private static func health(_ suite: Suite) async throws -> JSON? {
        try await ParseClient(suite).get("/health").json.at("services", "payments")
    }

    @Test func aKeyThatStripeRefusesEndsTheAttemptAndFreesTheBag() async throws {
        try await with { double, suite, client, product in
            for method in ["POST", "GET"] { try await double.fail("401", method: method, times: 1000) }
            let refused = try await client.run("checkout", Self.payment("tok_visa", key: "a"))
            #expect(refused.code == 141, "\(refused.text)")
            #expect(refused.json.at("details", "code") == "payment_undecided", "\(refused.text)")
            // A retry with the same key returns the outcome.
            #expect(try await client.run("checkout", Self.payment("tok_visa", key: "a")).text == refused.text)
            try await eventually("the operator sees it") {
                let payments = try await Self.health(suite)
                return payments?["status"] == "degraded"
                    && payments?["problem"]?.stringValue?.contains("SATCHEL_STRIPE_SECRET_KEY") == true
            }
            let changed = try await client.run("setBagQuantity", ["productId": product, "quantity": 3])
            #expect(changed.status == 200, "\(changed.text)")
            try await double.heal()
            let paid = try await client.run("checkout", Self.payment("tok_visa", key: "b"))
            #expect(paid.status == 200, "\(paid.text)")
            let state = try await double.state()
            #expect(state.json["amounts"] == [1050])
            try await eventually("the key is taken again") { try await Self.health(suite)?["status"] == "ok" }
        }
    }

    @Test func theDeskFreesABagWhosePaymentStaysUndecidedAndTheMoneyGoesBack() async throws {
        try await with { double, suite, client, product in
            let orderId = try await client.run("bag").result["orderId"] ?? .null
            let admin = try await Customer.admin(suite)
            async let answer = client.run("checkout", Self.payment("tok_processing", key: "a"))
            try await eventually("the time is over and Stripe is asked to cancel", within: .seconds(20)) {
                try await double.state().requests.contains { $0["path"]?.stringValue?.hasSuffix("/cancel") == true }
            }
            for caller in [client, admin] {
                #expect(try await caller.run("cancelOrder", ["orderId": orderId]).code == 142)
            }
            #expect(try await client.run("cancelOrder", ["orderId": orderId, "freeBag": true]).code == 142)
            #expect(try await client.run("setBagQuantity", ["productId": product, "quantity": 3]).code == 142)
            let freed = try await admin.run("cancelOrder", ["orderId": orderId, "freeBag": true, "reason": "Stuck"])
            #expect(freed.status == 200, "\(freed.text)")
            #expect(
                freed.result["warning"]?.stringValue?.contains("If the provider still charges the customer") == true)
            var ended = try await answer
            // The gateway may time out before the desk frees the bag.
            if ended.code == 124 { ended = try await client.run("checkout", Self.payment("tok_processing", key: "a")) }
            #expect(ended.json.at("details", "code") == "payment_given_up", "\(ended.text)")
            #expect(try await client.run("setBagQuantity", ["productId": product, "quantity": 3]).status == 200)
            try await eventually("the audit log has it") {
                try await admin.run("auditEntries").text.contains("freeBag")
            }
            // The bank accepts the payment after all.
            try await double.settle("succeeded")
            try await eventually("the money goes back", within: .seconds(30)) { try await double.state().back == 700 }
            #expect(try await client.find("Order", ["orderStatus": 1]).results.isEmpty)
        }
    }
}
