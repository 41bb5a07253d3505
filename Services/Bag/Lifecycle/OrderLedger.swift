import Messages
import ObjectStore
import ParseProtocol

/// The stored side of what becomes of made orders. Every step is one transaction.
package struct OrderLedger: Sendable {
    let store: ClassStore
    let outbox: any EventSink

    package init(store: ClassStore, outbox: any EventSink) {
        self.store = store
        self.outbox = outbox
    }

    /// What is asked, beside the step itself.
    package struct Wish: Sendable {
        package let step: OrderLifecycle.Step
        /// Nil for the shop's admins. A customer reaches only orders of their own.
        package let customerId: String?
        package var reason = ""
        /// Whether the goods of a refunded order are for sale again. Those of a cancelled one always are.
        package var restock = false

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
    /// - Parameter email: the customer's present address; nil when it is not known.
    /// - Throws: 101 for an order that is missing or somebody else's, 142 when the step cannot be taken.
    package func take(_ wish: Wish, _ orderId: String, email: String?) async throws -> Taken {
        try await store.write { transaction in
            let order = try Self.order(orderId, of: wish.customerId, in: transaction)
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
                return .done(try change(order, to: status, wish, email: email, in: transaction).answer)
            }
        }
    }

    /// The order as functions answer it.
    package func answer(_ orderId: String) async throws -> JSON {
        try await store.read { try OrderRecord(orderId, in: $0).answer }
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
        _ order: OrderRecord, to status: OrderStatus, _ wish: Wish, email: String?, in transaction: StoreTransaction
    ) throws -> OrderRecord {
        var fields: [String: JSON] = ["orderStatus": .int(status.rawValue)]
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
        let changed = try OrderRecord(
            document: transaction.update("Order", order.objectId, .object(fields), caller: .master).document,
            in: transaction)
        try OrderNews(
            order: changed, status: status, name: "\(status):\(transaction.now.milliseconds)", reason: wish.reason,
            email: email
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
        _ = try transaction.update("Order", order.objectId, ["refundState": "pending"], caller: .master)
        try RefundLedger.proveFinishable(refund, reason: wish.reason, in: transaction)
        return refund.id
    }

    static func cancelled(_ reason: String, _ now: Timestamp) -> [String: JSON] {
        reason.isEmpty ? ["cancelledAt": now.wire] : ["cancelledAt": now.wire, "cancelReason": .string(reason)]
    }
}
