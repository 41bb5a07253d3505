import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The stored state of placed orders. Every operator's or customer's step is one transaction.
package struct OrderLedger: Sendable {
    let store: ClassStore
    let outbox: any EventSink
    /// The shop's currency.
    let currency: Currency

    package init(store: ClassStore, outbox: any EventSink, currency: Currency) {
        self.store = store
        self.outbox = outbox
        self.currency = currency
    }

    /// A request for a step, with its details.
    package struct StepRequest: Sendable {
        package let step: OrderLifecycle.Step
        /// The customer who requests the step for an own order; nil for an operator.
        package let customerId: String?
        package var reason = ""
        /// Whether the goods of a refunded order return to stock. The goods of a cancelled order always do.
        package var restock = false
        /// The pieces that a refund is for. When the step names no amount, the refund is what was paid for them.
        package var lines = RefundLines()
        /// Idempotency keys of the request. A refund that began under one of them is the same refund, not another one
        /// of the same amount.
        package var keys: [String] = []
        /// The operator, for the audit log; nil when the customer requests the step.
        package var origin: AuditOrigin?
        /// The order's charge when it was made outside Satchel; nil for every other order.
        package var foreign: ForeignPayment?
        /// The name of the operator who refunds or cancels; empty for the master key, nil for a customer.
        package var madeBy: String?
        /// The reversed refund that this one repeats; of a chain of repetitions, the first.
        var retryOf: String?

        /// What a repeated request with the same key must also match, beside order and amount.
        var fingerprint: String {
            var members: JSON = ["reason": .string(reason), "restock": .bool(restock)]
            if !lines.isEmpty { members["lines"] = lines.json }
            return RequestFingerprint.of(members)
        }

        package init(_ step: OrderLifecycle.Step, by customerId: String?, reason: String = "", restock: Bool = false) {
            self.step = step
            self.customerId = customerId
            self.reason = reason
            self.restock = restock
        }
    }

    package enum Performed: Sendable, Equatable {
        /// The function's answer.
        case done(JSON)
        /// The answer depends on this refund, which may be pending.
        case waits(refundId: String)
    }

    /// Performs the step, or begins the refund that the step needs.
    /// - Parameter contact: the customer's current address; nil when it is unknown.
    /// - Throws: `.objectNotFound` (101) for an order that is missing or belongs to another customer,
    ///   `.validationError` (142) when the step is not allowed.
    package func perform(
        _ request: StepRequest, _ orderId: String, contact: CustomerContact?, for share: WorkShare?
    ) async throws -> Performed {
        try await store.write(for: share) { transaction in
            let order = try Self.order(orderId, of: request.customerId, in: transaction)
            if case .refund(let amount) = request.step,
                let known = try RefundKeys.refund(
                    request.keys, of: orderId, amount: amount, fingerprint: request.fingerprint, in: transaction)
            {
                return .waits(refundId: known)
            }
            if order.lifecycle.status == .open, try CheckoutLedger.running(orderId, in: transaction) != nil {
                throw request.customerId == nil ? Self.beingPaid : CheckoutLedger.beingPaid
            }
            if request.restock, order.lifecycle.status == .cancelled {
                throw ParseError(.validationError, "The goods of a cancelled order are in stock already.")
            }
            let lifecycle = try request.foreign?.lifecycle(of: order, request, currency) ?? order.lifecycle
            switch try lifecycle.decide(Self.step(request, order, in: transaction)) {
            case .nothing: return .done(order.answer)
            case .join:
                guard let id = try RefundLedger.pending(orderId, in: transaction) else {
                    throw ParseError.internalError
                }
                return .waits(refundId: id)
            case .refund(let amount, let status):
                return .waits(refundId: try begin(request, order, lifecycle, amount, status, in: transaction))
            case .change(let status):
                if status == .shipped { try RefundLedger.requireGoods(of: order, in: transaction) }
                return .done(try change(order, to: status, request, contact, in: transaction).answer)
            case .correct(let shipment):
                return .done(try correct(order, to: shipment, request, contact, in: transaction).answer)
            }
        }
    }

    /// The step; a refund of lines without an amount gets the amount that was paid for them.
    private static func step(
        _ request: StepRequest, _ order: OrderRecord, in store: ObjectReader
    ) throws -> OrderLifecycle.Step {
        guard case .refund(let amount) = request.step, !request.lines.isEmpty, let payment = order.payment else {
            return request.step
        }
        let claimed = try ClaimedPieces(of: order.objectId, in: store).claimed
        let price = try request.lines.amount(in: payment.priced, claimed: claimed)
        return .refund(amount ?? price)
    }

    /// The text that the order desk shows.
    private static let beingPaid = ParseError(
        .validationError,
        """
        This order is being paid. A payment that stays undecided is given up after a time limit; cancelOrder with \
        freeBag true frees the bag without waiting for the provider.
        """)

    /// The order as functions return it.
    package func answer(_ orderId: String, for share: WorkShare?) async throws -> JSON {
        try await store.read(for: share) { try OrderRecord(orderId, in: $0).answer }
    }

    /// The order as functions return it, with the amount of this refund: `refundedNow` beside `refundedTotal` when it
    /// is done, `refundPending` while it is pending.
    package func answer(_ orderId: String, refund id: String, for share: WorkShare?) async throws -> JSON {
        try await store.read(for: share) { reader in
            var answer = try OrderRecord(orderId, in: reader).answer
            let row = try reader.rows("SELECT amount, state FROM refunds WHERE id = ?", [.text(id)]).first
            guard let row else { throw ParseError.internalError }
            let (amount, state) = (try row.int("amount"), try row.text("state"))
            answer["refundId"] = .string(id)
            answer["refundedNow"] = .int(state == "done" ? amount : 0)
            if state == "pending" { answer["refundPending"] = .int(amount) }
            return answer
        }
    }

    /// The provider's id of a charge made outside Satchel that this step must refund; nil when there is none.
    func foreignCharge(_ orderId: String, for request: StepRequest, share: WorkShare) async throws -> String? {
        switch request.step {
        case .ship, .correctTracking, .deliver: return nil
        case .cancel, .refund:
            return try await store.read(for: share) {
                try ForeignPayment.chargeId(of: Self.order(orderId, of: request.customerId, in: $0), for: request.step)
            }
        }
    }

    /// The customer of an order that the caller may act on; empty when the account was deleted.
    func customer(_ orderId: String, for customerId: String?, share: WorkShare) async throws -> String {
        try await store.read(for: share) { try Self.order(orderId, of: customerId, in: $0).customerId }
    }

    private static func order(
        _ orderId: String, of customerId: String?, in store: ObjectReader
    ) throws -> OrderRecord {
        let order = try OrderRecord(orderId, in: store)
        guard customerId == nil || customerId == order.customerId else { throw ParseError.objectNotFound }
        return order
    }

    private func change(
        _ order: OrderRecord, to status: OrderStatus, _ request: StepRequest, _ contact: CustomerContact?,
        in transaction: StoreTransaction
    ) throws -> OrderRecord {
        var dimensions = OrderDimensions(order: order.document) ?? OrderDimensions()
        var fields: [String: JSON] = [:]
        switch status {
        case .open, .made, .refunded: throw ParseError.internalError  // No step leads directly to these states.
        case .shipped:
            dimensions.fulfillment = .shipped
            fields["shippedAt"] = transaction.now.wire
            if case .ship(let shipment) = request.step { fields.merge(shipment.fields) { _, new in new } }
        case .delivered:
            dimensions.fulfillment = .delivered
            fields["deliveredAt"] = transaction.now.wire
        case .cancelled:
            dimensions.isCancelled = true
            try DiscountCodes.releaseUse(of: order.objectId, in: transaction)
            fields.merge(Self.cancelled(request.reason, transaction.now)) { _, new in new }
        }
        fields.merge(dimensions.fields) { _, new in new }
        let updated = try transaction.update("Order", order.objectId, .object(fields), caller: .master)
        try CustomerTotals(currency: currency.code).orderChanged(
            from: updated.before, to: updated.document, in: transaction)
        try OrderEntries.orderChanged(from: updated.before, to: updated.document, in: transaction)
        try audit(request, order.objectId, before: updated.before, after: updated.document, in: transaction)
        let changed = try OrderRecord(document: updated.document, in: transaction)
        // An order that cost nothing has no refund to restock its goods.
        if status == .cancelled, let payment = changed.payment {
            try RefundLedger.restock(
                changed, by: nil, reservation: payment.checkoutId, outbox, currency, in: transaction)
        }
        try OrderEvents(
            order: changed, status: status, changeKey: "\(status):\(transaction.now.milliseconds)",
            reason: request.reason,
            contact: contact, byShop: request.customerId == nil, currency: currency
        )
        .queue(outbox, in: transaction)
        return changed
    }

    /// Replaces the shipment, keeps the earlier one in `trackingCorrections`, and mails the customer the new one.
    private func correct(
        _ order: OrderRecord, to shipment: Shipment, _ request: StepRequest, _ contact: CustomerContact?,
        in transaction: StoreTransaction
    ) throws -> OrderRecord {
        var earlier = order.lifecycle.shipment.fields
        earlier["until"] = transaction.now.wire
        let known = order.document["trackingCorrections"]?.arrayValue ?? []
        var fields = shipment.replacement
        let kept = known.prefix(1) + known.dropFirst().suffix(Self.correctionsMax - 2)
        fields["trackingCorrections"] = .array(kept + [.object(earlier)])
        let updated = try transaction.update("Order", order.objectId, .object(fields), caller: .master)
        try OrderEntries.orderChanged(from: updated.before, to: updated.document, in: transaction)
        try audit(request, order.objectId, before: updated.before, after: updated.document, in: transaction)
        let changed = try OrderRecord(document: updated.document, in: transaction)
        try OrderEvents(
            order: changed, status: .shipped, changeKey: "tracking:\(Names.random(16))", contact: contact,
            currency: currency
        )
        .mail(
            outbox, changed.priced(in: transaction, currency: currency),
            // Without earlier details, these are the first.
            isTrackingCorrected: order.lifecycle.shipment != Shipment(), in: transaction)
        return changed
    }

    /// The earlier shipments that an order keeps: the first and the last ones. The audit log has all.
    private static let correctionsMax = 20

    /// Stores a refund that the lifecycle allows.
    /// - Returns: its id.
    func begin(
        _ request: StepRequest, _ order: OrderRecord, _ lifecycle: OrderLifecycle, _ amount: Int64,
        _ status: OrderStatus,
        in transaction: StoreTransaction
    ) throws -> String {
        guard let operationId = order.payment?.checkoutId ?? request.foreign?.operationId else {
            throw ParseError(
                .validationError,
                """
                Nothing was refunded: this order was not paid through Satchel, and its paymentStatus is refunded or \
                its charge is not known. Refund the charge at the payment provider.
                """)
        }
        if request.restock, !request.lines.isEmpty {
            try RefundLedger.requireOutOfStock(request.lines, of: order, in: transaction)
        }
        let refund = Refund(
            id: "rf_" + Names.random(20), orderId: order.objectId, checkoutId: operationId,
            purpose: status == .cancelled ? .cancel : .refund, amount: amount)
        try RefundLedger.insert(
            refund, request, charged: order.payment == nil ? lifecycle.charged : nil, in: transaction)
        if case .refund(let requested) = request.step {
            try RefundKeys.keep(
                request.keys, for: refund, requested: requested, fingerprint: request.fingerprint, in: transaction)
        }
        _ = try transaction.update("Order", order.objectId, ["refundState": "pending"], caller: .master)
        try RefundLedger.proveFinishable(refund, reason: request.reason, in: transaction)
        try audit(
            request, order.objectId, before: nil,
            after: [
                "refundState": "pending", "refundId": .string(refund.id), "amount": .int(amount),
                "reason": .string(request.reason), "restock": .bool(request.restock), "lines": request.lines.json,
            ], in: transaction)
        return refund.id
    }

    /// Records an operator's step in the audit log, in the transaction that performs it.
    private func audit(
        _ request: StepRequest, _ orderId: String, before: JSON?, after: JSON?, in transaction: StoreTransaction
    ) throws {
        let entry = AuditNote(request.step.function, "Order", orderId, before: before, after: after)
        guard let changes = request.origin?.changes([entry], at: transaction.now) else { return }
        try outbox.add(UsersCalls.audit, changes, key: AuditOrigin.key(), in: transaction)
    }

    static func cancelled(_ reason: String, _ now: Timestamp) -> [String: JSON] {
        reason.isEmpty ? ["cancelledAt": now.wire] : ["cancelledAt": now.wire, "cancelReason": .string(reason)]
    }
}
