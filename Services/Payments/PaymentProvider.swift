import ParseProtocol

/// The provider that holds the cards and moves the money. Everything is idempotent by `key`: the same key always has
/// the same outcome.
///
/// Every method throws `ProviderFailure` for a decision (which stands, also when asked again) and anything else when
/// nothing is known about the outcome; then the same key must be asked again.
package protocol PaymentProvider: Sendable {
    /// Turns a one-time token into a customer with that card.
    func createCustomer(token: String, email: String?, key: String) async throws -> ProviderCustomer
    /// Forgets a customer and the card. Succeeds for one that is gone already.
    func deleteCustomer(_ id: String) async throws
    /// Takes money.
    func charge(_ order: ChargeOrder, key: String) async throws -> ProviderCharge
    /// Looks for a charge without making one. Nil: it was not made and never will be, not even by a request that is
    /// still on its way.
    func findCharge(_ order: ChargeOrder, key: String) async throws -> ProviderCharge?
    /// Gives money back.
    func refund(_ order: RefundOrder, key: String) async throws -> ProviderRefund
}

/// The part of a card that may be kept and shown (PCI DSS 3.4: at most the first six and last four digits).
package struct Card: Sendable, Hashable {
    /// As Stripe writes it: `Visa`, `American Express`.
    package let brand: String
    package let lastFourDigits: String
    /// 1 to 12.
    package let expirationMonth: Int
    /// Four digits.
    package let expirationYear: Int
}

package struct ProviderCustomer: Sendable, Hashable {
    /// `cus_…`
    package let id: String
    package let card: Card
}

/// An order to the provider to charge: what is to be paid, and with what.
package struct ChargeOrder: Sendable, Hashable {
    package enum Source: Sendable, Hashable {
        case customer(String)
        case token(String)
    }

    package let source: Source
    /// 1 to 99999999.
    package let amountMinorUnits: Int64
    package let currency: String
    /// Shown in the provider's own records.
    package let orderId: String
    /// The time at which the provider was asked first: it remembers keys for a limited time.
    package let begunAt: Timestamp

    package init(
        source: Source, amountMinorUnits: Int64, currency: String, orderId: String, begunAt: Timestamp = .now
    ) {
        self.source = source
        self.amountMinorUnits = amountMinorUnits
        self.currency = currency
        self.orderId = orderId
        self.begunAt = begunAt
    }
}

package struct ProviderCharge: Sendable, Hashable {
    /// `pi_…` or `ch_…`
    package let id: String
    /// Empty where the provider does not tell.
    package let brand: String
    package let lastFourDigits: String

    package init(id: String, brand: String, lastFourDigits: String) {
        self.id = id
        self.brand = brand
        self.lastFourDigits = lastFourDigits
    }
}

/// An order to the provider to refund: what is to be given back, of which charge.
package struct RefundOrder: Sendable, Hashable {
    /// The provider's id of the charge.
    package let chargeId: String
    /// 1 to what is left of the charge.
    package let amountMinorUnits: Int64
    package let currency: String
    /// Shown in the provider's own records.
    package let orderId: String
    /// The time at which the provider was asked first.
    package let begunAt: Timestamp
}

package struct ProviderRefund: Sendable, Hashable {
    /// `re_…`
    package let id: String
}

/// The provider's refusal in Stripe's terms (https://docs.stripe.com/api/errors), for instance type `card_error`, code
/// `card_declined` and decline code `insufficient_funds`.
package struct ProviderFailure: Error, Sendable, Hashable {
    package let type: String
    package let code: String
    package var declineCode: String?
    /// Public text.
    package let message: String

    package init(type: String, code: String, declineCode: String? = nil, message: String) {
        self.type = type
        self.code = code
        self.declineCode = declineCode
        self.message = message
    }

    /// The error as clients of the Parse Stripe module see it: `.scriptFailed` (141) with the provider's message.
    package var parseError: ParseError { ParseError(.scriptFailed, message, details: details) }

    private var details: JSON {
        var members: [String: JSON] = ["type": .string(type), "code": .string(code)]
        members["decline_code"] = declineCode.map(JSON.string)
        return .object(members)
    }
}

// MARK: - Stored form

extension ProviderFailure {
    var stored: String { json.serializedText }

    /// As Stripe's `error` object.
    var json: JSON {
        var members = details.objectValue ?? [:]
        members["message"] = .string(message)
        return .object(members)
    }

    init(stored text: String) throws {
        let json = try JSON(parsing: text)
        self.init(
            type: json["type"]?.stringValue ?? "api_error", code: json["code"]?.stringValue ?? "unknown",
            declineCode: json["decline_code"]?.stringValue,
            message: json["message"]?.stringValue ?? "The payment failed.")
    }
}
