import ParseProtocol

/// The steps that an order may take, by what is stored about it. No I/O: `OrderLedger` does what this decides.
///
/// ```
///   made ── ship ──> shipped ── deliver ──> delivered
///    │                  │                       │
///    ├── cancel ──> cancelled                   │      the money goes back first; meanwhile the order
///    │                  │                       │      stays as it is and nothing else happens to it
///    └── refund ────────┴──────> refunded <─────┘ <──╮
///                                    └── what is left ╯
/// ```
package struct OrderLifecycle: Sendable, Equatable {
    package enum Step: Sendable, Equatable {
        case ship(Shipment)
        case deliver
        case cancel
        /// Minor units; nil: all that is left.
        case refund(Int64?)

        /// The cloud function that asks for it, by which the audit log names it.
        var function: String {
            switch self {
            case .ship: "shipOrder"
            case .deliver: "deliverOrder"
            case .cancel: "cancelOrder"
            case .refund: "refundOrder"
            }
        }
    }

    package enum Decision: Sendable, Equatable {
        /// It was done before: answer as then.
        case nothing
        /// It is under way: wait for its end.
        case join
        /// Nothing has to be given back: the status changes at once.
        case change(OrderStatus)
        /// So much goes back; then the status changes.
        case giveBack(Int64, then: OrderStatus)
    }

    /// A refund that is not decided.
    package struct Refund: Sendable, Equatable {
        package let purpose: RefundPurpose
        package let amount: Int64

        package init(_ purpose: RefundPurpose, _ amount: Int64) {
            self.purpose = purpose
            self.amount = amount
        }
    }

    /// Nil for a number that is none of ours, as an import may bring.
    package var status: OrderStatus?
    package var shipment = Shipment()
    /// The amount that was paid through us, in minor units; 0 for an order that was imported. 0 for an order that was
    /// imported.
    package var charged: Int64 = 0
    /// The part of it that was given back.
    package var givenBack: Int64 = 0
    package var underWay: Refund?

    package init(_ status: OrderStatus?, charged: Int64 = 0) {
        self.status = status
        self.charged = charged
    }

    /// - Throws: `.validationError` (142) that says the order's state, when the step cannot be taken.
    package func decide(_ step: Step) throws(ParseError) -> Decision {
        if let underWay { return try decide(step, during: underWay) }
        switch step {
        case .ship(let wanted):
            if status == .made { return .change(.shipped) }
            if status == .shipped {
                guard wanted == shipment || wanted == Shipment() else {
                    throw refusal("and cannot be shipped in another way")
                }
                return .nothing
            }
            throw refusal("and cannot be shipped")
        case .deliver:
            if status == .shipped { return .change(.delivered) }
            if status == .delivered { return .nothing }
            throw refusal(status == .made ? "and not shipped yet" : "and cannot be delivered")
        case .cancel:
            if status == .cancelled { return .nothing }
            guard status == .made else { throw refusal("and cannot be cancelled") }
            return left > 0 ? .giveBack(left, then: .cancelled) : .change(.cancelled)
        case .refund(let amount): return try decideRefund(amount)
        }
    }

    private var left: Int64 { max(0, charged - givenBack) }

    private func decide(_ step: Step, during refund: Refund) throws(ParseError) -> Decision {
        switch (step, refund.purpose) {
        case (.cancel, .cancel): return .join
        // All that is left, asked for twice, is the same; an amount asked for twice is two refunds, unless a key says
        // otherwise.
        case (.refund(nil), .refund) where refund.amount == left: return .join
        case (_, .cancel): throw Self.invalid("The order is being cancelled; its refund is pending.")
        case (_, .refund): throw Self.invalid("The order is being refunded; its refund is pending.")
        }
    }

    private func decideRefund(_ amount: Int64?) throws(ParseError) -> Decision {
        switch status {
        case .made, .shipped, .delivered: break
        case .refunded:
            // All of what is left, when nothing is. An amount is a refund of its own.
            if amount == nil, left == 0 { return .nothing }
        default: throw refusal("and cannot be refunded")
        }
        guard charged > 0 else {
            guard amount ?? 0 == 0 else { throw Self.invalid("Nothing was paid for this order through the shop.") }
            return .change(.refunded)
        }
        let wanted = amount ?? left
        guard (1...max(1, left)).contains(wanted), left > 0 else {
            throw Self.invalid("The order is \(word): \(left) of \(charged) can be refunded, not \(wanted).")
        }
        return .giveBack(wanted, then: .refunded)
    }

    private var word: String { status?.word ?? "in a state that is not known" }

    private func refusal(_ text: String) -> ParseError { Self.invalid("The order is \(word) \(text).") }

    private static func invalid(_ text: String) -> ParseError { ParseError(.validationError, text) }
}
