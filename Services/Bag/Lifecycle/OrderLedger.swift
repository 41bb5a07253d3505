import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The stored side of what becomes of made orders. Every step is one transaction.
package struct OrderLedger: Sendable {
    let store: ClassStore
    let outbox: any EventSink
    /// The shop's.
    let currency: Currency

    package init(store: ClassStore, outbox: any EventSink, currency: Currency) {
        self.store = store
        self.outbox = outbox
        self.currency = currency
    }

    /// The details of a request, beside the step itself.
    package struct Wish: Sendable {
        package let step: OrderLifecycle.Step
        /// Nil for the shop's admins. A customer reaches only orders of their own.
        package let customerId: String?
        package var reason = ""
        /// Whether the goods of a refunded order are for sale again. Those of a cancelled one always are.
        package var restock = false
        /// Names of the request. A refund that began under one of them is this one, and not another of the same amount.
        package var keys: [String] = []
        /// The operator who asks, for the audit log; nil for a customer.
        package var origin: AuditOrigin?

        package init(_ step: OrderLifecycle.Step, by customerId: String?, reason: String = "", restock: Bool = false) {
            self.step = step
            self.customerId = customerId
            self.reason = reason
            self.restock = restock
        }
    }

    package enum Taken: Sendable, Equatable {
        /// The function's answer.
        case done(JSON)
        /// The refund of this id has to end first.
        case waits(refundId: String)
    }

    /// Takes the step, or begins the refund that it needs.
    /// - Parameter contact: the customer's present address; nil when it is not known.
    /// - Throws: `.objectNotFound` (101) for an order that is missing or somebody else's, `.validationError` (142) when
    ///   the step cannot be taken.
    package func take(_ wish: Wish, _ orderId: String, contact: CustomerContact?) async throws -> Taken {
        try await store.write { transaction in
            let order = try Self.order(orderId, of: wish.customerId, in: transaction)
            if case .refund(let amount) = wish.step,
                let known = try RefundKeys.refund(wish.keys, of: orderId, amount: amount, in: transaction)
            {
                return .waits(refundId: known)
            }
            switch try order.lifecycle.decide(wish.step) {
            case .nothing: return .done(order.answer)
            case .join:
                guard let id = try RefundLedger.pending(orderId, in: transaction) else {
                    throw ParseError.internalError
                }
                return .waits(refundId: id)
            case .giveBack(let amount, let status):
                return .waits(refundId: try begin(wish, order, amount, status, in: transaction))
            case .change(let status):
                return .done(try change(order, to: status, wish, contact, in: transaction).answer)
            }
        }
    }

    /// The order as functions answer it.
    package func answer(_ orderId: String) async throws -> JSON {
        try await store.read { try OrderRecord(orderId, in: $0).answer }
    }

    /// The order as functions answer it, with what of its money went back now: `refundedNow` beside `refundedTotal`,
    /// and what is still on its way as `refundPending`.
    package func answer(_ orderId: String, refund id: String) async throws -> JSON {
        try await store.read { reader in
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

    /// The customer of an order that the asker may act on; empty when the account was deleted.
    func customer(_ orderId: String, for customerId: String?) async throws -> String {
        try await store.read { try Self.order(orderId, of: customerId, in: $0).customerId }
    }

    private static func order(
        _ orderId: String, of customerId: String?, in store: some ObjectReading
    ) throws -> OrderRecord {
        let order = try OrderRecord(orderId, in: store)
        guard customerId == nil || customerId == order.customerId else { throw ParseError.objectNotFound }
        return order
    }

    private func change(
        _ order: OrderRecord, to status: OrderStatus, _ wish: Wish, _ contact: CustomerContact?,
        in transaction: StoreTransaction
    ) throws -> OrderRecord {
        var fields = status.fields
        switch status {
        case .open, .made: throw ParseError.internalError  // No step leads there.
        case .shipped:
            fields["shippedAt"] = transaction.now.wire
            if case .ship(let shipment) = wish.step { fields.merge(shipment.fields) { _, new in new } }
        case .delivered: fields["deliveredAt"] = transaction.now.wire
        case .cancelled: fields.merge(Self.cancelled(wish.reason, transaction.now)) { _, new in new }
        case .refunded:
            fields["refundedAt"] = transaction.now.wire
            fields["refundedTotal"] = 0
        }
        let updated = try transaction.update("Order", order.objectId, .object(fields), caller: .master)
        try note(wish, order.objectId, before: updated.before, after: updated.document, in: transaction)
        let changed = try OrderRecord(document: updated.document, in: transaction)
        // Nothing was paid for it, but goods were taken.
        if status == .cancelled || (status == .refunded && wish.restock), let payment = changed.payment {
            try RefundLedger.restock(changed, reservation: payment.checkoutId, outbox, currency, in: transaction)
        }
        try OrderNews(
            order: changed, status: status, name: "\(status):\(transaction.now.milliseconds)", reason: wish.reason,
            contact: contact, byShop: wish.customerId == nil, currency: currency
        )
        .tell(outbox, in: transaction)
        return changed
    }

    private func begin(
        _ wish: Wish, _ order: OrderRecord, _ amount: Int64, _ status: OrderStatus, in transaction: StoreTransaction
    ) throws -> String {
        guard let payment = order.payment else { throw ParseError.internalError }
        let refund = Refund(
            id: "rf_" + Names.random(20), orderId: order.objectId, checkoutId: payment.checkoutId,
            purpose: status == .cancelled ? .cancel : .refund, amount: amount)
        try RefundLedger.insert(refund, reason: wish.reason, restock: wish.restock, in: transaction)
        if case .refund(let requested) = wish.step {
            try RefundKeys.keep(wish.keys, for: refund, requested: requested, in: transaction)
        }
        _ = try transaction.update("Order", order.objectId, ["refundState": "pending"], caller: .master)
        try RefundLedger.proveFinishable(refund, reason: wish.reason, in: transaction)
        try note(
            wish, order.objectId, before: nil,
            after: [
                "refundState": "pending", "refundId": .string(refund.id), "amount": .int(amount),
                "reason": .string(wish.reason), "restock": .bool(wish.restock),
            ], in: transaction)
        return refund.id
    }

    /// Notes an operator's step in the transaction that takes it.
    private func note(
        _ wish: Wish, _ orderId: String, before: JSON?, after: JSON?, in transaction: StoreTransaction
    ) throws {
        let note = AuditNote(wish.step.function, "Order", orderId, before: before, after: after)
        guard let changes = wish.origin?.changes([note], at: transaction.now) else { return }
        try outbox.add(UsersCalls.audit, changes, key: AuditOrigin.key(), in: transaction)
    }

    static func cancelled(_ reason: String, _ now: Timestamp) -> [String: JSON] {
        reason.isEmpty ? ["cancelledAt": now.wire] : ["cancelledAt": now.wire, "cancelReason": .string(reason)]
    }
}
