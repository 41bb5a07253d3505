import ObjectStore
import ParseProtocol

/// What the bag knows of the customer when a checkout begins.
package struct Customer: Sendable {
    package let userId: String
    /// Empty when there is none.
    package let email: String
    /// The `_User`, or nil when it was not asked for.
    package let profile: JSON?

    package init(userId: String, email: String, profile: JSON?) {
        self.userId = userId
        self.email = email
        self.profile = profile
    }
}

extension CheckoutLedger {
    /// Begins a checkout of the customer's order, or finds the one that this request belongs to: the same key, the same order
    /// being paid at this moment, or the same order paid before.
    ///
    /// What is refused here (an empty bag, an incomplete address) is not a checkout: nothing is stored, and the same key can be
    /// used again.
    /// - Parameter keys: names of this request. They all lead to the checkout from now on.
    /// - Returns: the id of the checkout.
    package func start(_ request: CheckoutRequest, by customer: Customer, keys: [String]) async throws -> String {
        try await store.write { transaction in
            let id = try Self.start(request, customer, keys, in: transaction)
            for key in keys {
                _ = try transaction.execute(
                    """
                    INSERT INTO checkoutKeys(customerId, key, checkoutId) VALUES (?, ?, ?)
                    ON CONFLICT(customerId, key) DO NOTHING
                    """,
                    [.text(customer.userId), .text(key), .text(id)])
            }
            return id
        }
    }

    private static func start(
        _ request: CheckoutRequest, _ customer: Customer, _ keys: [String], in transaction: StoreTransaction
    ) throws -> String {
        if let known = try known(keys, of: customer.userId, in: transaction) { return known }
        let order = try order(request, of: customer.userId, in: transaction)
        if let running = try running(order.objectId, in: transaction) { return running }
        guard order.document["orderStatus"]?.intValue == 0 else {
            let made = try transaction.rows(
                "SELECT id FROM checkouts WHERE orderId = ? AND state = 'made'", [.text(order.objectId)])
            guard let id = made.first?.text("id") else {
                throw ParseError(.validationError, "This order cannot be paid.")
            }
            return id
        }
        guard !order.items.isEmpty else { throw emptyBag }
        try requireReservable(order.items)
        // They become the order's when it is made: a checkout that fails leaves the order as it was.
        var fields = JSON.object(request.texts)
        fields["shippingAddress"] = try address(request, order, customer).json
        return try insert(request, order, fields, customer, in: transaction)
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
        _ request: CheckoutRequest, _ order: OpenOrder, _ customer: Customer
    ) throws -> ShippingAddress {
        let address =
            if let sent = request.shippingAddress {
                sent
            } else if let ofOrder = order.document["shippingAddress"], !ofOrder.isNull {
                try ShippingAddress(ofOrder)
            } else {
                ShippingAddress(profile: customer.profile ?? [:])
            }
        try address.requireComplete()
        return address
    }

    private static func insert(
        _ request: CheckoutRequest, _ order: OpenOrder, _ fields: JSON, _ customer: Customer,
        in transaction: StoreTransaction
    ) throws -> String {
        let id = "co_" + Names.random(20)
        let lines = order.items.map {
            Checkout.Line(itemId: $0.objectId, productId: $0.productId, quantity: $0.quantity).json
        }
        let attempts = try transaction.rows(
            "SELECT count(*) AS attempts FROM checkouts WHERE orderId = ?", [.text(order.objectId)])
        _ = try transaction.execute(
            """
            INSERT INTO checkouts(id, orderId, customerId, attempt, state, lines, expectedAmount, source, email, orderFields,
            createdAt, updatedAt) VALUES (?, ?, ?, ?, 'started', ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(id), .text(order.objectId), .text(customer.userId),
                .int((attempts.first?.int("attempts") ?? 0) + 1),
                .text(JSON.array(lines).serializedText), request.amount.map(SQLValue.int) ?? .null,
                .text(request.source.json.serializedText), .text(customer.email),
                .text(fields.serializedText), .int(transaction.now.milliseconds), .int(transaction.now.milliseconds),
            ])
        return id
    }
}
