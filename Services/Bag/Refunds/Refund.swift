import ParseProtocol

/// A refund as it was decided. Stored before payments is asked.
package struct Refund: Sendable, Equatable {
    /// Identifies the refund in every service; the operation id in payments.
    package let id: String
    package let orderId: String
    /// The operation that charged the customer.
    package let checkoutId: String
    package let purpose: RefundPurpose
    /// 1 to the remaining amount of the charge, in minor units.
    package let amount: Int64
    /// Whether the order was cancelled before, by a refund that the bank reversed.
    package var isOfCancelledOrder = false

    package init(id: String, orderId: String, checkoutId: String, purpose: RefundPurpose, amount: Int64) {
        self.id = id
        self.orderId = orderId
        self.checkoutId = checkoutId
        self.purpose = purpose
        self.amount = amount
    }
}

/// Why money is refunded; decides the order's next state.
package enum RefundPurpose: String, Sendable {
    case cancel, refund

    var status: OrderStatus { self == .cancel ? .cancelled : .refunded }
}
