import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Hosted Parse's Stripe module with the shop's account, the default: unchanged code charges through the shop's
/// payments, the key in the code is never used, and each payment happens once.
@Suite struct HostedStripeTests {
    private static let settings = [
        "SATCHEL_CLOUD_REPLACES_FUNCTIONS": "true", "SATCHEL_IDEMPOTENCY_PATHS": "functions/*",
    ]

    private static let visa: JSON = ["chargeToken": "tok_visa"]

    private func once(
        _ client: ParseClient, _ function: String, _ parameters: JSON, id: String
    ) async throws -> ParseClient.Answer {
        try await client.send(
            .POST, "/functions/\(function)", headers: client.credentials + [("X-Parse-Request-Id", id)],
            body: parameters.serialized)
    }

    @Test(.timeLimit(.minutes(10))) func theShopsStripeIsAskedWithTheShopsKeyAlone() async throws {
        try await StripeDouble.with { double in
            let settings = double.settings().merging(Self.settings) { $1 }
            let suite = try await CloudSuite.start(HostedCodeTests.code, settings: settings)
            let ann = try await Customer.signUp(suite)
            let card: JSON = ["tokenId": "tok_visa", "customerEmail": .string(ann.email)]
            let customer = try await ann.client.run("createStripeCustomer", card)
            #expect(customer.result.stringValue?.hasPrefix("cus_") == true, "\(customer.text)")

            let id = Names.random(20)
            let paid = try await once(ann.client, "ChargeToken", Self.visa, id: id)
            let charge = try #require(paid.result.stringValue, "\(paid.text)")
            #expect(try await once(ann.client, "ChargeToken", Self.visa, id: id).code == 159)
            let back = try await ann.client.run("giveBack", ["charge": .string(charge)])
            #expect(back.result == 100, "\(back.text)")
            let declined = try await ann.client.run("ChargeToken", ["chargeToken": "tok_chargeDeclined"])
            #expect(declined.code == 141)
            #expect(declined["error"] == "402 card_error: Your card was declined.")

            // The double accepts only the shop's key, and records requests with other keys.
            let state = try await double.state()
            #expect(state.violations == [])
            #expect(state.json["amounts"] == [350])
            #expect(state.back == 100)
            let ofCode = state.requests.filter { $0["agent"] == "Satchel cloud code" }
            let keys = ofCode.compactMap { $0["key"]?.stringValue }
            #expect(ofCode.count == 4)
            #expect(Set(keys).count == 4)
            #expect(keys.allSatisfy { $0.hasPrefix("code:") })
            try await isSeenByOperatorsAlone(charge, suite)
            await suite.stop()
        }
    }

    /// The log contains the charge and the refund, but no keys or tokens.
    private func isSeenByOperatorsAlone(_ charge: String, _ suite: Suite) async throws {
        for route in ["/v1/charges", "/v1/charges/*/refund"] {
            let told = "stripe.object=\(charge) stripe.request=POST \(route) stripe.status=200"
            try await eventually("the log has POST \(route)") { !suite.logTails { $0.contains(told) }.isEmpty }
        }
        for secret in [StripeDouble.secretKey, HostedCodeTests.stripeKey, "tok_"] {
            #expect(suite.logTails(lines: .max) { $0.contains(secret) } == "", "\(secret) is in a log.")
        }
    }

    @Test(.timeLimit(.minutes(10))) func theSandboxHasWhatTheCodeCharges() async throws {
        let suite = try await CloudSuite.start(HostedCodeTests.code, settings: Self.settings)
        let ann = try await Customer.signUp(suite)
        let card: JSON = ["tokenId": "tok_visa", "customerEmail": .string(ann.email)]
        let customer = try await ann.client.run("createStripeCustomer", card)
        #expect(customer.result.stringValue?.hasPrefix("cus_") == true, "\(customer.text)")

        let id = Names.random(20)
        let paid = try await once(ann.client, "ChargeToken", Self.visa, id: id)
        let charge = try #require(paid.result.stringValue, "\(paid.text)")
        #expect(try await once(ann.client, "ChargeToken", Self.visa, id: id).code == 159)
        let rows = try await suite.rows("payments", "SELECT chargeId, amount, currency FROM sandboxCharges")
        #expect(rows == [[.string(charge), 350, "usd"]])
        #expect(try await ann.client.run("giveBack", ["charge": .string(charge)]).result == 100)
        let declined = try await ann.client.run("ChargeToken", ["chargeToken": "tok_chargeDeclined"])
        #expect(declined["error"] == "402 card_error: Your card was declined.")
        let gold = try await ann.client.run("gold")
        #expect(gold.code == 141)
        #expect(gold["error"] == "The sandbox does not have POST /v1/plans.")
        try await isForTheMasterKeyAlone(ann, charge, suite)
        await suite.stop()
    }

    private func isForTheMasterKeyAlone(_ ann: Customer, _ charge: String, _ suite: Suite) async throws {
        let look: JSON = ["method": "GET", "path": ["charges", .string(charge)]]
        for client in [ParseClient(suite), ann.client, try await Customer.admin(suite)] {
            #expect(try await client.run("stripeRequest", look).code == 119)
        }
        let shown = try await ParseClient.master(suite).run("stripeRequest", look)
        #expect(shown.result["status"] == 200, "\(shown.text)")
        #expect(shown.result["body"]?["amount_refunded"] == 100)
        let other = try await ParseClient.master(suite).run("stripeRequest", ["method": "GET", "path": ["balance"]])
        #expect(other.code == 142)
    }
}
