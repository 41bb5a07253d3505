import Outbound
import ParseProtocol
import PaymentsService
import Testing

/// Decisions about Stripe without contacting it: the meaning of answers and intent states, the signature of an event,
/// and refused configurations.
@Suite struct StripeAnswerTests {
    private func read(_ status: Int, _ body: String, headers: [String: String] = [:]) throws -> JSON {
        try StripeClient.read(
            OutboundResponse(status: status, headers: headers, body: Array(body.utf8)), object: "charge")
    }

    private func trouble(_ status: Int, _ body: String, headers: [String: String] = [:]) -> StripeTrouble? {
        do {
            _ = try read(status, body, headers: headers)
            return nil
        } catch {
            return error as? StripeTrouble
        }
    }

    @Test func onlyTheObjectThatWasAskedForIsAnAnswer() throws {
        #expect(try read(200, #"{"object":"charge","id":"ch_1"}"#)["id"] == "ch_1")
        for body in ["", "{", "null", "[]", #"{"object":"refund","id":"re_1"}"#, #"{"object":"charge"}"#, "<html>"] {
            #expect(trouble(200, body)?.reason == .unreadable(status: 200), "\(body)")
        }
    }

    @Test func aDeclineIsOneOnlyInStripesOwnWords() {
        let body = #"{"error":{"type":"card_error","code":"card_declined","decline_code":"lost_card","message":"No."}}"#
        #expect(
            throws: ProviderFailure(type: "card_error", code: "card_declined", declineCode: "lost_card", message: "No.")
        ) {
            try read(402, body)
        }
        #expect(trouble(402, "Payment Required")?.reason == .unreadable(status: 402))
        #expect(trouble(402, #"{"error":"no"}"#)?.reason == .unreadable(status: 402))
    }

    @Test func statusesThatPassAreNoFaults() {
        for status in [409, 429, 500, 502, 503, 504] {
            let found = trouble(status, "", headers: ["request-id": "req_7"])
            #expect(found?.reason == .later(status: status, isReplayed: false))
            #expect(found?.needsOperator == false)
            #expect(found?.description.contains("req_7") == true)
        }
        #expect(trouble(429, "", headers: ["retry-after": "7"])?.retryAfterSeconds == 7)
        #expect(
            trouble(500, "", headers: ["idempotent-replayed": "true"])?.reason == .later(status: 500, isReplayed: true))
    }

    @Test func aFaultIsForTheOperatorAndRepeatsNoSecret() {
        for status in [400, 401, 403, 404] {
            let found = trouble(
                status, #"{"error":{"type":"invalid_request_error","message":"Invalid API Key provided: sk_live_99"}}"#)
            #expect(found?.needsOperator == true)
            #expect(found?.description.contains("sk_live") == false)
            // A proxy's page does not count as Stripe's answer.
            #expect(trouble(status, "<html>")?.reason == .unreadable(status: status))
        }
        for status in [301, 302, 418] { #expect(trouble(status, "{}")?.reason == .unreadable(status: status)) }
    }

    private let order = ChargeOrder(source: .token("tok_visa"), amountMinorUnits: 500, currency: "usd", orderId: "o")

    private func intent(_ fields: [String: JSON], for other: ChargeOrder? = nil) throws -> StripeIntent {
        let standard: [String: JSON] = ["id": "pi_1", "amount": 500, "currency": "usd"]
        return try StripeIntent(.object(standard.merging(fields) { $1 }), for: other ?? order)
    }

    /// The client has the secret, with which it could pay the intent by another card.
    @Test func anIntentThatItsCustomerMayConfirmIsKeptOrCancelled() throws {
        let order = ChargeOrder(
            source: .token("tok_visa"), amountMinorUnits: 500, currency: "usd", orderId: "o", allowsAction: true)
        func decision(_ fields: [String: JSON]) throws -> StripeIntent.Decision {
            try intent(fields, for: order).decision
        }
        #expect(try decision(["status": "requires_action", "client_secret": "s"]) == .act("s"))
        #expect(try decision(["status": "requires_action"]) == .wait)
        #expect(try decision(["status": "requires_payment_method"]) == .wait)
        let declined: JSON = ["type": "card_error", "code": "expired_card", "message": "Expired."]
        #expect(
            try decision(["status": "requires_payment_method", "last_payment_error": declined])
                == .cancel(ProviderFailure(type: "card_error", code: "expired_card", message: "Expired.")))
    }

    @Test func anIntentsStateDecides() throws {
        let card: JSON = ["payment_method_details": ["card": ["brand": "amex", "last4": "8431"]]]
        #expect(
            try intent(["status": "succeeded", "latest_charge": card]).decision
                == .succeeded(ProviderCharge(id: "pi_1", brand: "American Express", lastFourDigits: "8431")))
        #expect(try intent(["status": "requires_confirmation"]).decision == .confirm)
        #expect(try intent(["status": "canceled"]).decision == .cancelled)
        for waiting in ["processing", "requires_capture", "requires_payment_method", "something new"] {
            #expect(try intent(["status": .string(waiting)]).decision == .wait)
        }
        let declined: JSON = ["type": "card_error", "code": "expired_card", "message": "Expired."]
        #expect(
            try intent(["status": "requires_payment_method", "last_payment_error": declined]).decision
                == .declined(ProviderFailure(type: "card_error", code: "expired_card", message: "Expired.")))
        guard case .cancel(let failure) = try intent(["status": "requires_action"]).decision else {
            Issue.record("An intent that waits for the customer must be cancelled.")
            return
        }
        #expect(failure.code == "authentication_required")
    }

    @Test func anIntentAboutAnotherAmountDecidesNothing() throws {
        let others: [[String: JSON]] = [
            ["amount": 501], ["amount": .null], ["currency": "eur"], ["currency": .null], ["amount": "500"],
        ]
        for fields in others {
            #expect(throws: StripeTrouble.self) { try intent(fields.merging(["status": "succeeded"]) { $1 }) }
        }
        #expect(try intent(["status": "canceled", "currency": "USD"]).decision == .cancelled)
    }

    @Test func formsAreEscapedAndInOrder() {
        var form: StripeForm = ["a[b]": "x&y=z ü", "c": ""]
        form.add("d", nil)
        #expect(form.encoded == "a%5Bb%5D=x%26y%3Dz%20%C3%BC&c=")
    }

    // MARK: - Signatures (made with Python's hmac module)

    private static let body = Array(#"{"id":"evt_1","object":"event"}"#.utf8)
    private static let signature = "0c8670ed117751cc551a20e35839447075c42800ea3cf3e8a2fbda99cd1e6edd"
    private static let otherSignature = "921476aa6febf6d11353fcee45246000c9edf7b3938ae2d09a2d6ea5cb98d9db"

    private func isValid(_ header: String, body: [UInt8] = body, seconds: Int64 = 1_700_000_000) -> Bool {
        StripeSignature(header)?.isValid(
            for: body, secret: "whsec_test_secret", at: Timestamp(milliseconds: seconds * 1000)) ?? false
    }

    @Test func aSignatureIsOfTheseBytesAndThisTime() {
        let header = "t=1700000000,v1=\(Self.signature)"
        #expect(isValid(header))
        #expect(isValid("t=1700000000, v0=00,v1=\(Self.otherSignature),v1=\(Self.signature.uppercased())"))
        #expect(isValid(header, seconds: 1_700_000_300))
        #expect(isValid(header, seconds: 1_699_999_700))
        #expect(!isValid(header, seconds: 1_700_000_301))
        #expect(!isValid(header, seconds: 1_699_999_699))
        #expect(!isValid(header, body: Self.body + [10]))
        #expect(!isValid("t=1700000001,v1=\(Self.signature)"))
        #expect(!isValid("t=1700000000,v1=\(Self.otherSignature)"))
    }

    @Test(
        arguments: [
            "", "t=1700000000", "v1=\(signature)", "t=,v1=\(signature)", "t=1700000000,v1=", "t=1700000000,v1=zz",
            "t=1700000000,v0=\(signature)", "t=-1,v1=\(signature)", "t=99999999999999999999,v1=\(signature)",
            "t=9223372036854775807,v1=\(signature)", "t=1700000000,t=1700000000,v1=\(signature)", "=,=,=",
            "t=1700000000,v1=\(signature)00",
            "t=1700000000,v1=" + String(repeating: "é", count: 32),
            "t=1700000000,v1=\(signature)," + String(repeating: "v1=\(signature),", count: 8),
        ])
    func aHeaderOfAnotherFormProvesNothing(_ header: String) {
        #expect(!isValid(header))
    }

    // MARK: - Configuration

    @Test func aConfigurationThatCannotWorkIsRefusedWithoutRepeatingTheKey() throws {
        _ = try StripeConfiguration(url: "https://api.stripe.com/", secretKey: "sk_live_1")
        #expect(try StripeConfiguration(url: "http://127.0.0.1:9/", secretKey: "rk_1").url == "http://127.0.0.1:9")
        func problem(
            url: String = "https://api.stripe.com", key: String = "sk_live_1", webhook: String? = nil,
            api: String = "charges", timeout: Int = 30
        ) -> String {
            do {
                _ = try StripeConfiguration(
                    url: url, secretKey: key, webhookSecret: webhook, api: api, timeoutSeconds: timeout)
                return ""
            } catch { return "\(error)" }
        }
        #expect(problem(key: "pk_live_secret").contains("publishable"))
        #expect(!problem(key: "pk_live_secret").contains("live_secret"))
        #expect(!problem(key: "sk_live_secret\n").contains("live_secret"))
        #expect(problem(key: "sk_live_1\r\nX: y").contains("characters"))
        for url in ["", "api.stripe.com", "ftp://x", "https://", "https://a@b", "https://x?y"] {
            #expect(problem(url: url).contains("not an http or https URL"), "\(url)")
        }
        #expect(problem(url: "http://api.stripe.com").contains("in the clear"))
        #expect(problem(url: "http://127.0.0.1.example.com").contains("in the clear"))
        #expect(problem(webhook: "short").contains("too short"))
        #expect(problem(api: "sources").contains("payment_intents or charges"))
        #expect(problem(timeout: 0).contains("1 to 120"))
    }
}
