import MessageBus
import ObjectStore
import ParseProtocol
import ServiceKit

/// The cloud functions about payment methods. Charging is bag's (`checkout`, `chargeCustomer`, `ChargeToken`), which
/// asks for `payments.charge.v1`.
struct PaymentFunctions: Sendable {
    let host: ServiceHost
    let provider: any PaymentProvider

    func install(in routes: inout ServiceRoutes) {
        // The reference app's: a Stripe customer for a token. The card is kept as a PaymentMethod at once.
        routes.function("createStripeCustomer") { [self] parameters, request in
            guard let email = try text("customerEmail", in: parameters) else {
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
        guard let token = try text("tokenId", in: parameters) else {
            throw ParseError(.validationError, "tokenId is missing.")
        }
        // A repeated request has the same key, so the provider answers with the same customer and the commit with the
        // same reply.
        let key = request.envelope.idempotencyKey.isEmpty ? Names.random(32) : request.envelope.idempotencyKey
        guard try await host.store.read({ try PaymentMethods.hasRoom(for: userId, in: $0) }) else {
            // A repetition of the request that kept the last one still gets its answer.
            return try await host.commit(request) { _ in throw PaymentMethods.tooMany }
        }
        let customer: ProviderCustomer
        do {
            customer = try await provider.createCustomer(token: token, email: email, key: "customer:\(key)")
        } catch let failure as ProviderFailure {
            throw failure.parseError
        } catch {
            host.logger.error("A card could not be kept at the provider.", metadata: ["error": "\(error)"])
            throw ParseError(.serviceUnavailable, "The payment provider does not answer; try again in a moment.")
        }
        do {
            return try await host.commit(request) { transaction in
                guard try !AccountDeletion.happened(to: userId, in: transaction) else {
                    throw ParseError.invalidSession
                }
                let known = try PaymentMethods.find(customer: customer.id, owner: userId, in: transaction)
                let method = try known ?? PaymentMethods.keep(customer, owner: userId, in: transaction)
                return try .result(answer(customer, method))
            }
        } catch let error as ParseError where [.invalidSessionToken, .validationError].contains(error.code) {
            // Nothing here will ever know of the customer.
            try await host.store.write { try CustomerDeletions.add(customer.id, in: $0) }
            throw error
        }
    }

    /// - Throws: `.invalidSessionToken` (209) without a user, `.validationError` (142) when there is a card number
    ///   among the parameters.
    private func signedInUser(_ request: ServiceRequest, _ parameters: JSON) throws -> String {
        let userId = try request.userId
        if CardNumber.isPresent(in: parameters) { throw CardNumber.refused }
        return userId
    }

    /// A text parameter of up to 255 bytes; nil when it is missing.
    private func text(_ name: String, in parameters: JSON) throws -> String? {
        guard let value = parameters[name], !value.isNull else { return nil }
        guard let text = value.stringValue, (1...255).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw ParseError(.validationError, "\(name) must be a text of 1 to 255 bytes.")
        }
        return text
    }

    /// A result that Parse clients read as an object of its class.
    private static func object(_ document: JSON) -> JSON {
        var object = document
        object["__type"] = "Object"
        object["className"] = .string(PaymentMethods.className)
        return object
    }
}
