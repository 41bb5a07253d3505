import Foundation
import ProcessKit

/// The settings for Stripe or a compatible server.
package struct StripeConfiguration: Sendable {
    package enum API: String, Sendable {
        /// Payment intents in two steps: created without moving money, then confirmed. The default.
        case paymentIntents = "payment_intents"
        /// The older `/v1/charges`, for servers that support nothing else.
        case charges
    }

    /// `SATCHEL_STRIPE_URL`, without a trailing slash.
    package let url: String
    /// `SATCHEL_STRIPE_SECRET_KEY`. Never logged and never part of an error text.
    let secretKey: String
    /// `SATCHEL_STRIPE_WEBHOOK_SECRET`; nil refuses every webhook.
    let webhookSecret: String?
    /// `SATCHEL_STRIPE_API`
    package let api: API
    /// `SATCHEL_STRIPE_TIMEOUT_SECONDS`: for one request, from the call to the last byte of the answer.
    package let timeout: Duration

    /// A shorter timeout than Stripe's own wait for a bank is useless; a longer one serves customers who have already
    /// left.
    private static let timeouts = 1...120
    private static let webhookSecretBytesMin = 8

    /// - Throws: `StartupProblem`.
    package init(_ settings: Settings) throws(StartupProblem) {
        guard let key = settings["satchel.stripe.secret.key"] else {
            throw StartupProblem(
                "SATCHEL_PAYMENTS=stripe needs SATCHEL_STRIPE_SECRET_KEY, which starts with sk_ or rk_.")
        }
        try self.init(
            url: settings.text("satchel.stripe.url", default: "https://api.stripe.com"), secretKey: key,
            webhookSecret: settings["satchel.stripe.webhook.secret"],
            api: settings.text("satchel.stripe.api", default: API.paymentIntents.rawValue),
            timeoutSeconds: try settings.number("satchel.stripe.timeout.seconds", Self.timeouts, default: 30))
    }

    package init(
        url: String, secretKey: String, webhookSecret: String? = nil, api: String = API.paymentIntents.rawValue,
        timeoutSeconds: Int = 30
    ) throws(StartupProblem) {
        guard secretKey.hasPrefix("sk_") || secretKey.hasPrefix("rk_") else {
            throw StartupProblem(
                """
                SATCHEL_STRIPE_SECRET_KEY is not a secret key: it must start with sk_ or rk_, a publishable key \
                cannot charge.
                """
            )
        }
        guard secretKey.utf8.allSatisfy({ (33...126).contains($0) }) else {
            throw StartupProblem("SATCHEL_STRIPE_SECRET_KEY contains characters that no Stripe key has.")
        }
        guard let parts = URLComponents(string: url), let host = parts.host, !host.isEmpty, parts.query == nil,
            parts.user == nil, parts.scheme == "https" || parts.scheme == "http"
        else { throw StartupProblem("SATCHEL_STRIPE_URL=\(url) is not an http or https URL.") }
        guard parts.scheme == "https" || ["127.0.0.1", "localhost", "::1", "[::1]"].contains(host) else {
            throw StartupProblem(
                """
                SATCHEL_STRIPE_URL=\(url) would send the secret key in the clear; use https, or http to this host only.
                """
            )
        }
        if let webhookSecret, webhookSecret.utf8.count < Self.webhookSecretBytesMin {
            throw StartupProblem(
                """
                SATCHEL_STRIPE_WEBHOOK_SECRET is too short; copy the endpoint's secret (whsec_…) \
                from Stripe.
                """
            )
        }
        guard let api = API(rawValue: api) else {
            throw StartupProblem("SATCHEL_STRIPE_API is `\(api)`; it must be `payment_intents` or `charges`.")
        }
        guard Self.timeouts.contains(timeoutSeconds) else {
            throw StartupProblem("SATCHEL_STRIPE_TIMEOUT_SECONDS=\(timeoutSeconds) is not from 1 to 120.")
        }
        self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
        self.secretKey = secretKey
        self.webhookSecret = webhookSecret
        self.api = api
        timeout = .seconds(timeoutSeconds)
    }
}
