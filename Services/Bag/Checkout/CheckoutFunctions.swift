import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// `checkout`, `chargeCustomer` and `ChargeToken`, three functions for the same operation, and `checkoutResult`.
struct CheckoutFunctions: Sendable {
    let host: ServiceHost
    let ledger: CheckoutLedger
    let runner: CheckoutRunner
    /// The default answer form of the two older functions when the request names none.
    let chargeAnswer: ChargeAnswer

    /// The gateway times out after 30 s. The answer "still being processed" must reach the client before that.
    private static let waitMax = Duration.seconds(25)
    private static let waitMin = Duration.milliseconds(100)

    /// `checkout`: returns the stored receipt byte for byte, or the secret with which the customer confirms the charge.
    func checkout(
        _ parameters: JSON, _ request: ServiceRequest, _ reader: StoreReader
    ) throws -> ServiceRoutes.Rest {
        let parsed = try parsed(request, reader) { try CheckoutRequest(checkout: parameters) }
        return {
            let key = parsed.request.allowsAction ? parsed.request.clientKey : nil
            return try Self.reply(try await answer(parsed, request), key: key)
        }
    }

    /// `checkoutResult {idempotencyKey, giveUp?}`: as a repeated `checkout` with this key. `giveUp` ends a checkout
    /// whose customer has to confirm the charge. A refusal has the fields that the customer entered, so that a form can
    /// show them again.
    func result(_ parameters: JSON, _ request: ServiceRequest, _ reader: StoreReader) throws -> ServiceRoutes.Rest {
        let began = ContinuousClock.now
        let userId = try request.userId
        try parameters.requireOnly(["idempotencyKey", "giveUp"])
        guard let key = try CheckoutRequest.text(parameters, "idempotencyKey") else {
            throw ParseError(.validationError, "idempotencyKey is required.")
        }
        let givesUp = try CheckoutRequest.flag(parameters, "giveUp")
        guard let (id, enteredFields) = try CheckoutKeys.checkout(ofClient: key, userId, in: reader) else {
            throw ParseError.objectNotFound
        }
        return {
            let answer = try await self.answer(ofKnown: id, givesUp: givesUp, began)
            if case .decided(.failure(let error)) = answer {
                var details = error.details ?? [:]
                details["order"] = enteredFields
                throw ParseError(error.code, error.message, details: details)
            }
            return try Self.reply(answer, key: key)
        }
    }

    /// - Parameter key: the client's idempotency key, if the client can have the customer confirm the charge; otherwise
    ///   nil.
    private static func reply(_ answer: CheckoutAnswer, key: String?) throws -> BusReply {
        switch answer {
        case .decided(let outcome): return try BusReply(FunctionReply(), documents: [try outcome.get()])
        case .needsConfirmation(let orderId, let clientSecret):
            guard let key else { throw undecided }
            return try .result([
                "status": "requiresAction", "clientSecret": .string(clientSecret), "orderId": .string(orderId),
                "idempotencyKey": .string(key),
            ])
        }
    }

    /// `chargeCustomer` and `ChargeToken`: return the receipt in the form that the app's code expects.
    func charge(
        _ request: ServiceRequest, _ reader: StoreReader, _ parse: () throws -> CheckoutRequest
    ) throws -> ServiceRoutes.Rest {
        let parsed = try parsed(request, reader, parse)
        return {
            guard case .decided(let outcome) = try await answer(parsed, request) else { throw Self.undecided }
            let receipt = try outcome.get()
            return try .result((parsed.request.answerForm ?? chargeAnswer).shown(try JSON(parsing: receipt)))
        }
    }

    /// A parsed payment request, with the checkout that already exists for it or the products to pay.
    private struct ParsedRequest: Sendable {
        let began = ContinuousClock.now
        let request: CheckoutRequest
        let userId: String
        let keys: [String]
        /// The checkout for which one of the keys was used; nil when there is none.
        let known: String?
        /// The products to pay when `known` is nil.
        let products: Set<String>
    }

    /// Checks the user before the parameters.
    private func parsed(
        _ request: ServiceRequest, _ reader: StoreReader, _ parse: () throws -> CheckoutRequest
    ) throws -> ParsedRequest {
        let userId = try request.userId
        let checkoutRequest = try parse()
        let keys = keys(checkoutRequest, request)
        return try reader.onOneSnapshot {
            let known = try CheckoutKeys.checkout(keys, of: userId, checkoutRequest, in: reader)
            return ParsedRequest(
                request: checkoutRequest, userId: userId, keys: keys, known: known,
                products: known == nil ? try Self.products(checkoutRequest, of: userId, in: reader) : [])
        }
    }

    /// Joins the checkout of this request, or starts one, and waits for its answer.
    private func answer(_ parsed: ParsedRequest, _ request: ServiceRequest) async throws -> CheckoutAnswer {
        if let known = parsed.known { return try await answer(ofKnown: known, parsed.began) }
        let id = try await start(parsed.request, of: parsed.products, by: parsed.userId, keys: parsed.keys, request)
        guard let answer = await runner.answer(of: id, within: Self.left(parsed.began)) else { throw Self.undecided }
        return answer
    }

    /// The request may join a driver that asked payments before the customer confirmed the charge. So it asks a second
    /// time.
    private static let asksMax = 2

    /// The answer of a checkout that an earlier request began.
    private func answer(
        ofKnown id: String, givesUp: Bool = false, _ began: ContinuousClock.Instant
    ) async throws -> CheckoutAnswer {
        var found: CheckoutAnswer?
        for _ in 0..<Self.asksMax {
            let left = Self.left(began)
            found = givesUp ? await runner.giveUp(id, within: left) : await runner.answer(of: id, within: left)
            guard case .needsConfirmation? = found else { break }
        }
        guard let found else { throw Self.undecided }
        return found
    }

    private static func left(_ began: ContinuousClock.Instant) -> Duration {
        max(waitMin, waitMax - (ContinuousClock.now - began))
    }

    private static let undecided = ParseError(
        .timeout,
        """
        The order is being processed. Repeat the request with the same idempotencyKey to get the result. Without a \
        key: the bag is empty once the order is placed.
        """)

    /// How long a payment waits until an earlier one of the bag, which awaits confirmation, has ended.
    private static let giveUpMax = Duration.seconds(15)

    /// Maximum requests to the catalog. The bag may get more products during each; more rounds indicate a defect.
    private static let roundsMax = 5

    private func start(
        _ checkoutRequest: CheckoutRequest, of products: Set<String>, by userId: String, keys: [String],
        _ request: ServiceRequest
    ) async throws -> String {
        let catalog = Catalog(host: host)
        let principal = request.envelope.principal
        async let current = catalog.prices(of: products, as: principal, for: request)
        let customer = try await customer(userId, checkoutRequest, request)
        var prices = try await current
        for _ in 0..<Self.roundsMax {
            do {
                return try await ledger.start(
                    checkoutRequest, by: customer, keys: keys, prices: prices, for: request.share
                ) { [runner] in runner.begin($0) }
            } catch let unconfirmed as UnconfirmedCheckout {
                switch await runner.giveUp(unconfirmed.checkoutId, within: Self.giveUpMax) {
                // The bag is free for this payment.
                case .decided(.failure)?: continue
                // The customer had confirmed it: the answer is its receipt.
                case .decided(.success)?: return unconfirmed.checkoutId
                case .needsConfirmation?, nil: throw Self.undecided
                }
            } catch let missing as PricesMissing {
                prices.merge(try await catalog.prices(of: missing.products, as: principal, for: request))
            }
        }
        throw ParseError(.serviceUnavailable, "The bag is changing too fast; try again.")
    }

    /// The products of the order to pay; empty when there is no such order.
    private static func products(
        _ checkoutRequest: CheckoutRequest, of userId: String, in reader: StoreReader
    ) throws -> Set<String> {
        let order: OpenOrder?
        if let orderId = checkoutRequest.orderId {
            order = try reader.documentIfFound("Order", orderId, caller: .master)
                .map { try OpenOrder(document: $0, in: reader) }
        } else {
            order = try OpenOrder.find(for: userId, in: reader)
        }
        guard let order, order.customerId == userId, OrderStatus.isOpen(order.document) else { return [] }
        return Set(order.items.map(\.productId))
    }

    /// The client's idempotency key and the request's own key, which the gateway reuses when it retries after a process
    /// died.
    private func keys(_ checkoutRequest: CheckoutRequest, _ request: ServiceRequest) -> [String] {
        let ofRequest = request.envelope.idempotencyKey
        return [checkoutRequest.clientKey.map { "client:\($0)" }, ofRequest.isEmpty ? nil : "request:\(ofRequest)"]
            .compactMap(\.self)
    }

    private func customer(
        _ userId: String, _ checkoutRequest: CheckoutRequest, _ request: ServiceRequest
    ) async throws -> Customer {
        async let contact = host.call(
            UsersCalls.contact, ContactRequest.with { $0.userID = userId }, for: request)
        let profile =
            checkoutRequest.shippingAddress == nil && checkoutRequest.addressId == nil
            ? try await host.objects("_User", ids: [userId], as: request.envelope.principal, for: request)[userId]
            : nil
        let known: ContactReply
        do {
            known = try await contact
        } catch let error as ParseError where error.code == .objectNotFound {
            throw ParseError.invalidSession  // The account was deleted.
        }
        var customer = Customer(
            userId: userId, email: known.email.isEmpty ? checkoutRequest.email ?? "" : known.email, profile: profile)
        customer.givenEmail = known.email.isEmpty ? checkoutRequest.email : nil
        customer.mailCause = MailCause(
            addressVerified: known.emailVerified && !known.email.isEmpty, userId: userId,
            network: request.envelope.principal.network)
        return customer
    }
}
