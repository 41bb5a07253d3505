import ObjectStore
import ParseProtocol

/// The customer, as the bag knows them when a checkout begins.
package struct Customer: Sendable {
    package let userId: String
    /// The address of the confirmation; empty when there is none.
    package let email: String
    /// The `_User`, or nil when it was not asked for.
    package let profile: JSON?
    /// `email`, when it is not the account's but came with this order.
    package var givenEmail: String?
    /// The cause of a mail to `email`.
    package var mailCause = MailCause()

    package init(userId: String, email: String, profile: JSON?) {
        self.userId = userId
        self.email = email
        self.profile = profile
    }
}

/// A checkout can begin once it is known what these products cost the customer.
struct PricesMissing: Error { let products: Set<String> }

extension CheckoutLedger {
    /// Begins a checkout of the customer's order, or finds the one that this request belongs to: the same key, the same
    /// order being paid at this moment, or the same order paid before.
    ///
    /// What is refused here (an empty bag, an incomplete address) is not a checkout: nothing is stored, and the same
    /// key can be used again.
    /// - Parameters:
    ///   - keys: names of this request. They all lead to the checkout from now on.
    ///   - prices: what the catalog told this customer. It reserves for Satchel itself, which sees every product, so
    ///     that nothing may get there that the customer was not offered.
    ///   - began: called with a new checkout on the writer's thread, after its commit and before the next one. Must not
    ///     block.
    /// - Returns: the id of the checkout.
    /// - Throws: `PricesMissing` when `prices` lacks a product of the bag.
    package func start(
        _ request: CheckoutRequest, by customer: Customer, keys: [String], prices: Prices,
        began: @escaping @Sendable (Checkout) -> Void = { _ in }
    ) async throws -> String {
        try await store.write { [turns] transaction in
            if let id = try Self.known(keys, of: customer.userId, orderId: request.orderId, in: transaction) {
                return id
            }
            let (id, isDecided, new) = try Self.start(request, customer, prices, turns, in: transaction)
            // A request is repeated within seconds; who asks again for an order that was made is answered by the order.
            for key in keys {
                let isOfRequest = key.hasPrefix("request:")
                guard !isDecided || !isOfRequest else { continue }
                _ = try transaction.execute(
                    """
                    INSERT INTO checkoutKeys(customerId, key, checkoutId, requestedAt) VALUES (?, ?, ?, ?)
                    ON CONFLICT(customerId, key) DO NOTHING
                    """,
                    [
                        .text(customer.userId), .text(key), .text(id),
                        isOfRequest ? .int(transaction.now.milliseconds) : .null,
                    ])
            }
            if let new { transaction.afterCommit { began(new) } }
            return id
        }
    }

    /// A day is far longer than any request is repeated.
    private static let requestKeysKept = Duration.seconds(86_400)
    /// Keys removed in one transaction: some milliseconds, which no checkout notices.
    package static let requestKeysForgottenMax = 500

    /// Removes keys of requests that nobody repeats any more, the oldest first.
    /// - Returns: true when there may be more of them.
    package static func forgetRequestKeys(in transaction: StoreTransaction) throws -> Bool {
        let removed = try transaction.execute(
            """
            DELETE FROM checkoutKeys WHERE (customerId, key) IN (SELECT customerId, key FROM checkoutKeys
            WHERE requestedAt < ? ORDER BY requestedAt LIMIT ?)
            """,
            [
                .int(transaction.now.advanced(by: .zero - requestKeysKept).milliseconds),
                .int(Int64(requestKeysForgottenMax)),
            ])
        return removed == requestKeysForgottenMax
    }

    private static func start(
        _ request: CheckoutRequest, _ customer: Customer, _ prices: Prices, _ turns: CheckoutTurns?,
        in transaction: StoreTransaction
    ) throws -> (id: String, isDecided: Bool, new: Checkout?) {
        let order = try order(request, of: customer.userId, in: transaction)
        if let running = try running(order.objectId, in: transaction) { return (running, false, nil) }
        let status = OrderStatus(order: order.document)
        guard status == .open else {
            let made = try transaction.rows(
                "SELECT id FROM checkouts WHERE orderId = ? AND state = 'made'", [.text(order.objectId)])
            guard let status, status.isPaid, let id = try made.first?.text("id") else {
                throw ParseError(.validationError, "This order cannot be paid.")
            }
            return (id, true, nil)
        }
        guard !order.items.isEmpty else { throw emptyBag }
        try requireReservable(order.items)
        try requireOffered(order.items, prices)
        let total = order.items.reduce(0) { $0 + Int64($1.quantity) * (prices.unitPriceMinorUnits[$1.productId] ?? 0) }
        guard total == 0 || request.source != .nothing else { throw CheckoutRequest.needsOneSource }
        // They become the order's when it is made: a checkout that fails leaves the order as it was.
        var fields = JSON.object(request.texts)
        let address = try address(request, order, customer, in: transaction)
        if !address.members.isEmpty { fields["shippingAddress"] = address.json }
        // The shop must be able to reach a customer whose account has no address.
        if let email = customer.givenEmail { fields["email"] = .string(email) }
        let checkout = Checkout(
            id: "co_" + Names.random(20), orderId: order.objectId, customerId: customer.userId,
            lines: order.items.map {
                Checkout.Line(itemId: $0.objectId, productId: $0.productId, quantity: $0.quantity)
            },
            expectedAmount: request.amount, source: request.source, email: customer.email, orderFields: fields)
        try insert(checkout, turns, in: transaction)
        if !customer.email.isEmpty { try customer.mailCause.keep(for: checkout.id, in: transaction) }
        try proveCompletable(checkout, in: transaction)
        return (checkout.id, false, checkout)
    }

    private static func requireOffered(_ items: [BagItem], _ prices: Prices) throws {
        let products = Set(items.map(\.productId))
        let unknown = products.subtracting(prices.asked)
        guard unknown.isEmpty else { throw PricesMissing(products: unknown) }
        guard let gone = products.sorted().first(where: { prices.unitPriceMinorUnits[$0] == nil }) else { return }
        throw ParseError(
            .validationError, "A product in the bag is not sold any more.", details: ["productId": .string(gone)])
    }

    private static let emptyBag = ParseError(.validationError, "The bag is empty.")

    private static func order(
        _ request: CheckoutRequest, of customerId: String, in transaction: StoreTransaction
    ) throws -> OpenOrder {
        guard let orderId = request.orderId else {
            guard let open = try OpenOrder.find(for: customerId, in: transaction) else { throw emptyBag }
            return open
        }
        let document = try JSON(clientText: try transaction.get("Order", orderId, caller: .master))
        guard document["customer"]?.pointerTarget?.objectId == customerId else { throw ParseError.objectNotFound }
        return try OpenOrder(document: document, in: transaction)
    }

    /// An app that saves lines itself may have several of one product; the catalog reserves at most 999 of one.
    private static func requireReservable(_ items: [BagItem]) throws {
        let sums = Dictionary(items.map { ($0.productId, $0.quantity) }, uniquingKeysWith: +)
        guard sums.values.allSatisfy({ (1...Quantity.max).contains($0) }) else {
            throw ParseError(.validationError, "A product can be ordered 1 to \(Quantity.max) times.")
        }
    }

    private static func address(
        _ request: CheckoutRequest, _ order: OpenOrder, _ customer: Customer, in transaction: StoreTransaction
    ) throws -> ShippingAddress {
        let address =
            if let sent = request.shippingAddress {
                sent
            } else if let id = request.addressId {
                try AddressBook.shippingAddress(id, of: customer.userId, in: transaction)
            } else if let ofOrder = order.document["shippingAddress"], !ofOrder.isNull {
                try ShippingAddress(ofOrder)
            } else {
                ShippingAddress(profile: customer.profile ?? [:])
            }
        switch request.addressNeed {
        case .complete: try address.requireComplete()
        case .ofPaymentSheet: if request.shippingAddress != nil { try address.requireDeliverable() }
        }
        return address
    }

    private static func insert(
        _ checkout: Checkout, _ turns: CheckoutTurns?, in transaction: StoreTransaction
    ) throws {
        let attempts = try transaction.rows(
            "SELECT count(*) AS attempts FROM checkouts WHERE orderId = ?", [.text(checkout.orderId)])
        _ = try transaction.execute(
            """
            INSERT INTO checkouts(id, orderId, customerId, attempt, state, lines, expectedAmount, source, email, \
            orderFields,
            createdAt, updatedAt, driver, drivenUntil) VALUES (?, ?, ?, ?, 'started', ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(checkout.id), .text(checkout.orderId), .text(checkout.customerId),
                .int((try attempts.first?.int("attempts") ?? 0) + 1),
                .text(JSON.array(checkout.lines.map(\.json)).serializedText),
                checkout.expectedAmount.map(SQLValue.int) ?? .null, .text(checkout.source.json.serializedText),
                .text(checkout.email), .text(checkout.orderFields.serializedText),
                .int(transaction.now.milliseconds), .int(transaction.now.milliseconds),
            ] + (turns?.values(at: transaction.now) ?? [.null, .int(0)]))
    }
}
