import NIOHTTP1
import ParseProtocol

/// Our strict double of Stripe (`Tests/Peers/stripe_double.py`), and how a test tells it what to do.
package struct StripeDouble: Sendable {
    package let peer: Peer
    /// Never a real one; the tests look for it where it must not be.
    package static let secretKey = "sk_test_double5c1e9"
    package static let webhookSecret = "whsec_double77ab2"

    package var url: String { peer.url }

    package static func with(_ body: (StripeDouble) async throws -> Void) async throws {
        try await Peer.with("stripe_double.py", [secretKey]) { try await body(StripeDouble(peer: $0)) }
    }

    /// Settings of a suite that pays here.
    package func settings(api: String = "payment_intents", timeoutSeconds: Int = 5) -> [String: String] {
        [
            "SATCHEL_PAYMENTS": "stripe", "SATCHEL_STRIPE_URL": url, "SATCHEL_STRIPE_SECRET_KEY": Self.secretKey,
            "SATCHEL_STRIPE_WEBHOOK_SECRET": Self.webhookSecret, "SATCHEL_STRIPE_API": api,
            "SATCHEL_STRIPE_TIMEOUT_SECONDS": "\(timeoutSeconds)",
        ]
    }

    /// The next `times` requests to `path` (a regular expression) fail in the way `how`.
    package func fail(
        _ how: String, _ path: String = ".*", method: String = "POST", times: Int = 1, seconds: Double = 2
    ) async throws {
        _ = try await control(
            "fail",
            [
                "how": .string(how), "path": .string(path), "method": .string(method), "times": .int(Int64(times)),
                "seconds": .double(seconds),
            ])
    }

    /// No more failures.
    package func heal() async throws { _ = try await control("heal") }
    /// A day goes by: idempotency keys are forgotten.
    package func forgetKeys() async throws { _ = try await control("forget_keys") }

    /// Signs an event, with `url` sends it, and returns `body`, `header`, `status` and `answer`.
    package func event(_ order: JSON) async throws -> JSON {
        var order = order
        order["secret"] = order["secret"] ?? .string(Self.webhookSecret)
        return try await control("event", order)
    }

    package struct State: Sendable {
        package let json: JSON
        /// The number of charges that were made.
        package var taken: Int64 { json["taken"]?.intValue ?? -1 }
        /// The amount that was given back in all.
        package var back: Int64 { json["back"]?.intValue ?? -1 }
        package var refunds: Int64 { json["refunds"]?.intValue ?? -1 }
        /// Requests that Stripe would have refused for their form.
        package var violations: [JSON] { json["violations"]?.arrayValue ?? [.null] }
        package var intents: [JSON] { json["intents"]?.arrayValue ?? [] }
        package var customers: [JSON] { json["customers"]?.arrayValue ?? [] }
        package var requests: [JSON] { json["requests"]?.arrayValue ?? [] }
    }

    package func state() async throws -> State { State(json: try await control("state")) }

    private func control(_ what: String, _ order: JSON = [:]) async throws -> JSON {
        try JSON(parsing: try await peer.control(what, order))
    }
}

/// localstripe, which is not ours and knows less, with cards that it makes tokens of.
package struct LocalStripe: Sendable {
    package let peer: Peer
    package static let secretKey = "sk_test_local12345"

    package static func with(_ body: (LocalStripe) async throws -> Void) async throws {
        try await Peer.with("localstripe.py") { try await body(LocalStripe(peer: $0)) }
    }

    /// A one-time token, or with `asMethod` a payment method, of one of Stripe's test cards: made by the client, as
    /// apps do it.
    package func token(_ number: String, asMethod: Bool = false) async throws -> String {
        let card = "card[number]=\(number)&card[exp_month]=12&card[exp_year]=2031&card[cvc]=123"
        let answer = try await HTTPConnections.send(
            .POST, "\(peer.url)/v1/\(asMethod ? "payment_methods" : "tokens")",
            headers: [
                "Authorization": "Bearer \(Self.secretKey)", "Content-Type": "application/x-www-form-urlencoded",
            ],
            body: Array((asMethod ? "type=card&\(card)" : card).utf8))
        let json = try JSON(parsing: answer.bytes)
        guard let id = json["id"]?.stringValue else { throw NeverHappened("a token: \(json)") }
        return id
    }
}
