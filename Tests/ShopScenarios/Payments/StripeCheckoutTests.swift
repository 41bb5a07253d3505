import ParseProtocol
import TestSupport
import Testing

/// The shop pays with Stripe: real processes, HTTP and a strict double of Stripe. No customer is charged twice,
/// whichever process is killed and whichever answer is lost.
@Suite struct StripeCheckoutTests {
    /// A customer with 2 pieces of one product, 7.00 in all, in the bag.
    private func customerWithBag(_ suite: Suite) async throws -> Customer {
        let shelf = try await Shelf.fill(suite, names: ["Cream"])
        let customer = try await Customer.signUp(suite)
        let added = try await customer.client.run(
            "addToBag", ["productId": .string(shelf.productIds[0]), "quantity": 2])
        #expect(added.status == 200)
        return customer
    }

    private func noSecretIsLogged(_ suite: Suite) {
        for secret in [StripeDouble.secretKey, StripeDouble.webhookSecret, "sk_test", "tok_"] {
            let lines = suite.logTails(lines: .max) { $0.contains(secret) }
            #expect(lines == "", "\(secret) is in a log.")
        }
    }

    @Test(arguments: ["payment_intents", "charges"])
    func theReferenceAppPays(_ api: String) async throws {
        try await StripeDouble.with { double in
            try await Suite.with(settings: double.settings(api: api)) { suite in
                let customer = try await customerWithBag(suite)
                let client = customer.client
                let created = try await client.run(
                    "createStripeCustomer", ["tokenId": "tok_visa", "customerEmail": .string(customer.email)])
                let customerId = created.result.stringValue ?? ""
                #expect(customerId.hasPrefix("cus_"))
                let method = try #require(try await client.find("PaymentMethod").results.first)
                #expect(method["type"] == "Visa")
                #expect(method["lastFourDigit"] == "4242")
                #expect(method["expirationYear"] == 2031)
                let orderId = try await client.run("bag").result["orderId"] ?? .null
                let charge: JSON = [
                    "orderId": orderId, "customerId": .string(customerId), "chargeAmount": 700,
                    "shippingAddress": Customer.address,
                ]
                let paid = try await client.run("chargeCustomer", charge)
                #expect(paid.status == 200, "\(paid.text)")
                #expect(paid.result["totalMinorUnits"] == 700)
                let again = try await client.run("chargeCustomer", charge)
                #expect(again.result["orderNo"] == paid.result["orderNo"])
                var state = try await double.state()
                #expect(state.taken == 1)
                #expect(state.json["amounts"] == [700])

                // Apple Pay's one-time token.
                let other = try await customerWithBag(suite)
                let otherOrder = try await other.client.run("bag").result["orderId"] ?? .null
                let token: JSON = [
                    "orderId": otherOrder, "chargeToken": "tok_once_amex_1", "shippingAddress": Customer.address,
                ]
                #expect(try await other.client.run("ChargeToken", token).status == 200)
                // A second card becomes the default, and the first one is deleted, here and at Stripe.
                let second = try await client.run("addPaymentMethod", ["tokenId": "pm_card_amex"]).result
                #expect(second["type"] == "American Express")
                #expect(
                    try await client.call(.DELETE, "/classes/PaymentMethod/\(method["objectId"]?.stringValue ?? "")")
                        .status == 200)
                try await eventually("the customer is deleted at Stripe", within: .seconds(20)) {
                    try await !double.state().customers.contains(.string(customerId))
                }
                state = try await double.state()
                #expect(state.taken == 2)
                #expect(state.violations == [])

                let admin = try await Customer.admin(suite)
                let listed = try await admin.run("charges", ["state": "succeeded"]).result.arrayValue ?? []
                #expect(listed.map { $0["amount"] } == [700, 700])
                #expect(listed.allSatisfy { $0["source"] == nil && $0["requested"] == nil })
                #expect(try await client.run("charges").code == 119)
                #expect(try await admin.run("charges", ["state": "paid"]).code == 142)
                noSecretIsLogged(suite)
            }
        }
    }

    @Test func aDeclinedCardLeavesTheBagAndSaysWhy() async throws {
        try await StripeDouble.with { double in
            try await Suite.with(settings: double.settings()) { suite in
                let customer = try await customerWithBag(suite)
                for (token, code) in [
                    ("tok_chargeDeclinedInsufficientFunds", "insufficient_funds"),
                    ("tok_threeDSecure2Required", "authentication_required"),
                ] {
                    let refused = try await customer.client.run(
                        "checkout", ["tokenId": .string(token), "shippingAddress": Customer.address])
                    #expect(refused.code == 141)
                    #expect(refused.json.at("details", "decline_code")?.stringValue == code)
                }
                #expect(try await customer.client.run("bag").result["badgeCount"] == 2)
                #expect(try await double.state().taken == 0)
                let kept = try await customer.client.run("addPaymentMethod", ["tokenId": "tok_chargeDeclined"])
                #expect(kept.code == 141)
                #expect(kept.json.at("details", "code") == "card_declined")
                // Card numbers are never forwarded.
                let number = try await customer.client.run("addPaymentMethod", ["tokenId": "4242424242424242"])
                #expect(number.code == 142)
                let requests = try await double.state().requests
                #expect(!requests.contains { $0["body"]?.stringValue?.contains("4242424242424242") ?? true })
                let paid = try await customer.client.run(
                    "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
                #expect(paid.status == 200)
                #expect(try await double.state().taken == 1)
            }
        }
    }

    /// Cloud code, or the shop's earlier server, charged the customer; the order has the charge's id.
    @Test func aChargeThatWasMadeElsewhereIsRefundedAtStripe() async throws {
        try await StripeDouble.with { double in
            try await Suite.with(settings: double.settings()) { suite in
                let (master, admin) = (ParseClient.master(suite), try await Customer.admin(suite))
                let customer = try await Customer.signUp(suite)
                /// Of cloud code, through hosted Parse's module.
                func stripe(_ path: [String], _ form: [String: String]) async throws -> JSON {
                    let fields = form.sorted { $0.key < $1.key }
                        .map { JSON.array([.string($0.key), .string($0.value)]) }
                    let asked: JSON = [
                        "method": "POST", "path": .array(path.map(JSON.string)), "form": .array(fields),
                    ]
                    let answer = try await master.run("stripeRequest", asked)
                    #expect(answer.result["status"] == 200, "\(answer.text)")
                    return answer.result["body"] ?? .null
                }
                func charge(_ amount: Int) async throws -> String {
                    try await stripe(["charges"], ["amount": "\(amount)", "currency": "usd", "source": "tok_visa"])
                        .text("id")
                }
                func order(_ charge: String, _ total: Int64, currency: JSON = "usd") async throws -> JSON {
                    let order: JSON = [
                        "orderNo": .int(.random(in: 1...900_000)), "orderStatus": 1, "total": .int(total),
                        "currency": currency, "customer": customer.pointer, "stripePaymentId": .string(charge),
                        "ACL": [:],
                    ]
                    let made = try await master.create("Order", order)
                    #expect(made.status == 201, "\(made.text)")
                    return ["orderId": .string(made.objectId)]
                }
                func refund(_ order: JSON, _ members: [String: JSON] = [:]) async throws -> ParseClient.Answer {
                    let parameters = (order.objectValue ?? [:]).merging(members) { $1 }
                    return try await admin.run("refundOrder", .object(parameters))
                }
                func mails(_ words: String) -> Int {
                    suite.mails().count {
                        $0.header("To")?.contains(customer.email) == true && $0.text.contains(words)
                    }
                }

                // A part, a part that someone refunds at Stripe, and the rest; a repeated request refunds once.
                let paid = try await charge(900)
                let first = try await order(paid, 900)
                let part: [String: JSON] = ["amount": 300, "idempotencyKey": "part"]
                let given = try await refund(first, part)
                #expect(given.result["refundedNow"] == 300, "\(given.text)")
                #expect(given.result["paymentStatus"] == "partiallyRefunded", "\(given.text)")
                #expect(try await refund(first, part).result["refundedTotal"] == 300)
                #expect(try await double.state().back == 300)
                _ = try await stripe(["charges", paid, "refund"], ["amount": "100"])
                #expect(try await refund(first, ["amount": 501]).code == 142)
                for wrong: [String: JSON] in [["lines": [["itemId": "x", "quantity": 1]]], ["restock": true]] {
                    #expect(try await refund(first, wrong).code == 142)
                }
                let rest = try await refund(first)
                #expect(rest.result["refundedNow"] == 500, "\(rest.text)")
                #expect(rest.result["paymentStatus"] == "refunded", "\(rest.text)")
                #expect(try await double.state().back == 900)
                try await eventually("each refund is told with its amount") {
                    mails("$3.00") == 1 && mails("$5.00") == 1
                }

                // A charge that paid more than this order; the cancellation gives back what the order cost.
                let second = try await order(try await charge(2000), 700)
                let cancelled = try await admin.run("cancelOrder", second)
                #expect(cancelled.result["orderState"] == "cancelled", "\(cancelled.text)")
                #expect(cancelled.result["refundedTotal"] == 700, "\(cancelled.text)")
                #expect(try await double.state().back == 1600)
                try await eventually("the cancellation is told") { mails("We refunded $7.00") == 1 }

                // No refund is made, and no mail is sent.
                let before = mails("order")
                for wrong in [
                    try await order(try await charge(900), 900, currency: "eur"), try await order("ch_unknown", 900),
                    try await order("../customers", 900),
                ] {
                    let id = wrong.text("orderId")
                    let refused = try await refund(wrong)
                    #expect(refused.code == 142, "\(refused.text)")
                    #expect(try await admin.run("cancelOrder", wrong).code == 142)
                    let kept = try await master.get("/classes/Order/\(id)")
                    #expect(kept["refundState"] == nil && kept["cancelledAt"] == nil, "\(kept.text)")
                }
                #expect(mails("order") == before)
                let state = try await double.state()
                #expect(state.back == 1600)

                // The bank reverses the refund of the cancelled order, which is made again.
                let failed = try await double.failRefund("expired_or_canceled_card")
                let event: JSON = [
                    "type": "refund.failed", "objectId": failed, "url": .string("\(suite.url)/webhooks/stripe"),
                ]
                #expect(try await double.event(event)["status"] == 200)
                try await eventually("the cancelled order counts as paid") {
                    let stored = try await master.get("/classes/Order/\(second.text("orderId"))")
                    return stored["refundState"] == "failed" && stored["refundedTotal"] == nil
                }
                let again = try await refund(second)
                #expect(again.result["refundedNow"] == 700, "\(again.text)")
                #expect(again.result["orderState"] == "cancelled", "\(again.text)")
                let parked = try await admin.get("/operations/parked").json["results"]?.arrayValue ?? []
                #expect(!parked.contains { $0["kind"] == "refund" }, "\(parked)")
                let last = try await double.state()
                #expect(last.back == 1600)
                #expect(last.violations == [], "\(last.violations)")
            }
        }
    }

    struct Moment: Sendable, CustomTestStringConvertible {
        let api: String
        let how: String
        let path: String
        var testDescription: String { "\(api): \(how) at \(path)" }
    }

    static let moments = [
        Moment(api: "payment_intents", how: "slow_before", path: "/v1/payment_intents"),
        Moment(api: "payment_intents", how: "slow_after", path: "/v1/payment_intents"),
        Moment(api: "payment_intents", how: "slow_before", path: "/v1/payment_intents/\\w+/confirm"),
        Moment(api: "payment_intents", how: "slow_after", path: "/v1/payment_intents/\\w+/confirm"),
        Moment(api: "charges", how: "slow_before", path: "/v1/charges"),
        Moment(api: "charges", how: "slow_after", path: "/v1/charges"),
    ]

    /// The process is killed while Stripe delays its answer, before or after the charge.
    @Test(arguments: moments)
    func killsDuringAStripeCallChargeOnce(_ moment: Moment) async throws {
        try await StripeDouble.with { double in
            try await Suite.with(settings: double.settings(api: moment.api, timeoutSeconds: 20)) { suite in
                let customer = try await customerWithBag(suite)
                try await double.fail(moment.how, moment.path, seconds: 2)
                let parameters: JSON = [
                    "tokenId": "tok_once_visa_1", "idempotencyKey": "k", "shippingAddress": Customer.address,
                ]
                async let answer = customer.client.run("checkout", parameters)
                try await eventually("Stripe is asked") { try await double.state().json["faults"] == 0 }
                try await suite.kill("payments-1")
                var paid = try await answer
                // The gateway may time out before the checkout ends; a retry with the same key returns the outcome.
                try await eventually("the order is made", within: .seconds(60)) {
                    if paid.status != 200 { paid = try await customer.client.run("checkout", parameters) }
                    return paid.status == 200
                }
                #expect(paid.result["orderStatus"] == 1)
                let state = try await double.state()
                #expect(state.taken == 1)
                #expect(state.violations == [])
                let made = try await suite.rows("payments", "SELECT state, count(*) FROM charges GROUP BY state")
                #expect(made == [["succeeded", 1]])
            }
        }
    }

    @Test func aWrongKeyIsLoudAndTheOrderGoesOnWhenItIsPutRightInTime() async throws {
        try await StripeDouble.with { double in
            try await Suite.with(settings: double.settings()) { suite in
                let customer = try await customerWithBag(suite)
                try await double.fail("401", "/v1/payment_intents", times: 3)
                let paid = try await customer.client.run(
                    "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
                #expect(paid.status == 200)
                try await eventually("the log names the refusal") {
                    suite.logTails { $0.contains(" critical ") && $0.contains("Stripe refuses the form of a request") }
                        .contains("status 401")
                }
                #expect(try await double.state().taken == 1)
                noSecretIsLogged(suite)
            }
        }
    }

    @Test func aConfigurationThatCannotWorkStopsThePaymentsServiceAndSaysWhy() async throws {
        let output = try await Command.run([
            "bash", "-c",
            "d=$(mktemp -d) && SATCHEL_DATA=$d SATCHEL_PAYMENTS=stripe SATCHEL_STRIPE_SECRET_KEY=pk_live_abcdef "
                + "timeout 60 \(checkoutDirectory)/.build/release/payments; echo status=$?; rm -rf $d",
        ])
        #expect(output.contains("status=78"))
        #expect(output.contains("is not a secret key"))
        #expect(!output.contains("abcdef"))
    }
}
