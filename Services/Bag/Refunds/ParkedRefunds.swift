import ObjectStore
import ParseProtocol
import ServiceKit

/// Lists refunds that the provider refused as parked work, until an operator retries, drops or replaces them, or
/// nothing of the order is left to refund.
package struct ParkedRefunds: Sendable {
    let orders: OrderLedger
    /// Drives a refund that has begun.
    let drive: @Sendable (_ refundId: String) -> Void

    static let columns = [
        "ALTER TABLE refunds ADD COLUMN isParked INTEGER NOT NULL DEFAULT 0",
        """
        UPDATE refunds SET isParked = 1 WHERE state = 'failed' AND NOT EXISTS(SELECT 1 FROM refunds AS later
        WHERE later.orderId = refunds.orderId AND later.createdAt > refunds.createdAt)
        """,
        "CREATE INDEX refundsParked ON refunds(changedAt) WHERE isParked = 1",
    ]

    package init(orders: OrderLedger, drive: @escaping @Sendable (_ refundId: String) -> Void) {
        self.orders = orders
        self.drive = drive
    }

    package var kind: ParkedKind {
        ParkedKind("refund", for: [.orders]) { limit, reader in
            try reader.rows(
                "SELECT * FROM refunds WHERE isParked = 1 ORDER BY changedAt DESC LIMIT ?", [.int(limit)]
            ).map { try item($0, in: reader) }
        } count: { reader in
            try reader.rows("SELECT count(*) AS count FROM refunds WHERE isParked = 1", []).first?.int("count") ?? 0
        } retry: { [drive] id, transaction in
            guard let row = try Self.row(id, in: transaction) else { return nil }
            let item = try item(row, in: transaction)
            let next = try orders.begin(again: row, in: transaction)
            try Self.unpark(id, in: transaction)
            transaction.afterCommit { drive(next) }
            return item
        } drop: { id, transaction in
            guard let row = try Self.row(id, in: transaction) else { return nil }
            try Self.unpark(id, in: transaction)
            return try item(row, in: transaction)
        }
    }

    private static func unpark(_ id: String, in transaction: StoreTransaction) throws {
        try transaction.execute("UPDATE refunds SET isParked = 0 WHERE id = ?", [.text(id)])
    }

    /// Unparks the refunds that a done one replaces. It replaces a refund if both hold:
    /// - The refund was parked before the done one began.
    /// - The done one names all of its pieces, or neither names any and the amounts are equal.
    ///
    /// Each reversed refund is a debt of its own: of these only the oldest is replaced, and a retry replaces none.
    static func unpark(replacedBy done: SQLRow, in transaction: StoreTransaction) throws {
        let (lines, amount, begun) = try (
            RefundLines(stored: done["lines"].textValue), done.int("amount"), done.int("createdAt")
        )
        let replaced = try RefundLedger.rows(of: done.text("orderId"), in: transaction).filter { row in
            guard try row.int("isParked") == 1, try row.int("changedAt") <= begun else { return false }
            let parked = try RefundLines(stored: row["lines"].textValue)
            guard parked.isEmpty else { return parked.isPart(of: lines) }
            return try lines.isEmpty && row.int("amount") == amount
        }
        var isDebtLeft = try done["retryOf"].textValue == nil
        for row in replaced {
            if try RefundLedger.wasReversed(row) || row["retryOf"].textValue != nil {
                guard isDebtLeft else { continue }
                isDebtLeft = false
            }
            try unpark(row.text("id"), in: transaction)
        }
    }

    private static func row(_ id: String, in transaction: StoreTransaction) throws -> SQLRow? {
        try transaction.rows("SELECT * FROM refunds WHERE id = ? AND isParked = 1", [.text(id)]).first
    }

    private func item(_ row: SQLRow, in store: ObjectReader) throws -> ParkedKind.Item {
        let orderId = try row.text("orderId")
        let number = try store.documentIfFound("Order", orderId, caller: .master)?["orderNo"]?.intValue ?? 0
        let what = try row.text("purpose") == RefundPurpose.cancel.rawValue ? "cancellation" : "refund"
        return try ParkedKind.Item(
            id: row.text("id"), about: "\(what) of order \(number)",
            reason: row["problem"].textValue ?? "", since: Timestamp(milliseconds: row.int("changedAt")), attempts: 1,
            more: [
                "orderId": .string(orderId), "amount": .int(row.int("amount")),
                "currency": .string(orders.currency.code),
            ])
    }
}

extension OrderLedger {
    /// Begins a refused refund again, as another refund: payments never changes the outcome of the first one.
    /// - Returns: the id of the new refund.
    /// - Throws: `.validationError` (142) when the order no longer allows it, or another refund names its pieces.
    func begin(again row: SQLRow, in transaction: StoreTransaction) throws -> String {
        guard try row["charged"].intValue == nil else {
            throw ParseError(
                .validationError, "This order was not paid through Satchel. Start a new refund with refundOrder.")
        }
        let refused = try Refund(row)
        let order = try OrderRecord(refused.orderId, in: transaction)
        let (wasReversed, lifecycle) = (try RefundLedger.wasReversed(row), order.lifecycle)
        // A cancellation, or a refund that had been done, has returned the goods to stock already.
        let hasReturnedGoods = wasReversed || lifecycle.status == .cancelled
        let step: OrderLifecycle.Step =
            refused.purpose == .cancel && !hasReturnedGoods ? .cancel : .refund(min(refused.amount, lifecycle.left))
        guard case .refund(let amount, let status) = try lifecycle.decide(step) else {
            throw ParseError(.validationError, "Nothing is left to refund, or a refund of the order is pending.")
        }
        let restock = try !hasReturnedGoods && row.int("restock") == 1
        var request = StepRequest(step, by: nil, reason: try row.text("reason"), restock: restock)
        request.retryOf = try row["retryOf"].textValue ?? (wasReversed ? refused.id : nil)
        request.lines = try RefundLines(stored: row["lines"].textValue)
        if let other = try RefundLedger.refund(claiming: request.lines, of: order, in: transaction) {
            throw ParseError(
                .validationError,
                "The refund \(other) names these pieces already. Drop this one; refund what is left with refundOrder.")
        }
        request.madeBy = try row["madeBy"].textValue
        return try begin(request, order, lifecycle, amount, status, in: transaction)
    }
}
