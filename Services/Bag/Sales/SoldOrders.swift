import ObjectStore
import ParseProtocol
import ServiceKit

/// The sales and refunds of orders that checkouts placed, one page at a time, for `scripts/verify --rebuild sales`.
/// They have the times of the messages that analytics first got about them.
package enum SoldOrders {
    private static let pageOrders = 100

    /// `{at, sales, next}`; `next` is null on the last page.
    /// - Parameters:
    ///   - after: the last order of the previous page; empty for the first page.
    ///   - now: a time before the read.
    package static func page(after: String, at now: Timestamp, in reader: ObjectReader) throws -> JSON {
        let rows = try reader.rows(
            """
            SELECT c.orderId AS orderId, c.orderNo AS orderNo, c.priced AS priced, c.updatedAt AS updatedAt
            FROM checkouts c WHERE c.state = 'made' AND c.orderId > ? AND NOT EXISTS (SELECT 1 FROM checkouts d
            WHERE d.orderId = c.orderId AND d.state = 'made' AND d.id < c.id) ORDER BY c.orderId LIMIT ?
            """, [.text(after), .int(Int64(pageOrders))])
        let last = try rows.count < pageOrders ? nil : rows.last?.text("orderId")
        return try [
            "at": .int(now.milliseconds), "sales": .array(rows.map { try sale($0, in: reader) }),
            "next": last.map(JSON.string) ?? .null,
        ]
    }

    private static func sale(_ row: SQLRow, in reader: ObjectReader) throws -> JSON {
        let orderId = try row.text("orderId")
        let order = try reader.documentIfFound("Order", orderId, caller: .master)
        let priced = try PricedOrder(text: row.text("priced"))
        return try [
            "orderId": .string(orderId), "orderNumber": .int(row.int("orderNo")),
            // Empty when the account was deleted.
            "userId": .string(order?["customer"]?.pointerTarget?.objectId ?? ""),
            "totalMinorUnits": .int(priced.totalMinorUnits), "currency": .string(priced.currency),
            "pieces": .int(Int64(priced.lines.reduce(0) { $0 + $1.quantity })),
            // A checkout whose order is placed no longer changes.
            "madeAt": .int(row.int("updatedAt")), "changes": .array(changes(orderId, order, in: reader)),
        ]
    }

    private static func changes(_ orderId: String, _ order: JSON?, in reader: ObjectReader) throws -> [JSON] {
        func change(_ status: OrderStatus, _ refunded: Int64, at moment: Int64) -> JSON {
            [
                "status": .int(Int64(status.event)), "refundedMinorUnits": .int(refunded), "changedAt": .int(moment),
            ]
        }
        var changes: [JSON] = []
        var isCancelledByRefund = false
        for row in try RefundLedger.rows(of: orderId, in: reader) {
            let (isDone, changedAt) = try (row.text("state") == "done", row.int("changedAt"))
            // A reversed refund has both times.
            guard let doneAt = try isDone ? changedAt : row["doneAt"].intValue else { continue }
            let refund = try Refund(row)
            if refund.purpose == .cancel { isCancelledByRefund = true }
            changes.append(change(refund.purpose.status, refund.amount, at: doneAt))
            if !isDone { changes.append(change(.made, -refund.amount, at: changedAt)) }
        }
        // Only the order has the time of a cancellation without a refund, which earlier refunds may precede, and of a
        // refund that it records without a row in `refunds`.
        if let order, let status = OrderStatus(order: order), status.isGivenUp,
            status == .cancelled ? !isCancelledByRefund : order["refundState"]?.isNull ?? true,
            let iso = (order["cancelledAt"] ?? order["refundedAt"])?["iso"]?.stringValue,
            let moment = Timestamp(iso: iso)
        {
            changes.append(change(status, 0, at: moment.milliseconds))
        }
        return changes
    }
}
