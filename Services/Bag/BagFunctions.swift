import MessageBus
import ObjectStore
import ParseProtocol
import ServiceKit

/// The functions that show and change a bag. Each reads the store when the request arrives. The `Rest` that it returns
/// asks the catalog, commits the change, and answers with the resulting bag.
struct BagFunctions: Sendable {
    let host: ServiceHost
    private let catalog: Catalog
    private let currency: String

    /// Maximum requests to the catalog. Each round can find one product that was added meanwhile. More rounds
    /// indicate a defect.
    private static let roundsMax = 5

    init(host: ServiceHost, currency: String) {
        self.host = host
        self.currency = currency
        catalog = Catalog(host: host)
    }

    /// `bag {}`. A read, so any replica can answer.
    func view(_ request: ServiceRequest, _ reader: StoreReader) throws -> ServiceRoutes.Rest {
        let userId = try request.userId
        let view = try reader.onOneSnapshot {
            let order = try OpenOrder.find(for: userId, in: reader)
            let running = try order.flatMap { try CheckoutLedger.running($0.objectId, in: reader) }
            let waiting = try running.flatMap { try CheckoutKeys.waiting($0, of: userId, in: reader) }
            return try BagView(
                order: order, currency: currency, isBeingPaid: running != nil, waitingPayment: waiting, at: .now,
                in: reader)
        }
        return { try .result(view.json(try await facts(view.missing(from: ProductFacts()), request))) }
    }

    private static func open(_ userId: String, _ reader: StoreReader) throws -> OpenOrder? {
        try reader.onOneSnapshot { try OpenOrder.find(for: userId, in: reader) }
    }

    /// `addToBag {productId, quantity?}`: quantities of the same product add up.
    func add(
        _ parameters: JSON, _ request: ServiceRequest, _ reader: StoreReader
    ) throws -> ServiceRoutes.Rest {
        _ = try request.userId
        let product = try Self.productId(parameters)
        let quantity = try Quantity.parse(parameters["quantity"], in: 1...Quantity.max, whenMissing: 1)
        return try change(request, reader, adding: product) { [currency] userId, facts, transaction in
            try facts.prices.requireSold(product)
            guard var order = try OpenOrder.find(for: userId, in: transaction) else {
                return try OpenOrder.create(
                    with: product, quantity, for: userId, currency: currency, by: request.caller, in: transaction)
            }
            try order.requireNotBeingPaid(in: transaction)
            let sum = try Quantity.parse(.int(Int64(order.quantity(of: product) + quantity)), in: 1...Quantity.max)
            try order.set(product, to: sum, in: transaction)
            try order.save(in: transaction)
            return order
        }
    }

    /// `setBagQuantity {productId, quantity}`: 0 removes; removing the last line deletes the order.
    func setQuantity(
        _ parameters: JSON, _ request: ServiceRequest, _ reader: StoreReader
    ) throws -> ServiceRoutes.Rest {
        _ = try request.userId
        let product = try Self.productId(parameters)
        let quantity = try Quantity.parse(parameters["quantity"], in: 0...Quantity.max)
        return try change(request, reader, adding: product) { [currency] userId, facts, transaction in
            if quantity > 0 { try facts.prices.requireSold(product) }
            guard var order = try OpenOrder.find(for: userId, in: transaction) else {
                guard quantity > 0 else { return nil }
                return try OpenOrder.create(
                    with: product, quantity, for: userId, currency: currency, by: request.caller, in: transaction)
            }
            try order.requireNotBeingPaid(in: transaction)
            try order.set(product, to: quantity, in: transaction)
            guard order.items.isEmpty else {
                try order.save(in: transaction)
                return order
            }
            try order.delete(in: transaction)
            return nil
        }
    }

    /// `emptyBag {}`
    func empty(_ request: ServiceRequest, _ reader: StoreReader) throws -> ServiceRoutes.Rest {
        try change(request, reader, adding: nil) { userId, _, transaction in
            guard let order = try OpenOrder.find(for: userId, in: transaction) else { return nil }
            try order.requireNotBeingPaid(in: transaction)
            try order.delete(in: transaction)
            return nil
        }
    }

    /// `setDiscountCode {discountCode?}`: no code, or null, removes the bag's. A code that cannot be used is refused.
    func setDiscountCode(
        _ parameters: JSON, _ request: ServiceRequest, _ reader: StoreReader
    ) throws -> ServiceRoutes.Rest {
        _ = try request.userId
        try parameters.requireOnly(["discountCode"])
        let text = try CheckoutRequest.text(parameters, "discountCode")
        return try change(request, reader, adding: nil, requiresUsableCode: true) { userId, _, transaction in
            guard let order = try OpenOrder.find(for: userId, in: transaction) else {
                guard text == nil else { throw CheckoutLedger.emptyBag }
                return nil
            }
            try order.requireNotBeingPaid(in: transaction)
            let code = text.map { DiscountCode.normalized($0) ?? $0 }
            return try order.setting(discountCode: code, in: transaction)
        }
    }

    // MARK: -

    private struct FactsMissing: Error { let products: Set<String> }

    private typealias Work = @Sendable (String, ProductFacts, StoreTransaction) throws -> OpenOrder?

    /// Changes the bag and returns it, in one transaction. The catalog is asked before the transaction, which cannot
    /// wait for it. If the bag then contains a product without facts, the transaction changes nothing, and the catalog
    /// is asked again.
    /// - Parameter requiresUsableCode: whether the change fails when the discount code cannot be used.
    private func change(
        _ request: ServiceRequest, _ reader: StoreReader, adding product: String?, requiresUsableCode: Bool = false,
        _ work: @escaping Work
    ) throws -> ServiceRoutes.Rest {
        let userId = try request.userId
        let present = try Self.open(userId, reader)
        let products = Set((present?.items ?? []).map(\.productId) + [product].compactMap(\.self))
        return { try await commit(request, of: userId, products, requiresUsableCode, work) }
    }

    private func commit(
        _ request: ServiceRequest, of userId: String, _ products: Set<String>, _ requiresUsableCode: Bool,
        _ work: @escaping Work
    ) async throws -> BusReply {
        var facts = try await facts(products, request)
        for _ in 0..<Self.roundsMax {
            do {
                return try await host.commit(request) { [facts, currency] transaction in
                    try KnownPrices.remember(facts.prices, in: transaction)
                    let view = try BagView(
                        order: work(userId, facts, transaction), currency: currency, at: transaction.now,
                        in: transaction)
                    let missing = view.missing(from: facts)
                    guard missing.isEmpty else { throw FactsMissing(products: missing) }
                    if requiresUsableCode { _ = try view.discountMinorUnits(facts.prices).get() }
                    return try .result(view.json(facts))
                }
            } catch let missing as FactsMissing {
                facts.merge(try await self.facts(missing.products, request))
            }
        }
        throw ParseError(.serviceUnavailable, "The bag is changing too fast; try again.")
    }

    private func facts(_ products: Set<String>, _ request: ServiceRequest) async throws -> ProductFacts {
        try await catalog.facts(about: products, as: request.envelope.principal, for: request)
    }

    private static func productId(_ parameters: JSON) throws -> String {
        guard let id = parameters["productId"]?.stringValue else {
            throw ParseError(.validationError, "productId is missing or not a string.")
        }
        guard Names.isObjectId(id) else { throw ParseError.objectNotFound }
        return id
    }
}
