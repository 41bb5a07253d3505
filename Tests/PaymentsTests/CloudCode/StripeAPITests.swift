import Logging
import Outbound
import ParseProtocol
import PaymentsService
import TestSupport
import Testing

/// Stripe requests of cloud code against a strict double of Stripe: they use the shop's key, and each runs once per
/// idempotency key.
@Suite struct StripeAPITests {
    private func client(
        _ double: StripeDouble, key: String = StripeDouble.secretKey, timeoutSeconds: Int = 30
    ) throws -> StripeClient {
        let configuration = try StripeConfiguration(url: double.url, secretKey: key, timeoutSeconds: timeoutSeconds)
        return StripeClient(configuration, outbound: OutboundClient(), logger: Logger(label: "test"))
    }

    private func charge(_ token: String = "tok_visa") throws -> StripeRequest {
        try StripeRequest([
            "method": "POST", "path": ["charges"],
            "form": [["amount", "350"], ["currency", "usd"], ["source", .string(token)]],
        ])
    }

    @Test func aRepetitionOfARequestTakesTheMoneyOnce() async throws {
        try await StripeDouble.with { double in
            let client = try client(double)
            let first = await client.answer(try charge(), key: "code:1")
            #expect(first.status == 200)
            #expect(first.body["amount"] == 350)
            #expect(await client.answer(try charge(), key: "code:1") == first)
            #expect(try await double.state().taken == 1)
            // The code itself repeats the request: that is another charge.
            let second = await client.answer(try charge(), key: "code:2")
            #expect(second.body["id"] != first.body["id"])
            let state = try await double.state()
            #expect(state.taken == 2)
            #expect(state.violations == [])
        }
    }

    @Test func aLostAnswerIsAnErrorAndUnderTheSameKeyTheFirstCharge() async throws {
        try await StripeDouble.with { double in
            let client = try client(double, timeoutSeconds: 1)
            try await double.fail("slow_after", "/v1/charges", seconds: 1.5)
            let lost = await client.answer(try charge(), key: "code:1")
            #expect(lost.status == 502)
            #expect(lost.body["error"]?["type"] == "api_connection_error")
            // For half a second, the first request may still be in progress there.
            try await eventually("it is answered") { await client.answer(try charge(), key: "code:1").status == 200 }
            #expect(try await double.state().taken == 1)
        }
    }

    @Test func aDeclineIsToldInStripesWords() async throws {
        try await StripeDouble.with { double in
            let answer = try await client(double).answer(try charge("tok_chargeDeclined"), key: "code:1")
            #expect(answer.status == 402)
            #expect(answer.body["error"]?["code"] == "card_declined")
            #expect(answer.body["error"]?["decline_code"] == "generic_decline")
            #expect(answer.body["error"]?["message"] == "Your card was declined.")
        }
    }

    @Test func aChargeIsShownListedAndGivenBack() async throws {
        try await StripeDouble.with { double in
            let client = try client(double)
            let made = await client.answer(try charge(), key: "code:1").body
            let id = made["id"] ?? .null
            let look = try StripeRequest(["method": "GET", "path": ["charges", id]])
            #expect(await client.answer(look, key: "code:2").body == made)
            let list = try StripeRequest(["method": "GET", "path": ["charges"], "form": [["limit", "1"]]])
            #expect(await client.answer(list, key: "code:3").body["data"] == [made])
            let refund = try StripeRequest(
                ["method": "POST", "path": ["charges", id, "refund"], "form": [["amount", "100"]]])
            for _ in 0..<2 {
                #expect(await client.answer(refund, key: "code:4").body["amount_refunded"] == 100)
            }
            let state = try await double.state()
            #expect(state.back == 100)
            #expect(state.violations == [])
        }
    }

    @Test func aKeyThatStripeRefusesIsNotRepeated() async throws {
        try await StripeDouble.with { double in
            let answer = try await client(double, key: "sk_test_other").answer(try charge(), key: "code:1")
            #expect(answer.status == 401)
            #expect(!answer.body.serializedText.contains("sk_"))
            #expect(try await double.state().taken == 0)
        }
    }
}
