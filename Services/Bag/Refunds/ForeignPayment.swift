import ParseProtocol

/// A charge that the payments service did not make: cloud code made it, or its order was imported. The order has only
/// the id, `stripePaymentId`; the provider says what was charged and given back (`adoptCharge` of payments).
package struct ForeignPayment: Sendable, Equatable {
    /// Names the charge in payments.
    let operationId: String
    let charged: Int64
    /// All refunds of the charge, through Satchel and elsewhere.
    let refunded: Int64
    let currency: String

    package init(operationId: String, charged: Int64, refunded: Int64, currency: String) {
        self.operationId = operationId
        self.charged = charged
        self.refunded = refunded
        self.currency = currency
    }

    /// The charge that a step of an order gives back. Nil for an order of a checkout, for one without a charge, and for
    /// one whose `paymentStatus` says that everything was given back.
    static func chargeId(of order: OrderRecord, for step: OrderLifecycle.Step) -> String? {
        let lifecycle = order.lifecycle
        guard order.payment == nil, lifecycle.underWay == nil, let status = lifecycle.status,
            status != .open, status != .cancelled, OrderDimensions(order: order.document)?.payment != .refunded,
            let id = order.document["stripePaymentId"]?.stringValue, !id.isEmpty
        else { return nil }
        // Goods that are under way are not cancelled, so that nothing is given back.
        if case .cancel = step, lifecycle.fulfillment != .unfulfilled { return nil }
        return id
    }

    /// The order's steps with what can be given back: the rest of the charge, and at most the order's total, because a
    /// charge may have paid several orders.
    /// - Throws: `.validationError` (142) for a charge in another currency or without a rest, and for what needs the
    ///   lines of a checkout.
    func lifecycle(of order: OrderRecord, _ wish: OrderLedger.Wish, _ shop: Currency) throws -> OrderLifecycle {
        var lifecycle = order.lifecycle
        guard order.payment == nil, lifecycle.underWay == nil else { return lifecycle }
        let expected = order.document["currency"]?.stringValue ?? shop.code
        guard currency.lowercased() == expected.lowercased() else {
            throw ParseError(
                .validationError,
                "The order is in \(expected), its charge in \(currency). Refund the charge at the payment provider.")
        }
        let elsewhere = max(0, refunded - lifecycle.givenBack)
        lifecycle.charged = max(0, charged - elsewhere)
        let total = order.document["total"]?.intValue ?? 0
        if total > 0 { lifecycle.charged = min(lifecycle.charged, total) }
        guard case .refund = wish.step else { return lifecycle }
        guard wish.lines.isEmpty, !wish.restock else {
            throw ParseError(
                .validationError,
                """
                This order was paid elsewhere: name an amount in place of lines, and change the stock of its products \
                yourself.
                """)
        }
        guard lifecycle.charged > lifecycle.givenBack else {
            throw ParseError(
                .validationError,
                """
                Nothing is left of this order's charge: it was given back at the payment provider. Set paymentStatus \
                to refunded with the master key.
                """)
        }
        return lifecycle
    }
}
