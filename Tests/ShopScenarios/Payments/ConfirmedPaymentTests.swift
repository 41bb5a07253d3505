import ParseProtocol
import TestSupport
import Testing

/// Cards whose bank asks the customer to confirm the payment (3-D Secure): nothing is decided before, the bag and the
/// stock are held meanwhile, and however the answer arrives, the order is made once.
@Suite struct ConfirmedPaymentTests {
    static let asksBank = "tok_threeDSecure2Required"

    /// A customer with 2 pieces of one product, 7.00 in all, in the bag.
    private struct Shopper {
        let client: ParseClient
        let product: JSON
        let suite: Suite

        static func come(_ suite: Suite) async throws -> Shopper {
            let product = try await Shelf.fill(suite, names: ["Cream"], stock: 5).productIds[0]
            let client = try await Customer.signUp(suite).client
            let added = try await client.run("addToBag", ["productId": .string(product), "quantity": 2])
            try #require(added.status == 200, "\(added.text)")
            return Shopper(client: client, product: .string(product), suite: suite)
        }

        func pay(
            _ token: String = ConfirmedPaymentTests.asksBank, key: String = "a", confirms: Bool = true
        ) async throws -> ParseClient.Answer {
            var payment: JSON = [
                "tokenId": .string(token), "idempotencyKey": .string(key), "shippingAddress": Customer.address,
            ]
            if confirms { payment["allowsAction"] = true }
            return try await client.run("checkout", payment)
        }

        /// A payment that waits for its confirmation.
        /// - Returns: the client secret.
        func begin(
            _ token: String = ConfirmedPaymentTests.asksBank, key: String = "a"
        ) async throws -> JSON {
            let asked = try await pay(token, key: key)
            #expect(asked.result["status"] == "requiresAction", "\(asked.text)")
            #expect(asked.result["idempotencyKey"] == .string(key))
            return try #require(asked.result["clientSecret"])
        }

        func result(_ key: String = "a", giveUp: Bool = false) async throws -> ParseClient.Answer {
            var asked: JSON = ["idempotencyKey": .string(key)]
            if giveUp { asked["giveUp"] = true }
            return try await client.run("checkoutResult", asked)
        }

        /// What the sandbox's bank does.
        func act(_ secret: JSON, confirms: Bool) async throws -> ParseClient.Answer {
            try await client.run("sandboxAction", ["clientSecret": secret, "confirms": .bool(confirms)])
        }

        func orders() async throws -> Int { try await client.find("Order", ["orderStatus": 1]).results.count }

        func stock() async throws -> JSON? {
            try await ParseClient.master(suite).get("/classes/Product/\(product.stringValue ?? "")")["stock"]
        }

        /// Nothing was taken, the bag and the stock are as before, and another card pays.
        func paysAnew(_ key: String = "again") async throws {
            #expect(try await client.run("bag").result["badgeCount"] == 2)
            try await eventually("the stock is back") { try await stock() == 5 }
            let paid = try await pay("tok_visa", key: key)
            #expect(paid.status == 200, "\(paid.text)")
            #expect(paid.result["totalMinorUnits"] == 700)
            #expect(try await orders() == 1)
        }
    }

    // MARK: The sandbox

    @Test func aConfirmedPaymentMakesTheOrderOnce() async throws {
        let suite = try await Suite.shared
        let shopper = try await Shopper.come(suite)
        let secret = try await shopper.begin()
        #expect(try await shopper.stock() == 3)
        // Nothing changes meanwhile, and no other client learns anything.
        let changed = try await shopper.client.run("setBagQuantity", ["productId": shopper.product, "quantity": 3])
        #expect(changed.code == 142, "\(changed.text)")
        #expect(try await shopper.result().result["clientSecret"] == secret)
        let other = try await Customer.signUp(suite).client
        #expect(try await other.run("checkoutResult", ["idempotencyKey": "a"]).code == 101)
        let orderId = try await shopper.client.run("bag").result["orderId"]
        let listed = try await Customer.admin(suite).run("charges", ["state": "requiresAction"])
        #expect(listed.result.arrayValue?.contains { $0["orderId"] == orderId } == true, "\(listed.text)")
        #expect(!listed.text.contains("_secret_"))

        #expect(try await shopper.act("ch_1_secret_2", confirms: true).code == 101)
        #expect(try await shopper.act(secret, confirms: true).status == 200)
        #expect(try await shopper.act(secret, confirms: false).code == 101)
        let paid = try await shopper.result()
        #expect(paid.result["orderStatus"] == 1, "\(paid.text)")
        #expect(try await shopper.result().text == paid.text)
        #expect(try await shopper.pay().text == paid.text)
        #expect(try await shopper.orders() == 1)
        #expect(try await shopper.stock() == 3)
        let id = paid.result.text("orderId")
        let charges = try await suite.rows("payments", "SELECT state, amount FROM charges WHERE orderId = '\(id)'")
        #expect(charges == [["succeeded", 700]])
    }

    @Test(arguments: [
        (ConfirmedPaymentTests.asksBank, false, "payment_intent_authentication_failure"),
        ("tok_threeDSecureRequiredChargeDeclined", true, "card_declined"),
    ])
    func aPaymentThatTheBankRefusesLeavesTheBag(_ token: String, _ confirms: Bool, _ code: String) async throws {
        let shopper = try await Shopper.come(try await Suite.shared)
        let secret = try await shopper.begin(token)
        #expect(try await shopper.act(secret, confirms: confirms).status == 200)
        let refused = try await shopper.result()
        #expect(refused.code == 141, "\(refused.text)")
        #expect(refused.json.at("details", "code") == .string(code), "\(refused.text)")
        #expect(refused.json.at("details", "order", "shippingAddress", "city") == Customer.address["city"])
        #expect(try await shopper.pay(token).json.at("details", "code") == .string(code))
        try await shopper.paysAnew()
    }

    @Test func aDiscountCodeIsFreeAgainWhenTheBankRefuses() async throws {
        let suite = try await Suite.shared
        let shopper = try await Shopper.come(suite)
        let admin = try await Customer.admin(suite)
        let code = JSON.string("B-\(Names.random(10).uppercased())")
        let made = try await admin.run("createDiscountCode", ["discountCode": code, "percent": 10, "usesMax": 1])
        try #require(made.status == 200, "\(made.text)")
        _ = try await shopper.client.run("setDiscountCode", ["discountCode": code])
        func uses() async throws -> JSON? {
            try await admin.run("discountCodes", ["discountCode": code]).result.at("results", 0, "uses")
        }
        let secret = try await shopper.begin()
        #expect(try await uses() == 1)
        #expect(try await shopper.act(secret, confirms: false).status == 200)
        #expect(try await shopper.result().code == 141)
        #expect(try await uses() == 0)
        let paid = try await shopper.pay("tok_visa", key: "b")
        #expect(paid.result["totalMinorUnits"] == 630, "\(paid.text)")
    }

    /// The shopper sees the wrong card at the bank, goes back and pays by another one.
    @Test func aCorrectedAttemptReplacesTheOneThatWaits() async throws {
        let suite = try await Suite.shared
        let shopper = try await Shopper.come(suite)
        let first = try await shopper.begin(key: "a")
        // The same data in a second tab join it.
        #expect(try await shopper.begin(key: "b") == first)
        let paid = try await shopper.pay("tok_visa", key: "c")
        #expect(paid.result["orderStatus"] == 1, "\(paid.text)")
        #expect(try await shopper.act(first, confirms: true).code == 101)
        #expect(try await shopper.result("a").code == 141)
        #expect(try await shopper.orders() == 1)
        let id = paid.result.text("orderId")
        let charges = try await suite.rows(
            "payments", "SELECT amount FROM charges WHERE orderId = '\(id)' AND state = 'succeeded'")
        #expect(charges == [[700]])
    }

    /// Confirmed at the bank, and then paid by another card: the first payment counts.
    @Test func aConfirmedAttemptIsNotReplaced() async throws {
        let suite = try await Suite.shared
        let shopper = try await Shopper.come(suite)
        let first = try await shopper.begin(key: "a")
        #expect(try await shopper.act(first, confirms: true).status == 200)
        let paid = try await shopper.pay("tok_visa", key: "c")
        #expect(paid.result["orderStatus"] == 1, "\(paid.text)")
        #expect(try await shopper.result("a").text == paid.text)
        #expect(try await shopper.orders() == 1)
    }

    /// A guest logs in while the bank asks: the bag is in the account at once, and the payment has ended.
    @Test func aGuestWhoLogsInMeanwhileKeepsTheBag() async throws {
        let suite = try await Suite.shared
        let product = JSON.string(try await Shelf.fill(suite, names: ["Cream"], stock: 5).productIds[0])
        let customer = try await Customer.signUp(suite)
        let browser = Browser(suite)
        _ = try await browser.post("/bag", ["product": product.stringValue ?? ""])
        let checkout = try await browser.get("/checkout")
        var form = [
            "card": Self.asksBank, "attempt": try #require(checkout.field("attempt")), "email": "g@shop.example",
        ]
        for (name, value) in Customer.address.objectValue ?? [:] { form[name] = value.stringValue ?? "" }
        let asked = try #require(try await browser.post("/checkout", form).location)
        #expect(asked.hasPrefix("/checkout/return"), "\(asked)")
        let account = ["email": customer.email, "password": customer.password]
        try await eventually("the log-in") { try await browser.post("/log-in", account).location == "/account" }
        try await eventually("the bag is in the account") {
            try await customer.client.run("bag").result["badgeCount"] == 1
        }
        #expect(try await customer.client.find("Order", ["orderStatus": 1]).results.isEmpty)
        let again = try await browser.get(asked)
        #expect(again.status == 200 && !again.html.contains("js.stripe.com"), "\(again.html)")
    }

    @Test func aClientThatCannotShowTheBanksPageIsDeclined() async throws {
        let shopper = try await Shopper.come(try await Suite.shared)
        let refused = try await shopper.pay(confirms: false)
        #expect(refused.code == 141, "\(refused.text)")
        #expect(refused.json.at("details", "decline_code") == "authentication_required")
        let parameters: JSON = ["tokenId": "tok_visa", "shippingAddress": Customer.address, "allowsAction": true]
        #expect(try await shopper.client.run("checkout", parameters).code == 142)
        // It does not get another client's secret either.
        let secret = try await shopper.begin(key: "b")
        let joined = try await shopper.pay(key: "c", confirms: false)
        #expect(joined.code == 124, "\(joined.text)")
        #expect(!joined.text.contains("_secret_"))
        #expect(try await shopper.act(secret, confirms: true).status == 200)
        let paid = try await shopper.pay(key: "c", confirms: false)
        #expect(paid.status == 200, "\(paid.text)")
        #expect(try await shopper.result("b").text == paid.text)
    }

    @Test func aPaymentThatIsGivenUpLeavesTheBag() async throws {
        let suite = try await Suite.shared
        let shopper = try await Shopper.come(suite)
        let secret = try await shopper.begin()
        #expect(try await shopper.client.run("bag").result["waitingPayment"] == "a")
        let ended = try await shopper.result(giveUp: true)
        #expect(ended.json.at("details", "code") == "payment_given_up", "\(ended.text)")
        #expect(try await shopper.client.run("bag").result["waitingPayment"] == nil)
        #expect(try await shopper.act(secret, confirms: true).code == 101)
        #expect(try await shopper.result().text == ended.text)
        try await shopper.paysAnew()
    }

    @Test func theDeskCancelsAnUnconfirmedPayment() async throws {
        let suite = try await Suite.shared
        let shopper = try await Shopper.come(suite)
        let secret = try await shopper.begin()
        let orderId = try await shopper.client.run("bag").result["orderId"] ?? .null
        let freed = try await Customer.admin(suite).run("cancelOrder", ["orderId": orderId, "freeBag": true])
        #expect(freed.status == 200, "\(freed.text)")
        #expect(try await shopper.result().json.at("details", "code") == "payment_given_up")
        try await eventually("the charge is cancelled") {
            try await suite.rows("payments", "SELECT state FROM charges WHERE orderId = '\(orderId.stringValue ?? "")'")
                == [["abandoned"]]
        }
        #expect(try await shopper.act(secret, confirms: true).code == 101)
        try await shopper.paysAnew()
    }

    // MARK: Stripe

    private func withStripe(
        _ settings: [String: String] = [:], _ body: (StripeDouble, Suite) async throws -> Void
    ) async throws {
        try await StripeDouble.with { double in
            try await Suite.with(settings: double.settings().merging(settings) { $1 }) { suite in
                try await body(double, suite)
                #expect(try await double.state().violations == [])
                let lines = suite.logTails(lines: .max) { $0.contains("_secret_") }
                #expect(lines == "", "A client secret is in a log.")
            }
        }
    }

    private func event(_ type: String, _ double: StripeDouble, _ suite: Suite) async throws {
        let intent = try #require(try await double.state().intents.last?["id"])
        let sent = try await double.event(
            ["type": .string(type), "objectId": intent, "url": .string(suite.url + "/webhooks/stripe")])
        #expect(sent["status"] == 200, "\(sent)")
    }

    @Test func theReturnDecidesAndTheEventComesLater() async throws {
        try await withStripe { double, suite in
            let shopper = try await Shopper.come(suite)
            let secret = try await shopper.begin()
            // A second tab pays the same bag.
            #expect(try await shopper.begin(key: "b") == secret)
            try await double.authenticate("succeed")
            async let first = shopper.result("a")
            async let second = shopper.result("b")
            let (one, two) = try await (first, second)
            #expect(one.result["orderStatus"] == 1, "\(one.text)")
            #expect(one.text == two.text)
            try await event("payment_intent.succeeded", double, suite)
            #expect(try await suite.rows("payments", "SELECT effect FROM paymentEvents") == [["known"]])
            #expect(try await shopper.orders() == 1)
            #expect(try await double.state().taken == 1)
        }
    }

    @Test func theEventDecidesAndTheReturnComesLater() async throws {
        try await withStripe { double, suite in
            let shopper = try await Shopper.come(suite)
            _ = try await shopper.begin()
            // Stripe answers no question, so that only the event decides.
            try await double.fail("503", "/v1/payment_intents/\\w+", method: "GET", times: 100_000)
            try await double.authenticate("succeed")
            try await event("payment_intent.succeeded", double, suite)
            try await eventually("the order is made") { try await shopper.orders() == 1 }
            #expect(try await shopper.result().result["orderStatus"] == 1)
            #expect(try await suite.rows("payments", "SELECT effect FROM paymentEvents") == [["decided"]])
            #expect(try await double.state().taken == 1)
        }
    }

    @Test func aShopperWhoNeverReturnsGetsTheOrderThatWasPaid() async throws {
        try await withStripe { double, suite in
            let shopper = try await Shopper.come(suite)
            _ = try await shopper.begin()
            try await double.authenticate("succeed")
            try await eventually("the order is made") { try await shopper.orders() == 1 }
            #expect(try await double.state().taken == 1)
        }
    }

    @Test func afterAFailedConfirmationNobodyCanPayWithTheSecret() async throws {
        try await withStripe { double, suite in
            let shopper = try await Shopper.come(suite)
            for (token, outcome) in [
                (Self.asksBank, "fail"), ("tok_threeDSecureRequiredChargeDeclined", "succeed"),
            ] {
                _ = try await shopper.begin(token, key: token)
                try await double.authenticate(outcome)
                try await event("payment_intent.payment_failed", double, suite)
                let refused = try await shopper.result(token)
                #expect(refused.code == 141, "\(refused.text)")
                #expect(try await double.state().intents.last?["status"] == "canceled")
            }
            try await shopper.paysAnew()
            #expect(try await double.state().taken == 1)
        }
    }

    @Test func aPaymentThatIsNotConfirmedInTimeIsCancelled() async throws {
        try await withStripe(["SATCHEL_PAYMENT_UNDECIDED_SECONDS": "10"]) { double, suite in
            let shopper = try await Shopper.come(suite)
            _ = try await shopper.begin()
            try await eventually("the intent is cancelled") {
                try await double.state().intents.last?["status"] == "canceled"
            }
            try await eventually("the attempt has ended") { try await shopper.result().code == 141 }
            #expect(try await shopper.result().json.at("details", "code") == "payment_undecided")
            try await shopper.paysAnew()
            #expect(try await double.state().taken == 1)
        }
    }

    @Test(arguments: ["bag-1", "payments-1"], [true, false])
    func killsWhileTheBankAsksLoseNothing(_ replica: String, _ isConfirmedBefore: Bool) async throws {
        try await withStripe { double, suite in
            let shopper = try await Shopper.come(suite)
            _ = try await shopper.begin()
            if isConfirmedBefore { try await double.authenticate("succeed") }
            try await suite.kill(replica)
            if !isConfirmedBefore { try await double.authenticate("succeed") }
            var paid = try await shopper.result()
            try await eventually("the order is made", within: .seconds(60)) {
                if paid.result["orderStatus"] != 1 { paid = try await shopper.result() }
                return paid.result["orderStatus"] == 1
            }
            #expect(try await shopper.orders() == 1)
            #expect(try await double.state().taken == 1)
            let made = try await suite.rows("payments", "SELECT state, count(*) FROM charges GROUP BY state")
            #expect(made == [["succeeded", 1]])
        }
    }
}
