/// Stripe's documented test tokens (https://docs.stripe.com/testing) and their outcomes.
package struct SandboxCard: Sendable, Hashable {
    package let brand: String
    package let lastFourDigits: String
    /// The failure of every charge.
    package var decline: ProviderFailure?
    /// Declined when it is attached to a customer, as at Stripe.
    package var isDeclinedOnAttach = false
    /// Every charge must be confirmed with the bank; `decline` then applies after the confirmation.
    package var asksBank = false

    /// The card of a token such as `tok_visa`, or of Stripe's newer name for it, `pm_card_visa`.
    package init?(token: String) {
        let name: Substring
        if token.hasPrefix("tok_") {
            name = token.dropFirst(4)
        } else if token.hasPrefix("pm_card_") {
            name = token.dropFirst(8)
        } else {
            return nil
        }
        // Stripe names the same card tok_chargeDeclined and, since 2023, tok_visa_chargeDeclined.
        let short = name.hasPrefix("visa_chargeDeclined") ? name.dropFirst(5) : name
        guard let card = Self.cards[String(short)] else { return nil }
        self = card
    }

    private init(_ brand: String, _ lastFourDigits: String, asksBank: Bool = false) {
        self.brand = brand
        self.lastFourDigits = lastFourDigits
        self.asksBank = asksBank
    }

    private init(
        declined code: String, _ declineCode: String, _ message: String, _ lastFourDigits: String,
        attaches: Bool = false, asksBank: Bool = false
    ) {
        self.init("Visa", lastFourDigits, asksBank: asksBank)
        decline = ProviderFailure(type: "card_error", code: code, declineCode: declineCode, message: message)
        isDeclinedOnAttach = !attaches
    }

    private static let declined = "Your card was declined."

    private static let cards: [String: SandboxCard] = [
        "visa": SandboxCard("Visa", "4242"),
        "visa_debit": SandboxCard("Visa", "5556"),
        "mastercard": SandboxCard("MasterCard", "4444"),
        "mastercard_debit": SandboxCard("MasterCard", "3222"),
        "mastercard_prepaid": SandboxCard("MasterCard", "5100"),
        "amex": SandboxCard("American Express", "8431"),
        "discover": SandboxCard("Discover", "1117"),
        "diners": SandboxCard("Diners Club", "0004"),
        "jcb": SandboxCard("JCB", "0505"),
        "unionpay": SandboxCard("UnionPay", "0005"),
        "chargeDeclined": SandboxCard(declined: "card_declined", "generic_decline", declined, "0002"),
        "chargeDeclinedInsufficientFunds": SandboxCard(
            declined: "card_declined", "insufficient_funds", "Your card has insufficient funds.", "9995"),
        "chargeDeclinedLostCard": SandboxCard(declined: "card_declined", "lost_card", declined, "9987"),
        "chargeDeclinedStolenCard": SandboxCard(declined: "card_declined", "stolen_card", declined, "9979"),
        "chargeDeclinedFraudulent": SandboxCard(declined: "card_declined", "fraudulent", declined, "0019"),
        "chargeDeclinedExpiredCard": SandboxCard(
            declined: "expired_card", "expired_card", "Your card has expired.", "0069"),
        "chargeDeclinedIncorrectCvc": SandboxCard(
            declined: "incorrect_cvc", "incorrect_cvc", "Your card's security code is incorrect.", "0127"),
        "chargeDeclinedProcessingError": SandboxCard(
            declined: "processing_error", "processing_error",
            "An error occurred while processing your card. Try again in a little bit.", "0119"),
        "chargeCustomerFail": SandboxCard(
            declined: "card_declined", "generic_decline", declined, "0341", attaches: true),
        "threeDSecure2Required": SandboxCard("Visa", "3220", asksBank: true),
        "authenticationRequiredOnSetup": SandboxCard("Visa", "3155", asksBank: true),
        "threeDSecureRequiredChargeDeclined": SandboxCard(
            declined: "card_declined", "generic_decline", declined, "1629", attaches: true, asksBank: true),
    ]
}

extension ProviderFailure {
    static func noSuch(_ kind: String, _ id: String) -> ProviderFailure {
        ProviderFailure(
            type: "invalid_request_error", code: "resource_missing", message: "No such \(kind): '\(id.prefix(100))'")
    }

    /// Stripe's answer to a key that was used for another request.
    static let keyReused = ProviderFailure(
        type: "idempotency_error", code: "idempotency_key_in_use",
        message: "Keys for idempotent requests can only be used with the same parameters they were first used with.")

    /// Stripe's answer to a refund of more than is left.
    static let alreadyRefunded = ProviderFailure(
        type: "invalid_request_error", code: "charge_already_refunded", message: "The charge was already refunded.")

    /// The answer to a charge that was abandoned before it was started.
    static let abandoned = ProviderFailure(
        type: "invalid_request_error", code: "payment_intent_unexpected_state",
        message: "The payment was given up before it was made.")
}
