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

    /// `checkout`: returns the stored receipt byte for byte, or what the customer has to do first.
    func checkout(
        _ parameters: JSON, _ request: ServiceRequest, _ reader: StoreReader
    ) throws -> ServiceRoutes.Rest {
        let asked = try asked(request, reader) { try CheckoutRequest(checkout: parameters) }
        return {
            let key = asked.wanted.allowsAction ? asked.wanted.clientKey : nil
            return try Self.reply(try await progress(asked, request), key: key)
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
        guard let (id, entered) = try CheckoutKeys.checkout(ofClient: key, userId, in: reader) else {
            throw ParseError.objectNotFound
        }
        return {
            let progress = try await again(id, givesUp: givesUp, began)
            if case .decided(.failure(let error)) = progress {
                var details = error.details ?? [:]
                details["order"] = entered
                throw ParseError(error.code, error.message, details: details)
            }
            return try Self.reply(progress, key: key)
        }
    }

    /// - Parameter key: of a client that can have the customer confirm the charge; nil for another client.
    private static func reply(_ progress: CheckoutProgress, key: String?) throws -> BusReply {
        switch progress {
        case .decided(let outcome): return try BusReply(FunctionReply(), documents: [try outcome.get()])
        case .action(let orderId, let clientSecret):
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
        let asked = try asked(request, reader, parse)
        return {
            guard case .decided(let outcome) = try await progress(asked, request) else { throw Self.undecided }
            let receipt = try outcome.get()
            return try .result((asked.wanted.answerForm ?? chargeAnswer).shown(try JSON(parsing: receipt)))
        }
    }

    /// A parsed payment request, with the checkout that already exists for it or the products to pay.
    private struct Asked: Sendable {
        let began = ContinuousClock.now
        let wanted: CheckoutRequest
        let userId: String
        let keys: [String]
        /// The checkout for which one of the keys was used; nil when there is none.
        let known: String?
        /// The products to pay when `known` is nil.
        let products: Set<String>
    }

    /// Checks the user before the parameters.
    private func asked(
        _ request: ServiceRequest, _ reader: StoreReader, _ parse: () throws -> CheckoutRequest
    ) throws -> Asked {
        let userId = try request.userId
        let wanted = try parse()
        let keys = keys(wanted, request)
        return try reader.onOneSnapshot {
            let known = try CheckoutKeys.checkout(keys, of: userId, wanted, in: reader)
            return Asked(
                wanted: wanted, userId: userId, keys: keys, known: known,
                products: known == nil ? try Self.products(wanted, of: userId, in: reader) : [])
        }
    }

    /// A checkout that runs now or finished earlier.
    private func progress(_ asked: Asked, _ request: ServiceRequest) async throws -> CheckoutProgress {
        if let known = asked.known { return try await again(known, asked.began) }
        let id = try await start(asked.wanted, of: asked.products, by: asked.userId, keys: asked.keys, request)
        guard let progress = await runner.progress(of: id, within: Self.left(asked.began)) else { throw Self.undecided }
        return progress
    }

    /// The driver that this request joins may have asked payments before the customer confirmed the charge, so the
    /// request asks once more.
    private static let asksMax = 2

    /// The progress of a checkout that an earlier request began.
    private func again(
        _ id: String, givesUp: Bool = false, _ began: ContinuousClock.Instant
    ) async throws -> CheckoutProgress {
        var found: CheckoutProgress?
        for _ in 0..<Self.asksMax {
            let left = Self.left(began)
            found = givesUp ? await runner.giveUp(id, within: left) : await runner.progress(of: id, within: left)
            guard case .action? = found else { break }
        }
        guard let found else { throw Self.undecided }
        return found
    }

    private static func left(_ began: ContinuousClock.Instant) -> Duration {
        max(waitMin, waitMax - (ContinuousClock.now - began))
    }

    private static let undecided = ParseError(
        .timeout, "The order is being processed. Repeat the request with the same idempotencyKey to get the result.")

    /// How long a payment waits for the end of an earlier one with other data.
    private static let giveUpMax = Duration.seconds(15)

    /// Maximum requests to the catalog. The bag may get more products during each; more rounds indicate a defect.
    private static let roundsMax = 5

    private func start(
        _ wanted: CheckoutRequest, of products: Set<String>, by userId: String, keys: [String],
        _ request: ServiceRequest
    ) async throws -> String {
        let catalog = Catalog(host: host)
        let principal = request.envelope.principal
        async let current = catalog.prices(of: products, as: principal, for: request)
        let customer = try await customer(userId, wanted, request)
        var prices = try await current
        for _ in 0..<Self.roundsMax {
            do {
                return try await ledger.start(
                    wanted, by: customer, keys: keys, prices: prices, for: request.share
                ) { [runner] in runner.begin($0) }
            } catch let other as OtherPaymentWaits {
                switch await runner.giveUp(other.checkoutId, within: Self.giveUpMax) {
                // The bag is free for this payment.
                case .decided(.failure)?: continue
                // The customer had confirmed it: the answer is its receipt.
                case .decided(.success)?: return other.checkoutId
                case .action?, nil: throw Self.undecided
                }
            } catch let missing as PricesMissing {
                prices.merge(try await catalog.prices(of: missing.products, as: principal, for: request))
            }
        }
        throw ParseError(.serviceUnavailable, "The bag is changing too fast; try again.")
    }

    /// The products of the order to pay; empty when there is no such order.
    private static func products(
        _ wanted: CheckoutRequest, of userId: String, in reader: StoreReader
    ) throws -> Set<String> {
        let order: OpenOrder?
        if let orderId = wanted.orderId {
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
    private func keys(_ wanted: CheckoutRequest, _ request: ServiceRequest) -> [String] {
        let ofRequest = request.envelope.idempotencyKey
        return [wanted.clientKey.map { "client:\($0)" }, ofRequest.isEmpty ? nil : "request:\(ofRequest)"]
            .compactMap(\.self)
    }

    private func customer(
        _ userId: String, _ wanted: CheckoutRequest, _ request: ServiceRequest
    ) async throws -> Customer {
        async let contact = host.call(
            UsersCalls.contact, ContactRequest.with { $0.userID = userId }, for: request)
        let profile =
            wanted.shippingAddress == nil && wanted.addressId == nil
            ? try await host.objects("_User", ids: [userId], as: request.envelope.principal, for: request)[userId]
            : nil
        let known: ContactReply
        do {
            known = try await contact
        } catch let error as ParseError where error.code == .objectNotFound {
            throw ParseError.invalidSession  // The account was deleted.
        }
        var customer = Customer(
            userId: userId, email: known.email.isEmpty ? wanted.email ?? "" : known.email, profile: profile)
        customer.givenEmail = known.email.isEmpty ? wanted.email : nil
        customer.mailCause = MailCause(
            addressVerified: known.emailVerified && !known.email.isEmpty, userId: userId,
            network: request.envelope.principal.network)
        return customer
    }
}
