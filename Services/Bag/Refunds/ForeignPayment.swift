import ParseProtocol

/// A charge made outside Satchel: by cloud code, or before the order was imported. The order has only the provider's id
/// of the charge, `stripePaymentId`; the provider reports the charged and the refunded amount (`adoptCharge` of
/// payments).
package struct ForeignPayment: Sendable, Equatable {
    /// The id of the charge in payments.
    let operationId: String
    let charged: Int64
    /// All refunds of the charge, through Satchel and outside it.
    let refunded: Int64
    let currency: String

    /// The provider's id of the charge that a step of an order must refund. Nil for an order of a checkout, for an
    /// order without a charge, and for an order whose `paymentStatus` is `refunded`.
    static func chargeId(of order: OrderRecord, for step: OrderLifecycle.Step) -> String? {
        let lifecycle = order.lifecycle
        guard order.payment == nil, lifecycle.pendingRefund == nil, let status = lifecycle.status,
            status != .open, OrderDimensions(order: order.document)?.payment != .refunded,
            let id = order.document["stripePaymentId"]?.stringValue, !id.isEmpty
        else { return nil }
        // The shop owes nothing for a cancelled order, except after a reversed refund.
        if status == .cancelled {
            guard case .refund = step, lifecycle.left > 0 else { return nil }
        }
        // Shipped orders cannot be cancelled, so this step refunds nothing.
        if case .cancel = step, lifecycle.fulfillment != .unfulfilled { return nil }
        return id
    }

    /// The lifecycle with the refundable amount: what remains of the charge, limited to the order's total, because one
    /// charge may have paid several orders.
    /// - Throws: `.validationError` (142) for a charge in another currency, when nothing remains, and when the request
    ///   names lines or restock, which only orders of a checkout support.
    func lifecycle(
        of order: OrderRecord, _ request: OrderLedger.StepRequest, _ shopCurrency: Currency
    ) throws -> OrderLifecycle {
        var lifecycle = order.lifecycle
        guard order.payment == nil, lifecycle.pendingRefund == nil else { return lifecycle }
        let expected = order.document.orderCurrency(shopCurrency.code)
        guard currency.lowercased() == expected else {
            throw ParseError(
                .validationError,
                "The order is in \(expected), its charge in \(currency). Refund the charge at the payment provider.")
        }
        let refundedOutside = max(0, refunded - lifecycle.refundedAmount)
        lifecycle.charged = max(0, charged - refundedOutside)
        let total = order.document["total"]?.intValue ?? 0
        if total > 0 { lifecycle.charged = min(lifecycle.charged, total) }
        guard case .refund = request.step else { return lifecycle }
        guard request.lines.isEmpty, !request.restock else {
            throw ParseError(
                .validationError,
                """
                This order was not paid through Satchel: use amount instead of lines, and change the stock of its \
                products separately.
                """)
        }
        guard lifecycle.charged > lifecycle.refundedAmount else {
            throw ParseError(
                .validationError,
                """
                This order's charge was already refunded at the payment provider. Set paymentStatus to refunded with \
                the master key.
                """)
        }
        return lifecycle
    }
}
