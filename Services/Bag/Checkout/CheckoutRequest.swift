import ParseProtocol
import ServiceKit

/// What a client asks with one of the three paying functions, checked for form.
package struct CheckoutRequest: Sendable, Equatable {
    /// Nil: the customer's open order.
    package var orderId: String?
    package var source: PaymentSource
    /// In minor units; only compared.
    package var amount: Int64?
    /// Names the attempt, so that asking again gets the same answer.
    package var clientKey: String?
    package var shippingAddress: ShippingAddress?
    /// An `Address` of the customer's, instead.
    package var addressId: String?
    /// `note` and `giftMessage`, as far as they were sent.
    package var texts: [String: JSON]

    private static let keyBytesMax = 200

    /// A bag that costs nothing needs no payment method or token.
    ///
    /// `checkout {paymentMethodId? | tokenId?, idempotencyKey?, orderId?, addressId? | shippingAddress?, note?, giftMessage?, amount?}`
    package init(checkout parameters: JSON) throws {
        try self.init(parameters, orderIsRequired: false) {
            switch (try Self.text($0, "paymentMethodId"), try Self.text($0, "tokenId")) {
            case (let id?, nil): .paymentMethod(id)
            case (nil, let token?): .token(token)
            case (nil, nil): .nothing
            default: throw Self.needsOneSource
            }
        }
    }

    static let needsOneSource = ParseError(.validationError, "Either paymentMethodId or tokenId is needed.")

    /// `chargeCustomer {orderId, customerId, amount? | chargeAmount?}`
    package init(chargeCustomer parameters: JSON) throws {
        try self.init(parameters, orderIsRequired: true) { .customer(try Self.requiredText($0, "customerId")) }
    }

    /// `ChargeToken {chargeToken, orderId, amount?}`
    package init(chargeToken parameters: JSON) throws {
        try self.init(parameters, orderIsRequired: true) { .token(try Self.requiredText($0, "chargeToken")) }
    }

    /// - Throws: 142 for a card number and for values that cannot be, 101 for an order id that cannot be.
    private init(_ parameters: JSON, orderIsRequired: Bool, source: (JSON) throws -> PaymentSource) throws {
        guard !CardNumber.isPresent(in: parameters) else { throw CardNumber.refused }
        orderId = orderIsRequired ? try Self.requiredText(parameters, "orderId") : try Self.text(parameters, "orderId")
        if let orderId, !Names.isObjectId(orderId) { throw ParseError.objectNotFound }
        self.source = try source(parameters)
        clientKey = try Self.text(parameters, "idempotencyKey")
        amount = try Self.amount(parameters["amount"] ?? parameters["chargeAmount"])
        if let address = parameters["shippingAddress"], !address.isNull {
            shippingAddress = try ShippingAddress(address)
        }
        addressId = try Self.text(parameters, "addressId")
        if let addressId {
            guard shippingAddress == nil else {
                throw ParseError(.validationError, "Either addressId or shippingAddress is possible.")
            }
            guard Names.isObjectId(addressId) else { throw ParseError.objectNotFound }
        }
        var order: [String: JSON] = [:]
        for name in ["note", "giftMessage"] {
            if let text = parameters[name], !text.isNull { order[name] = text }
        }
        // The same limits as for a client that saves the order itself.
        texts = try OrderChange(.object(order), present: nil, customerId: "").fields
    }

    private static func amount(_ value: JSON?) throws -> Int64? {
        guard let value, !value.isNull else { return nil }
        guard let amount = value.intValue, amount >= 0 else {
            throw ParseError(.validationError, "amount must be a whole number of minor units.")
        }
        return amount
    }

    static func text(_ parameters: JSON, _ name: String) throws -> String? {
        guard let value = parameters[name], !value.isNull else { return nil }
        guard let text = value.stringValue, (1...keyBytesMax).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw ParseError(.validationError, "\(name) must be a string of 1 to \(keyBytesMax) bytes, none of them 0.")
        }
        return text
    }

    private static func requiredText(_ parameters: JSON, _ name: String) throws -> String {
        guard let text = try text(parameters, name) else {
            throw ParseError(.validationError, "\(name) is required.")
        }
        return text
    }
}
