import ParseProtocol
import ServiceKit

/// A client's request to one of the three payment functions, with validated syntax.
package struct CheckoutRequest: Sendable, Equatable {
    /// Nil: the customer's open order.
    package var orderId: String?
    package var source: PaymentSource
    /// In minor units. Used for comparison only.
    package var amount: Int64?
    /// Identifies the attempt, so that a repeated request gets the same answer.
    package var clientKey: String?
    package var shippingAddress: ShippingAddress?
    /// The id of a stored `Address` of the customer, used instead of `shippingAddress`.
    package var addressId: String?
    /// The recipient of the confirmation when the account has no e-mail address.
    package var email: String?
    /// The members that the address must have.
    package var addressNeed = AddressNeed.complete
    /// Nil: the shop's setting applies.
    package var answerForm: ChargeAnswer?
    /// In upper case. Nil: the bag's code applies, if it has one.
    package var discountCode: String?
    /// The client can have the customer confirm the charge with the bank. Not a part of the fingerprint.
    package var allowsAction = false
    /// `note` and `giftMessage`, when the client sent them.
    package var texts: [String: JSON]

    private static let textBytesMax = 200

    /// Everything that a repeated request with the same idempotency key must match. The order is compared by the
    /// checkout's order id, because a repeated request may name or omit it.
    var fingerprint: String {
        var wanted: [String: JSON] = ["source": source.json, "texts": .object(texts)]
        wanted["amount"] = amount.map(JSON.int)
        wanted["shippingAddress"] = shippingAddress?.json
        wanted["addressId"] = addressId.map(JSON.string)
        wanted["email"] = email.map(JSON.string)
        wanted["discountCode"] = discountCode.map(JSON.string)
        return RequestFingerprint.of(.object(wanted))
    }

    package enum AddressNeed: Sendable, Equatable {
        /// All members are required, in a sent and in a stored address.
        case complete
        /// An address in the request needs only the members that a payment sheet collects. Without one in the request,
        /// nothing is required, because the app may have stored no address.
        case ofPaymentSheet
    }

    /// `checkout {paymentMethodId? | tokenId?, idempotencyKey?, orderId?, addressId? | shippingAddress? |
    /// shippingContact?, email? | customerEmail?, note?, giftMessage?, discountCode?, amount? | chargeAmount?,
    /// allowsAction?}`. A bag that costs nothing needs no payment method or token. Other parameters are refused.
    package init(checkout parameters: JSON) throws {
        try self.init(parameters, orderIsRequired: false) {
            switch (try Self.text($0, "paymentMethodId"), try Self.text($0, "tokenId")) {
            case (let id?, nil): .paymentMethod(id)
            case (nil, let token?): .token(token)
            case (nil, nil): .nothing
            default: throw Self.needsOneSource
            }
        }
        try parameters.requireOnly(Self.names)
        allowsAction = try Self.flag(parameters, "allowsAction")
        guard !allowsAction || clientKey != nil else {
            throw ParseError(.validationError, "allowsAction needs an idempotencyKey.")
        }
    }

    private static let names: Set<String> = [
        "paymentMethodId", "tokenId", "idempotencyKey", "orderId", "addressId", "shippingAddress", "shippingContact",
        "email", "customerEmail", "note", "giftMessage", "discountCode", "amount", "chargeAmount", "allowsAction",
    ]

    static let needsOneSource = ParseError(.validationError, "Either paymentMethodId or tokenId is needed.")

    /// `chargeCustomer {orderId, customerId, answer?}`, and the parameters of `checkout` but `paymentMethodId`,
    /// `tokenId` and `allowsAction`. Other parameters are ignored, as the cloud code that this function replaces did.
    package init(chargeCustomer parameters: JSON) throws {
        try self.init(parameters, orderIsRequired: true) { .customer(try Self.requiredText($0, "customerId")) }
        answerForm = try ChargeAnswer(parameters)
    }

    /// `ChargeToken {chargeToken | tokenId, orderId, answer?}`, and the same further parameters as `chargeCustomer`.
    package init(chargeToken parameters: JSON) throws {
        try self.init(parameters, orderIsRequired: true) {
            if let token = try Self.text($0, "tokenId"), $0["chargeToken"] == nil { return .token(token) }
            return .token(try Self.requiredText($0, "chargeToken"))
        }
        addressNeed = .ofPaymentSheet
        answerForm = try ChargeAnswer(parameters)
    }

    /// - Throws: `.validationError` (142) for a card number and for invalid values, `.objectNotFound` (101) for an
    ///   invalid order id.
    private init(_ parameters: JSON, orderIsRequired: Bool, source: (JSON) throws -> PaymentSource) throws {
        guard !CardNumber.isPresent(in: parameters) else { throw CardNumber.refused }
        orderId = orderIsRequired ? try Self.requiredText(parameters, "orderId") : try Self.text(parameters, "orderId")
        if let orderId, !Names.isObjectId(orderId) { throw ParseError.objectNotFound }
        self.source = try source(parameters)
        clientKey = try Self.text(parameters, "idempotencyKey")
        discountCode = try Self.text(parameters, "discountCode").map { DiscountCode.normalized($0) ?? $0 }
        amount = try Self.amount(parameters["amount"] ?? parameters["chargeAmount"])
        if let address = parameters["shippingAddress"], !address.isNull {
            shippingAddress = try ShippingAddress(address)
        }
        var emails = [parameters["email"], parameters["customerEmail"]]
        // Apps may store arbitrary text in this member; only a valid e-mail address is used.
        if let text = shippingAddress?.members["email"], Mailbox.isAddress(text) { emails.append(.string(text)) }
        if let contact = parameters["shippingContact"], !contact.isNull {
            guard shippingAddress == nil else { throw Self.oneAddress }
            let sheet = try PaymentSheetContact(contact)
            shippingAddress = sheet.address
            emails.append(sheet.email)
        }
        email = try Self.email(emails.compactMap(\.self).first { !$0.isNull && $0 != "" })
        addressId = try Self.text(parameters, "addressId")
        if let addressId {
            guard shippingAddress == nil else { throw Self.oneAddress }
            guard Names.isObjectId(addressId) else { throw ParseError.objectNotFound }
        }
        var order: [String: JSON] = [:]
        for name in ["note", "giftMessage"] {
            if let text = parameters[name], !text.isNull { order[name] = text }
        }
        // The same limits as for a client that saves the order itself.
        texts = try OrderChange(.object(order), present: nil, customerId: "").fields
    }

    private static let oneAddress = ParseError(
        .validationError, "Only one of addressId, shippingAddress and shippingContact is allowed.")

    /// - Throws: `.invalidEmailAddress` (125) for an address to which no mail can be sent.
    private static func email(_ value: JSON?) throws -> String? {
        guard let value else { return nil }
        guard let text = value.stringValue, Mailbox.isAddress(text) else {
            throw ParseError(.invalidEmailAddress, "Email address format is invalid.")
        }
        return text
    }

    private static func amount(_ value: JSON?) throws -> Int64? {
        guard let value, !value.isNull else { return nil }
        guard let amount = value.intValue, amount >= 0 else {
            throw ParseError(.validationError, "amount must be a whole number of minor units.")
        }
        return amount
    }

    static func flag(_ parameters: JSON, _ name: String) throws -> Bool {
        guard let value = parameters[name], !value.isNull else { return false }
        guard let flag = value.boolValue else { throw ParseError(.validationError, "\(name) must be true or false.") }
        return flag
    }

    static func text(_ parameters: JSON, _ name: String) throws -> String? {
        guard let value = parameters[name], !value.isNull else { return nil }
        guard let text = value.stringValue, (1...textBytesMax).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw ParseError(.validationError, "\(name) must be a string of 1 to \(textBytesMax) bytes without U+0000.")
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

extension JSON {
    /// - Throws: `.validationError` (142) that names an unknown parameter. A misspelt one would be ignored silently.
    func requireOnly(_ names: Set<String>) throws {
        guard let unknown = (objectValue ?? [:]).keys.filter({ !names.contains($0) }).min() else { return }
        throw ParseError(
            .validationError, "There is no parameter \(unknown.prefix(100)).",
            details: ["parameter": .string(String(unknown.prefix(100)))])
    }
}
