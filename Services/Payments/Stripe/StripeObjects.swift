import ParseProtocol

/// The used parts of a payment intent (https://docs.stripe.com/api/payment_intents/object).
package struct StripeIntent: Sendable {
    package let id: String
    package let status: String
    private let lastError: ProviderFailure?
    private let charge: ProviderCharge
    private let allowsAction: Bool
    private let clientSecret: String?

    /// The meaning of an intent's status for the charge.
    package enum Decision: Sendable, Equatable {
        case succeeded(ProviderCharge)
        case declined(ProviderFailure)
        /// It can be confirmed; nothing was charged.
        case confirm
        /// The intent must be cancelled, and then the charge is declined: the bank requires authentication, which the
        /// client cannot show, or the client knows the secret, with which it could pay by another card.
        case cancel(ProviderFailure)
        /// The customer has to authenticate; with the client secret.
        case act(String)
        /// It can never charge the customer.
        case cancelled
        /// Undecided.
        case wait
    }

    /// - Throws: `StripeTrouble` when it is not an intent about this order's amount.
    package init(_ json: JSON, for order: ChargeOrder) throws {
        guard let id = json["id"]?.stringValue, let status = json["status"]?.stringValue else {
            throw StripeTrouble(.unreadable(status: 200))
        }
        try StripeObject.compare(json, amount: order.amountMinorUnits, currency: order.currency)
        self.id = id
        self.status = status
        lastError = StripeError(status: 402, body: ["error": json["last_payment_error"] ?? .null])?.failure
        charge = ProviderCharge(id: id, card: json["latest_charge"]?["payment_method_details"]?["card"])
        allowsAction = order.allowsAction
        clientSecret = json["client_secret"]?.stringValue
    }

    package var decision: Decision {
        switch status {
        case "succeeded": .succeeded(charge)
        case "requires_confirmation": .confirm
        case "requires_payment_method":
            lastError.map { allowsAction ? Decision.cancel($0) : Decision.declined($0) } ?? .wait
        case "requires_action":
            allowsAction ? (clientSecret.map(Decision.act) ?? .wait) : .cancel(.authenticationRequired)
        case "canceled": .cancelled
        default: .wait
        }
    }
}

enum StripeObject {
    /// - Throws: `StripeTrouble` unless amount and currency match the request.
    /// - Parameter amount: in minor units.
    static func compare(_ json: JSON, amount: Int64, currency: String) throws {
        let wanted = try StripeAmount(minorUnits: amount, currency: currency)
        guard json["amount"]?.intValue == wanted.amount,
            json["currency"]?.stringValue?.lowercased() == currency.lowercased()
        else {
            let found =
                "\(json["amount"]?.intValue.map(String.init) ?? "no amount") \(json["currency"]?.stringValue ?? "")"
            throw StripeTrouble(.mismatch("\(amount) \(currency) was asked for, the answer has \(found.prefix(50))"))
        }
    }

    /// Brand names in the older API's spelling, by the newer API's names.
    private static let brands = [
        "visa": "Visa", "mastercard": "MasterCard", "amex": "American Express", "discover": "Discover",
        "diners": "Diners Club", "jcb": "JCB", "unionpay": "UnionPay",
    ]

    static func brand(_ name: String) -> String { brands[name] ?? String(name.prefix(40)) }

    /// At most four digits, whatever the input is.
    static func lastFour(_ json: JSON?) -> String { String((json?.stringValue ?? "").suffix(4)) }
}

extension ProviderCharge {
    init(id: String, card: JSON?) {
        self.init(
            id: id, brand: StripeObject.brand(card?["brand"]?.stringValue ?? ""),
            lastFourDigits: StripeObject.lastFour(card?["last4"]))
    }
}

extension ProviderCustomer {
    /// A customer with the card expanded: a `card` made from a token, or a payment method.
    /// - Throws: `StripeTrouble` when the answer contains no card.
    init(_ json: JSON) throws {
        let source = json["default_source"]
        let card = source?["last4"] != nil ? source : json["invoice_settings"]?["default_payment_method"]?["card"]
        guard let id = json["id"]?.stringValue, let card, let month = card["exp_month"]?.intValue,
            (1...12).contains(month),
            let year = card["exp_year"]?.intValue, (2000...2999).contains(year)
        else { throw StripeTrouble(.unreadable(status: 200)) }
        self.init(
            id: id,
            card: Card(
                brand: StripeObject.brand(card["brand"]?.stringValue ?? ""),
                lastFourDigits: StripeObject.lastFour(card["last4"]), expirationMonth: Int(month),
                expirationYear: Int(year)))
    }
}

extension ProviderFailure {
    /// The states of a refund that gave nothing back, at once or later.
    static let refundFailures: Set<String> = ["failed", "canceled"]

    /// - Parameters:
    ///   - status: one of `refundFailures`.
    ///   - reason: Stripe's `failure_reason`; may be empty.
    init(refund status: String, reason: String) {
        let text = "The card's bank did not take the refund"
        self.init(
            type: "invalid_request_error", code: "refund_\(status)",
            message: reason.isEmpty ? "\(text)." : "\(text): \(reason.prefix(100)).")
    }

    /// Apps written for hosted Parse cannot show the bank's page, so a card that needs it is declined.
    static let authenticationRequired = ProviderFailure(
        type: "card_error", code: "authentication_required", declineCode: "authentication_required",
        message: "Your bank asks for a confirmation that this shop cannot show. Please use another card.")

    /// In the sandbox; Stripe has the same code.
    static let authenticationFailed = ProviderFailure(
        type: "card_error", code: "payment_intent_authentication_failure",
        message: "Your bank did not confirm the payment. Please try again or use another card.")
}
