import ParseProtocol

/// Money that goes back to a customer, as it was decided. Stored before payments is asked.
package struct Refund: Sendable, Equatable {
    /// Names the refund everywhere: it is the operation's id at payments.
    package let id: String
    package let orderId: String
    /// The operation that took the money.
    package let checkoutId: String
    package let purpose: RefundPurpose
    /// 1 to what is left of the charge, in minor units.
    package let amount: Int64

    package init(id: String, orderId: String, checkoutId: String, purpose: RefundPurpose, amount: Int64) {
        self.id = id
        self.orderId = orderId
        self.checkoutId = checkoutId
        self.purpose = purpose
        self.amount = amount
    }
}

/// The purpose of giving money back, which decides what the order is afterwards.
package enum RefundPurpose: String, Sendable {
    case cancel, refund

    var status: OrderStatus { self == .cancel ? .cancelled : .refunded }
}
