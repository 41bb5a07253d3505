import MessageBus
import ObjectStore
import ParseProtocol
import ServiceKit

/// The cloud functions for payment methods. The bag charges (`checkout`, `chargeCustomer`, `ChargeToken`) through
/// `payments.charge.v1`.
struct PaymentFunctions: Sendable {
    let host: ServiceHost
    let provider: any PaymentProvider

    func install(in routes: inout ServiceRoutes) {
        // Creates a Stripe customer for a token and stores the card as a PaymentMethod at once. The second parameter
        // names are those in the reference app's published cloud code.
        routes.function("createStripeCustomer") { [self] parameters, request in
            guard let email = try text("customerEmail", "email", in: parameters) else {
                throw ParseError(.validationError, "customerEmail is missing.")
            }
            return try await keepCard(parameters, email: email, request) { customer, _ in .string(customer.id) }
        }
        routes.function("addPaymentMethod") { [self] parameters, request in
            try await keepCard(parameters, email: nil, request) { _, method in Self.object(method) }
        }
        routes.function("setDefaultPaymentMethod") { [self] parameters, request in
            let userId = try signedInUser(request, parameters)
            guard let objectId = try text("paymentMethodId", in: parameters) else {
                throw ParseError(.validationError, "paymentMethodId is missing.")
            }
            return try await host.commit(request) { transaction in
                let method = try transaction.document(PaymentMethods.className, objectId, caller: request.caller)
                guard method["owner"]?.pointerTarget?.objectId == userId else { throw ParseError.objectNotFound }
                return try .result(Self.object(PaymentMethods.makeDefault(objectId, owner: userId, in: transaction)))
            }
        }
    }

    private func keepCard(
        _ parameters: JSON, email: String?, _ request: ServiceRequest,
        answer: @escaping @Sendable (_ customer: ProviderCustomer, _ method: JSON) -> JSON
    ) async throws -> BusReply {
        let userId = try signedInUser(request, parameters)
        guard let token = try text("tokenId", "token", in: parameters) else {
            throw ParseError(.validationError, "tokenId is missing.")
        }
        // A repeated request has the same key, so the provider returns the same customer and the commit the same reply.
        let key = request.envelope.idempotencyKey.isEmpty ? Names.random(32) : request.envelope.idempotencyKey
        guard try await host.store.read(for: request.share, { try PaymentMethods.hasRoom(for: userId, in: $0) }) else {
            // If the stored reply of this request exists, the client still gets it.
            return try await host.commit(request) { _ in throw PaymentMethods.tooMany }
        }
        let customer: ProviderCustomer
        do {
            customer = try await provider.createCustomer(
                token: token, email: email, key: "customer:\(key)", for: request.share)
        } catch let failure as ProviderFailure {
            throw failure.parseError
        } catch {
            host.logger.error("A card could not be stored at the provider.", metadata: ["error": "\(error)"])
            throw ParseError(.serviceUnavailable, "The payment provider does not answer; try again in a moment.")
        }
        do {
            return try await host.commit(request) { transaction in
                guard try !DeletedUsers.contains(userId, in: transaction) else {
                    throw ParseError.invalidSession
                }
                let known = try PaymentMethods.find(customer: customer.id, owner: userId, in: transaction)
                let method = try known ?? PaymentMethods.keep(customer, owner: userId, in: transaction)
                return try .result(answer(customer, method))
            }
        } catch let error as ParseError where [.invalidSessionToken, .validationError].contains(error.code) {
            // The shop does not store this customer, so it is deleted at the provider.
            try await host.store.write(for: request.share) { try CustomerDeletions.add(customer.id, in: $0) }
            throw error
        }
    }

    /// - Throws: `.invalidSessionToken` (209) without a user, `.validationError` (142) when the parameters contain a
    ///   card number.
    private func signedInUser(_ request: ServiceRequest, _ parameters: JSON) throws -> String {
        let userId = try request.userId
        if CardNumber.isPresent(in: parameters) { throw CardNumber.refused }
        return userId
    }

    /// A text parameter of up to 255 bytes; nil when it is absent under all its names.
    private func text(_ names: String..., in parameters: JSON) throws -> String? {
        guard let name = names.first(where: { !(parameters[$0]?.isNull ?? true) }), let value = parameters[name]
        else { return nil }
        guard let text = value.stringValue, (1...255).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw ParseError(.validationError, "\(name) must be a text of 1 to 255 bytes.")
        }
        return text
    }

    /// A result that Parse clients decode as an object of its class.
    private static func object(_ document: JSON) -> JSON {
        var object = document
        object["__type"] = "Object"
        object["className"] = .string(PaymentMethods.className)
        return object
    }
}
