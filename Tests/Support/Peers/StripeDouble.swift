import NIOHTTP1
import ParseProtocol

/// Satchel's strict Stripe double (`Tests/Peers/servers/stripe_double.py`), and the commands by which a test controls
/// it.
package struct StripeDouble: Sendable {
    package let peer: Peer
    /// A fake key. Tests check that it does not leak.
    package static let secretKey = "sk_test_double5c1e9"
    package static let webhookSecret = "whsec_double77ab2"

    package var url: String { peer.url }

    package static func with(_ body: (StripeDouble) async throws -> Void) async throws {
        try await Peer.with("stripe_double.py", [secretKey]) { try await body(StripeDouble(peer: $0)) }
    }

    /// The settings of a suite that pays with this double.
    package func settings(api: String = "payment_intents", timeoutSeconds: Int = 5) -> [String: String] {
        [
            "SATCHEL_PAYMENTS": "stripe", "SATCHEL_STRIPE_URL": url, "SATCHEL_STRIPE_SECRET_KEY": Self.secretKey,
            "SATCHEL_STRIPE_WEBHOOK_SECRET": Self.webhookSecret, "SATCHEL_STRIPE_API": api,
            "SATCHEL_STRIPE_TIMEOUT_SECONDS": "\(timeoutSeconds)",
        ]
    }

    /// Makes the next `times` requests to `path` (a regular expression) fail in the mode `how`.
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

    /// Ends all injected failures.
    package func heal() async throws { _ = try await control("heal") }
    /// Simulates the passing of a day: the double forgets idempotency keys.
    package func forgetKeys() async throws { _ = try await control("forget_keys") }

    /// Changes the intents of `tok_processing` to `succeeded` or `canceled`.
    package func settle(_ status: String) async throws { _ = try await control("settle", ["status": .string(status)]) }

    /// What the bank says about the intents that their customers have to confirm: `succeed` or `fail`.
    package func authenticate(_ outcome: String) async throws {
        _ = try await control("authenticate", ["outcome": .string(outcome)])
    }

    /// Changes a charge. An empty id makes one, null removes it.
    package func change(_ chargeId: JSON, _ changes: JSON) async throws {
        _ = try await control("charge", ["id": chargeId, "changes": changes])
    }

    /// The bank does not take the newest refund. Returns its id.
    package func failRefund(_ reason: String) async throws -> JSON {
        let state = try await control("fail_refund", ["reason": .string(reason)])
        return state["refundIds"]?.arrayValue?.last ?? .null
    }

    /// The longest page of a list.
    package func limitPages(to max: Int64) async throws { _ = try await control("page", ["max": .int(max)]) }

    /// Signs an event and, with `url`, sends it. Returns `body`, `header`, `status` and `answer`.
    package func event(_ order: JSON) async throws -> JSON {
        var order = order
        order["secret"] = order["secret"] ?? .string(Self.webhookSecret)
        return try await control("event", order)
    }

    package struct State: Sendable {
        package let json: JSON
        /// The number of charges.
        package var taken: Int64 { json["taken"]?.intValue ?? -1 }
        /// The total amount refunded.
        package var back: Int64 { json["back"]?.intValue ?? -1 }
        package var refunds: Int64 { json["refunds"]?.intValue ?? -1 }
        /// Requests whose form real Stripe would have refused.
        package var violations: [JSON] { json["violations"]?.arrayValue ?? [.null] }
        package var intents: [JSON] { json["intents"]?.arrayValue ?? [] }
        /// In the order in which they were made.
        package var chargeIds: [JSON] { json["chargeIds"]?.arrayValue ?? [] }
        package var customers: [JSON] { json["customers"]?.arrayValue ?? [] }
        package var requests: [JSON] { json["requests"]?.arrayValue ?? [] }
    }

    package func state() async throws -> State { State(json: try await control("state")) }

    private func control(_ what: String, _ order: JSON = [:]) async throws -> JSON {
        try JSON(parsing: try await peer.control(what, order))
    }
}

/// localstripe: a third-party double with fewer features. It creates tokens from card numbers.
package struct LocalStripe: Sendable {
    package let peer: Peer
    package static let secretKey = "sk_test_local12345"

    package static func with(_ body: (LocalStripe) async throws -> Void) async throws {
        try await Peer.with("localstripe.py") { try await body(LocalStripe(peer: $0)) }
    }

    /// A one-time token of one of Stripe's test cards, or a payment method if `asMethod`. Created by the client, as
    /// apps do.
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
