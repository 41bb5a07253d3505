import Outbound
import ParseProtocol
import PaymentsService
import ServiceSupport
import Testing

/// Which requests of cloud code reach Stripe's API, and which part of an answer the code receives. Decided without
/// Stripe.
@Suite struct StripeRequestTests {
    private func request(_ method: String, _ path: [String], _ form: JSON? = nil) throws -> StripeRequest {
        var parameters: JSON = ["method": .string(method), "path": .array(path.map(JSON.string))]
        parameters["form"] = form
        return try StripeRequest(parameters)
    }

    @Test(
        arguments: [
            ("POST", ["charges"], "charges", "/v1/charges"),
            ("POST", ["charges", "ch_1", "refund"], "charges/*/refund", "/v1/charges/ch_1/refund"),
            (
                "DELETE", ["customers", "cus_1", "subscription"], "customers/*/subscription",
                "/v1/customers/cus_1/subscription"
            ),
            ("GET", ["coupons", "25 off?a#b"], "coupons/*", "/v1/coupons/25%20off%3Fa%23b"),
            ("GET", ["plans", "*"], "plans/*", "/v1/plans/%2A"),
        ] as [(String, [String], String, String)])
    func whatTheModuleHasMethodsForIsARequest(
        _ method: String, _ path: [String], _ route: String, _ escaped: String
    ) throws {
        let request = try request(method, path, [["card[name]", "Ann & Bob"], ["amount", "350"]])
        #expect(request.method.rawValue == method)
        #expect(request.route == route)
        #expect(request.escapedPath == escaped)
        #expect(request.form.encoded == "card%5Bname%5D=Ann%20%26%20Bob&amount=350")
    }

    @Test(
        arguments: [
            ("GET", []), ("GET", [""]), ("GET", ["balance"]), ("POST", ["payouts"]), ("POST", ["payment_intents"]),
            ("GET", ["*"]), ("GET", ["charges/*"]), ("DELETE", ["charges", "ch_1"]), ("POST", ["events"]),
            ("PUT", ["charges"]), ("get", ["charges"]), ("GET", ["charges?limit=1"]), ("GET", ["charges", ""]),
            ("GET", ["charges", "."]), ("GET", ["charges", ".."]), ("GET", ["charges", "../balance"]),
            ("GET", ["charges", "a/\u{301}balance"]),
            ("GET", ["charges", "a\\..\\balance"]), ("GET", ["charges", "%2e%2e"]), ("GET", ["charges", "a\u{0}"]),
            ("GET", ["charges", "a\r\nb"]), ("GET", ["charges", String(repeating: "x", count: 256)]),
            ("POST", ["charges", "ch_1", "capture"]), ("POST", ["customers", "cus_1", "subscription", "x"]),
        ] as [(String, [String])])
    func nothingElseOfStripesIsReached(_ method: String, _ path: [String]) async {
        #expect(await parseError { _ = try request(method, path) }?.code == .validationError)
    }

    @Test(
        arguments: [
            ["amount": 350], "amount=350", [["amount", 350]], [["amount"]], [["", "350"]], [["a", "b", "c"]],
            ["amount"],
            .array(Array(repeating: ["a", "b"], count: 501)),
            [["a", .string(String(repeating: "x", count: 64 * 1024))]],
        ] as [JSON])
    func aFormThatIsNoneOrTooLargeIsRefused(_ form: JSON) async {
        #expect(await parseError { _ = try request("POST", ["charges"], form) }?.code == .validationError)
    }

    @Test func aCardsNumberIsRefusedAndNotRepeated() async {
        let error = await parseError {
            _ = try request("POST", ["tokens"], [["card[number]", "4242 4242 4242 4242"]])
        }
        #expect(error?.code == .validationError)
        #expect(error?.message.contains("token") == true)
        #expect(error?.message.contains("4242") == false)
    }

    // MARK: - Answers

    private func answer(_ status: Int, _ body: String) -> StripeAnswer {
        StripeAnswer(OutboundResponse(status: status, body: Array(body.utf8)))
    }

    @Test func anAnswerIsHandedOnAsItIs() {
        #expect(answer(200, #"{"id":"ch_1","amount":350}"#).body == ["id": "ch_1", "amount": 350])
        let declined = answer(402, #"{"error":{"type":"card_error","code":"card_declined","message":"No."}}"#)
        #expect(declined.status == 402)
        #expect(declined.body == ["error": ["type": "card_error", "code": "card_declined", "message": "No."]])
    }

    @Test(arguments: [(200, 502), (302, 502), (404, 404), (503, 503)])
    func aPageThatIsNotStripesIsAnErrorInItsForm(_ status: Int, _ told: Int) {
        for body in ["<html>", "[]", "null", ""] {
            let answer = answer(status, body)
            #expect(answer.status == told, "\(body)")
            #expect(answer.body["error"]?["type"] == "api_error", "\(body)")
        }
    }

    @Test(arguments: [401, 403]) func nothingOfTheShopsKeyIsTold(_ status: Int) {
        let body = #"{"error":{"type":"invalid_request_error","message":"Invalid API Key provided: sk_live_****1e9"}}"#
        let answer = answer(status, body)
        #expect(answer.status == status)
        #expect(answer.body["error"]?["type"] == "invalid_request_error")
        #expect(!answer.body.serializedText.contains("sk_live"))
    }
}
