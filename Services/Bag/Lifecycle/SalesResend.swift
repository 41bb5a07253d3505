import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Resends the sales and refunds of placed orders to analytics, one page at a time, after analytics lost data. Times
/// and keys equal those of the first messages, so analytics counts nothing twice.
package struct SalesResend: Sendable {
    /// Orders in one transaction.
    private static let pageOrders = 100

    let outbox: any EventSink
    /// The shop's currency.
    let currency: Currency
    private let news = NotificationCalls(to: "analytics")

    package init(outbox: any EventSink, currency: Currency) {
        self.outbox = outbox
        self.currency = currency
    }

    package struct Page: Sendable {
        package var orders = 0
        /// The checkout at which the next page begins; nil after the last page.
        package var next: String?
    }

    /// - Parameter after: the last checkout of the previous page; empty for the first page.
    package func tell(after: String, in transaction: StoreTransaction) throws -> Page {
        let rows = try transaction.rows(
            """
            SELECT id, orderId, orderNo, priced, updatedAt FROM checkouts WHERE id > ? AND state = 'made'
            ORDER BY id LIMIT ?
            """, [.text(after), .int(Int64(Self.pageOrders))])
        for row in rows { try tell(row, in: transaction) }
        return try Page(orders: rows.count, next: rows.count < Self.pageOrders ? nil : rows.last?.text("id"))
    }

    private func tell(_ row: SQLRow, in transaction: StoreTransaction) throws {
        let orderId = try row.text("orderId")
        let order = try transaction.documentIfFound("Order", orderId, caller: .master)
        let priced = try PricedOrder(text: row.text("priced"))
        let made = try OrderMade.with {
            $0.orderID = orderId
            $0.orderNumber = try row.int("orderNo")
            // Empty when the account was deleted.
            $0.userID = order?["customer"]?.pointerTarget?.objectId ?? ""
            $0.totalMinorUnits = priced.totalMinorUnits
            $0.currency = priced.currency
            $0.pieces = UInt32(clamping: priced.lines.reduce(0) { $0 + $1.quantity })
            // A checkout whose order is placed no longer changes.
            $0.madeAt = try row.int("updatedAt")
        }
        try outbox.add(
            news.orderMade, made, key: "checkout:\(row.text("id")):\(news.orderMade.service)", in: transaction)
        var change = OrderChanged.with {
            $0.orderID = orderId
            $0.orderNumber = made.orderNumber
            $0.userID = made.userID
            $0.currency = priced.currency
        }
        var refunded: Int64 = 0
        for refund in try RefundLedger.rows(of: orderId, in: transaction) where try refund.text("state") == "done" {
            change.status = try Refund(refund).purpose.status.event
            change.refundedMinorUnits = try refund.int("amount")
            refunded += change.refundedMinorUnits
            change.partlyRefunded = refunded < priced.totalMinorUnits
            change.changedAt = try refund.int("changedAt")
            try tell(change, name: refund.text("id"), in: transaction)
        }
        // A step without a refund has its time in the order only.
        guard let order, let status = OrderStatus(order: order), status.isGivenUp, order["refundState"]?.isNull ?? true,
            let at = (order["cancelledAt"] ?? order["refundedAt"])?["iso"]?.stringValue.flatMap(Timestamp.init(iso:))
        else { return }
        change.status = status.event
        change.refundedMinorUnits = 0
        change.partlyRefunded = false
        change.changedAt = at.milliseconds
        try tell(change, name: "\(status):\(at.milliseconds)", in: transaction)
    }

    private func tell(_ change: OrderChanged, name: String, in transaction: StoreTransaction) throws {
        try outbox.add(
            news.orderChanged, change, key: "order:\(change.orderID):\(name):\(news.orderChanged.service)",
            in: transaction)
    }
}
