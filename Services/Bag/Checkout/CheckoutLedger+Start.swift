import ObjectStore
import ParseProtocol

/// The customer, with what the bag knows when a checkout begins.
package struct Customer: Sendable {
    package let userId: String
    /// The recipient of the confirmation; empty when there is none.
    package let email: String
    /// The `_User` object; nil when it was not loaded.
    package let profile: JSON?
    /// `email`, when it came with this order instead of the account.
    package var givenEmail: String?
    /// The cause recorded for a mail to `email`.
    package var mailCause = MailCause()

    package init(userId: String, email: String, profile: JSON?) {
        self.userId = userId
        self.email = email
        self.profile = profile
    }
}

/// Thrown when the prices of these products for the customer are needed before a checkout can begin.
struct PricesMissing: Error { let products: Set<String> }

extension CheckoutLedger {
    /// Begins a checkout of the customer's order, or finds the existing one of this request: same key, same order being
    /// paid now, or same order already placed.
    ///
    /// A request refused here (an empty bag, an incomplete address) creates no checkout: nothing is stored, and the
    /// client may use the key again.
    /// - Parameters:
    ///   - keys: the idempotency keys of this request, which are stored with the checkout.
    ///   - prices: the catalog's prices for this customer. Each product needs one, because the reservation runs with
    ///     Satchel's rights and would accept hidden products.
    ///   - share: the client budget that the transaction is charged to.
    ///   - began: called with a new checkout on the writer thread, after its commit and before the next one. Must not
    ///     block.
    /// - Returns: the id of the checkout.
    /// - Throws: `PricesMissing` when `prices` lacks a product of the bag.
    package func start(
        _ request: CheckoutRequest, by customer: Customer, keys: [String], prices: Prices, for share: WorkShare?,
        began: @escaping @Sendable (Checkout) -> Void = { _ in }
    ) async throws -> String {
        try await store.write(for: share) { [self] transaction in
            if let id = try CheckoutKeys.checkout(keys, of: customer.userId, request, in: transaction) { return id }
            let (id, isDecided, new) = try start(request, customer, prices, in: transaction)
            try CheckoutKeys.keep(
                keys, of: customer.userId, request, for: id, isDecided: isDecided, in: transaction)
            if let new { transaction.afterCommit { began(new) } }
            return id
        }
    }

    /// Retries of a request end long before a day has passed.
    private static let requestKeysKept = Duration.seconds(86_400)
    /// Keys removed in one transaction: takes a few milliseconds, so checkouts are not delayed.
    package static let requestKeysForgottenMax = 500

    /// Removes expired request keys, the oldest first.
    /// - Returns: true when more may remain.
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

    /// Whether the checkout awaits confirmation and no earlier request for it had this fingerprint: the customer has
    /// changed the card or the address.
    private func isSuperseded(
        _ checkoutId: String, by request: CheckoutRequest, of customer: Customer, in transaction: StoreTransaction
    ) throws -> Bool {
        let found = try transaction.rows(
            """
            SELECT 1 FROM checkouts WHERE id = ? AND actionSince IS NOT NULL AND NOT EXISTS (SELECT 1 FROM checkoutKeys
            WHERE checkoutKeys.customerId = ? AND checkoutId = ? AND request = ?)
            """,
            [.text(checkoutId), .text(customer.userId), .text(checkoutId), .text(request.fingerprint)])
        return !found.isEmpty
    }

    private func start(
        _ request: CheckoutRequest, _ customer: Customer, _ prices: Prices, in transaction: StoreTransaction
    ) throws -> (id: String, isDecided: Bool, new: Checkout?) {
        let order = try Self.order(request, of: customer.userId, in: transaction)
        if let running = try Self.running(order.objectId, in: transaction) {
            if request.allowsAction, try isSuperseded(running, by: request, of: customer, in: transaction) {
                throw UnconfirmedCheckout(checkoutId: running)
            }
            return (running, false, nil)
        }
        try AccountDeletion.requireNone(of: customer.userId, in: transaction)
        let status = OrderStatus(order: order.document)
        guard status == .open else {
            let made = try transaction.rows(
                "SELECT id FROM checkouts WHERE orderId = ? AND state = 'made'", [.text(order.objectId)])
            guard let status, status.isPaid, let id = try made.first?.text("id") else {
                throw ParseError(.validationError, "This order cannot be paid.")
            }
            return (id, true, nil)
        }
        guard !order.items.isEmpty else { throw Self.emptyBag }
        try Self.requireReservable(order.items)
        try Self.requireOffered(order.items, prices)
        let discount = try Self.discount(request, order, prices, in: transaction)
        let lines = order.items.map {
            DiscountTerms.Line(
                productId: $0.productId,
                minorUnits: Int64($0.quantity) * (prices.unitPriceMinorUnits[$0.productId] ?? 0))
        }
        let taken = try discount?.shares(of: lines).reduce(0, +) ?? 0
        let total = lines.reduce(0) { $0 + $1.minorUnits } - taken
        guard total == 0 || request.source != .nothing else { throw CheckoutRequest.needsOneSource }
        // These fields are written to the order only when it is placed: a failed checkout leaves the order unchanged.
        var fields = JSON.object(request.texts)
        let address = try address(request, order, customer, in: transaction)
        if !address.members.isEmpty { fields["shippingAddress"] = address.json }
        // The shop must be able to reach a customer whose account has no e-mail address.
        if let email = customer.givenEmail { fields["email"] = .string(email) }
        let checkout = Checkout(
            id: "co_" + Names.random(20), orderId: order.objectId, customerId: customer.userId,
            lines: order.items.map {
                Checkout.Line(itemId: $0.objectId, productId: $0.productId, quantity: $0.quantity)
            },
            expectedAmount: request.amount, source: request.source, email: customer.email, discount: discount,
            orderFields: fields, allowsAction: request.allowsAction)
        try Self.insert(checkout, leases, in: transaction)
        if !customer.email.isEmpty { try customer.mailCause.keep(for: checkout.id, in: transaction) }
        try Self.requirePlaceable(checkout, in: transaction)
        return (checkout.id, false, checkout)
    }

    private static func requireOffered(_ items: [BagItem], _ prices: Prices) throws {
        let products = Set(items.map(\.productId))
        let unknown = products.subtracting(prices.asked)
        guard unknown.isEmpty else { throw PricesMissing(products: unknown) }
        guard let gone = products.sorted().first(where: { prices.unitPriceMinorUnits[$0] == nil }) else { return }
        throw ParseError(
            .validationError, "A product in the bag is not for sale any more.", details: ["productId": .string(gone)])
    }

    /// The terms of the request's code, or else of the bag's. Inserting the checkout reserves the use.
    private static func discount(
        _ request: CheckoutRequest, _ order: OpenOrder, _ prices: Prices, in transaction: StoreTransaction
    ) throws -> DiscountTerms? {
        guard let text = request.discountCode ?? order.discountCode else { return nil }
        return try DiscountCodes.usable(text, by: order.customerId, at: transaction.now, in: transaction).terms(prices)
    }

    static let emptyBag = ParseError(.validationError, "The bag is empty.")

    private static func order(
        _ request: CheckoutRequest, of customerId: String, in transaction: StoreTransaction
    ) throws -> OpenOrder {
        guard let orderId = request.orderId else {
            guard let open = try OpenOrder.find(for: customerId, in: transaction) else { throw emptyBag }
            return open
        }
        let document = try JSON(parsing: try transaction.get("Order", orderId, caller: .master))
        guard document["customer"]?.pointerTarget?.objectId == customerId else { throw ParseError.objectNotFound }
        return try OpenOrder(document: document, in: transaction)
    }

    /// An app that saves lines itself may have several lines of one product. The catalog reserves at most 999 pieces of
    /// one product.
    private static func requireReservable(_ items: [BagItem]) throws {
        let sums = Dictionary(items.map { ($0.productId, $0.quantity) }, uniquingKeysWith: +)
        guard sums.values.allSatisfy({ (1...Quantity.max).contains($0) }) else {
            throw ParseError(.validationError, "The quantity of a product must be 1 to \(Quantity.max).")
        }
    }

    private func address(
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
                try Self.address(of: customer, request.addressNeed, in: transaction)
            }
        switch request.addressNeed {
        case .complete: try address.requireComplete(requiredAddress)
        case .ofPaymentSheet: if request.shippingAddress != nil { try address.requireDeliverable() }
        }
        return address
    }

    /// The account's address. An app whose payment sheet sends no address may store it as an `Address` object instead.
    private static func address(
        of customer: Customer, _ need: CheckoutRequest.AddressNeed, in transaction: StoreTransaction
    ) throws -> ShippingAddress {
        let address = ShippingAddress(profile: customer.profile ?? [:])
        guard need == .ofPaymentSheet, !address.isDeliverable else { return address }
        return try AddressBook.defaultAddress(of: customer.userId, in: transaction) ?? address
    }

    private static func insert(
        _ checkout: Checkout, _ leases: CheckoutLeases?, in transaction: StoreTransaction
    ) throws {
        let attempts = try transaction.rows(
            "SELECT count(*) AS attempts FROM checkouts WHERE orderId = ?", [.text(checkout.orderId)])
        _ = try transaction.execute(
            """
            INSERT INTO checkouts(id, orderId, customerId, attempt, state, lines, expectedAmount, source, email, \
            orderFields, discount, discountCode,
            allowsAction, createdAt, updatedAt, driver, drivenUntil)
            VALUES (?, ?, ?, ?, 'started', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(checkout.id), .text(checkout.orderId), .text(checkout.customerId),
                .int((try attempts.first?.int("attempts") ?? 0) + 1),
                .text(JSON.array(checkout.lines.map(\.json)).serializedText),
                checkout.expectedAmount.map(SQLValue.int) ?? .null, .text(checkout.source.json.serializedText),
                .text(checkout.email), .text(checkout.orderFields.serializedText),
                (checkout.discount?.json.serializedText).map(SQLValue.text) ?? .null,
                (checkout.discount?.code).map(SQLValue.text) ?? .null,
                .int(checkout.allowsAction ? 1 : 0),
                .int(transaction.now.milliseconds), .int(transaction.now.milliseconds),
            ] + (leases?.values(at: transaction.now) ?? [.null, .int(0)]))
    }
}

/// Thrown when the bag has a checkout whose customer has to confirm the charge. It has to end first.
package struct UnconfirmedCheckout: Error {
    package let checkoutId: String
}
