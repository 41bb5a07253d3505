import ParseProtocol

/// The steps that an order allows in its stored state. No I/O: `OrderLedger` performs the decisions.
///
/// ```
///   unfulfilled ── ship ──> shipped ── deliver ──> delivered
///        └── cancel ──> cancelled
///
///   paid ── refund ──> partiallyRefunded ── refund ──> refunded
/// ```
///
/// Goods and payment are independent, except that goods whose payment was refunded are not shipped. A cancellation
/// first refunds the rest of the charge. During a refund the order keeps its state and accepts no other step.
package struct OrderLifecycle: Sendable, Equatable {
    package enum Step: Sendable, Equatable {
        case ship(Shipment)
        /// Replaces the shipment of a shipped order.
        case correctTracking(Shipment)
        case deliver
        case cancel
        /// Minor units; nil for everything that is left.
        case refund(Int64?)

        /// The cloud function of the step. The audit log uses it as the name.
        var function: String {
            switch self {
            case .ship: "shipOrder"
            case .correctTracking: "correctTracking"
            case .deliver: "deliverOrder"
            case .cancel: "cancelOrder"
            case .refund: "refundOrder"
            }
        }

        /// The form in sentences: "The order cannot be shipped."
        var participle: String {
            switch self {
            case .ship: "shipped"
            case .correctTracking: "given another tracking number"
            case .deliver: "delivered"
            case .cancel: "cancelled"
            case .refund: "refunded"
            }
        }
    }

    package enum Decision: Sendable, Equatable {
        /// Already done: repeat the earlier answer.
        case nothing
        /// A refund is running: wait for its end.
        case join
        /// No refund is needed: the status changes at once.
        case change(OrderStatus)
        /// The shipment changes, the status does not.
        case correct(Shipment)
        /// Refund this amount first; then the status changes.
        case refund(Int64, then: OrderStatus)
    }

    /// A pending refund.
    package struct Refund: Sendable, Equatable {
        package let purpose: RefundPurpose
        package let amount: Int64

        package init(_ purpose: RefundPurpose, _ amount: Int64) {
            self.purpose = purpose
            self.amount = amount
        }
    }

    /// Nil for a number that is not a Satchel status, which an import may bring.
    package var status: OrderStatus?
    package var fulfillment = OrderDimensions.Fulfillment.unfulfilled
    package var shipment = Shipment()
    /// In minor units: the amount charged by Satchel. For a charge made outside Satchel, the amount without the refunds
    /// made outside. 0 for an order that cost nothing, or whose charge is not known.
    package var charged: Int64 = 0
    /// The part of `charged` whose refund the provider confirmed.
    package var refundedAmount: Int64 = 0
    package var pendingRefund: Refund?

    package init(_ status: OrderStatus?, charged: Int64 = 0) {
        self.status = status
        self.charged = charged
        if status == .shipped { fulfillment = .shipped }
        if status == .delivered { fulfillment = .delivered }
    }

    /// - Throws: `.validationError` (142) with the order's state, when the step is not allowed.
    package func decide(_ step: Step) throws(ParseError) -> Decision {
        // Also while the refund of a cancelled order, which the bank had reversed, is repeated.
        if case .cancel = step, status == .cancelled { return .nothing }
        if let pendingRefund { return try decide(step, during: pendingRefund) }
        // The bank reversed a refund of the cancelled order, so the shop still owes its amount.
        if case .refund(let amount) = step, status == .cancelled, left > 0 { return try decideRefund(amount) }
        guard let status, status != .open, status != .cancelled else {
            throw refusal("and cannot be \(step.participle)")
        }
        switch (step, fulfillment) {
        case (.ship, .unfulfilled) where status != .refunded: return .change(.shipped)
        case (.ship(let wanted), .shipped):
            guard wanted == shipment || wanted == Shipment() else {
                throw Self.invalid(
                    "The order is already shipped with other tracking details; use correctTracking.")
            }
            return .nothing
        case (.ship, _): throw refusal("and cannot be shipped")
        case (.correctTracking, .unfulfilled), (.deliver, .unfulfilled): throw refusal("and not shipped yet")
        case (.correctTracking(let wanted), .shipped): return wanted == shipment ? .nothing : .correct(wanted)
        case (.correctTracking, .delivered): throw refusal("and cannot be \(step.participle)")
        case (.deliver, .shipped): return .change(.delivered)
        case (.deliver, .delivered): return .nothing
        case (.cancel, .unfulfilled): return left > 0 ? .refund(left, then: .cancelled) : .change(.cancelled)
        case (.cancel, _): throw refusal("and cannot be cancelled")
        case (.refund(let amount), _): return try decideRefund(amount)
        }
    }

    var left: Int64 { max(0, charged - refundedAmount) }

    private func decide(_ step: Step, during refund: Refund) throws(ParseError) -> Decision {
        switch (step, refund.purpose) {
        case (.cancel, .cancel): return .join
        // Two requests to refund everything that is left are the same refund. Two requests for an amount are two
        // refunds, unless they share a key.
        case (.refund(nil), .refund) where refund.amount == left: return .join
        case (_, .cancel): throw Self.invalid("The order is being cancelled; its refund is pending.")
        case (_, .refund): throw Self.invalid("The order is being refunded; its refund is pending.")
        }
    }

    private func decideRefund(_ amount: Int64?) throws(ParseError) -> Decision {
        // Everything was already refunded. A request with an amount is a separate refund.
        if status == .refunded, amount == nil, left == 0 { return .nothing }
        guard charged > 0 else {
            throw Self.invalid(
                """
                There is nothing to refund: Satchel did not charge this order, and it names no refundable charge in \
                stripePaymentId. Refund a payment made elsewhere at its provider.
                """)
        }
        let wanted = amount ?? left
        guard (1...max(1, left)).contains(wanted), left > 0 else {
            throw Self.invalid(
                "At most \(left) of \(charged) minor units can still be refunded; \(wanted) were requested.")
        }
        return .refund(wanted, then: .refunded)
    }

    private var word: String { status?.word ?? "in a state that is not known" }

    private func refusal(_ text: String) -> ParseError { Self.invalid("The order is \(word) \(text).") }

    private static func invalid(_ text: String) -> ParseError { ParseError(.validationError, text) }
}
