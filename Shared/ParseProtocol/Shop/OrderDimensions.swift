/// The three independent dimensions of a placed order: how far its goods are, what remains of its payment, and whether
/// it was cancelled. `orderState` sums them up for clients that read one field.
package struct OrderDimensions: Sendable, Equatable {
    /// The field `fulfillmentStatus`.
    package enum Fulfillment: String, Sendable, CaseIterable { case unfulfilled, shipped, delivered }
    /// The field `paymentStatus`. An order that was paid elsewhere, or cost nothing, is `paid`.
    package enum Payment: String, Sendable, CaseIterable { case paid, partiallyRefunded, refunded }

    package var fulfillment = Fulfillment.unfulfilled
    package var payment = Payment.paid
    package var isCancelled = false

    /// An order that was just placed.
    package init() {}

    /// The dimensions of a stored order; nil for a bag, and for an order whose state is unknown.
    ///
    /// Orders of earlier releases, and imported ones, may have neither field. Then `orderState`, the times of the steps
    /// and the amounts tell: an order was `refunded` after any refund in those releases.
    package init?(order: JSON) {
        guard let status = OrderStatus(order: order), status != .open else { return nil }
        func text(_ name: String) -> String? { order[name]?.stringValue }
        func has(_ name: String) -> Bool { order[name].map { !$0.isNull } ?? false }
        isCancelled = status == .cancelled
        fulfillment =
            text("fulfillmentStatus").flatMap(Fulfillment.init)
            ?? (status == .delivered || has("deliveredAt")
                ? .delivered : status == .shipped || has("shippedAt") ? .shipped : .unfulfilled)
        payment =
            text("paymentStatus").flatMap(Payment.init)
            ?? Self.payment(
                refunded: order["refundedTotal"]?.intValue ?? 0, of: order["total"]?.intValue,
                isRefunded: status == .refunded)
    }

    private static func payment(refunded: Int64, of total: Int64?, isRefunded: Bool) -> Payment {
        guard refunded > 0 else { return isRefunded ? .refunded : .paid }
        return refunded < total ?? 0 ? .partiallyRefunded : .refunded
    }

    /// The order's state in one word.
    package var status: OrderStatus {
        if isCancelled { return .cancelled }
        if payment == .refunded { return .refunded }
        switch fulfillment {
        case .unfulfilled: return .made
        case .shipped: return .shipped
        case .delivered: return .delivered
        }
    }

    /// The fields of an order in these dimensions.
    package var fields: [String: JSON] {
        status.fields.merging([
            "fulfillmentStatus": .string(fulfillment.rawValue), "paymentStatus": .string(payment.rawValue),
        ]) { $1 }
    }
}
