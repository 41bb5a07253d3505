import ObjectStore
import ParseProtocol

/// The provider that stores the cards and moves the money. All methods are idempotent by `key`: the same key always has
/// the same outcome.
///
/// Every method throws `ProviderFailure` for a decision, which is final. Any other error means that the outcome is
/// unknown; the caller must then retry with the same key.
///
/// Work in the service's database counts for `share`.
package protocol PaymentProvider: Sendable {
    /// Exchanges a one-time token for a customer with that card.
    func createCustomer(
        token: String, email: String?, key: String, for share: WorkShare?
    ) async throws -> ProviderCustomer
    /// Deletes a customer and the card. Succeeds when the customer is already deleted.
    func deleteCustomer(_ id: String, for share: WorkShare?) async throws
    /// Charges the source.
    /// - Throws: `ActionRequired` while the customer has to confirm the charge.
    func charge(_ order: ChargeOrder, key: String, for share: WorkShare?) async throws -> ProviderCharge
    /// Looks for a charge without making one. Nil: it was not made and never will be, not even by a request that is
    /// still in flight.
    func findCharge(_ order: ChargeOrder, key: String, for share: WorkShare?) async throws -> ProviderCharge?
    /// Refunds a charge.
    func refund(_ order: RefundOrder, key: String, for share: WorkShare?) async throws -> ProviderRefund
    /// A successful charge that this service did not make. Nil when the provider has none with this id.
    func foreignCharge(_ id: String, for share: WorkShare?) async throws -> ForeignCharge?
}

extension PaymentProvider {
    package func foreignCharge(_ id: String, for share: WorkShare?) async throws -> ForeignCharge? { nil }
}

/// A charge that cloud code, or an earlier shop, made at the same provider.
package struct ForeignCharge: Sendable, Hashable {
    package let amountMinorUnits: Int64
    /// By anyone.
    package let refundedMinorUnits: Int64
    /// ISO 4217 in lower case.
    package let currency: String
}

/// The part of a card that may be stored and shown (PCI DSS 3.4: at most the first six and last four digits).
package struct Card: Sendable, Hashable {
    /// In Stripe's spelling: `Visa`, `American Express`.
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

/// A charge request to the provider: the amount and the source.
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
    /// The time of the first request to the provider, which remembers keys for a limited time.
    package let begunAt: Timestamp
    /// Whether the customer can confirm the charge with the bank; otherwise a charge that needs this is declined.
    package let allowsAction: Bool

    package init(
        source: Source, amountMinorUnits: Int64, currency: String, orderId: String, begunAt: Timestamp = .now,
        allowsAction: Bool = false
    ) {
        self.allowsAction = allowsAction
        self.source = source
        self.amountMinorUnits = amountMinorUnits
        self.currency = currency
        self.orderId = orderId
        self.begunAt = begunAt
    }
}

/// The customer has to confirm the charge with the bank (3-D Secure). Nothing is decided, and the provider is asked
/// again.
package struct ActionRequired: Error, Sendable, Hashable, CustomStringConvertible {
    /// Only for the customer: with it anyone can see and complete the payment.
    package let clientSecret: String
    /// Without the secret, for logs.
    package var description: String { "The customer has to confirm the charge." }
}

package struct ProviderCharge: Sendable, Hashable {
    /// `pi_…` or `ch_…`
    package let id: String
    /// Empty when the provider does not report it.
    package let brand: String
    package let lastFourDigits: String

    package init(id: String, brand: String, lastFourDigits: String) {
        self.id = id
        self.brand = brand
        self.lastFourDigits = lastFourDigits
    }
}

/// A refund request to the provider: the amount and the charge.
package struct RefundOrder: Sendable, Hashable {
    /// The provider's id of the charge.
    package let chargeId: String
    /// 1 to the remaining amount of the charge.
    package let amountMinorUnits: Int64
    package let currency: String
    /// Shown in the provider's own records.
    package let orderId: String
    /// The time of the first request to the provider.
    package let begunAt: Timestamp
}

package struct ProviderRefund: Sendable, Hashable {
    /// `re_…`
    package let id: String
}

/// The provider's refusal in Stripe's terms (https://docs.stripe.com/api/errors), for example type `card_error`, code
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

    /// The error for clients of the Parse Stripe module: `.scriptFailed` (141) with the provider's message.
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
