import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Paid orders and their later changes, and sums per hour and currency.
package enum SalesLog {
    /// The columns of the sums, in the order of `Sums`.
    static let columns = ["orders", "pieces", "grossMinorUnits", "cancelled", "refunds", "refundedMinorUnits"]

    /// Ten billion in a currency with cents. No order comes near it, and the sum of millions of such orders fits into
    /// 64 bits.
    private static let minorUnitsMax: Int64 = 1_000_000_000_000

    private static func amount(_ minorUnits: Int64) -> Int64 { min(max(0, minorUnits), minorUnitsMax) }

    /// Counts an order once, however often it is reported.
    package static func add(_ order: OrderMade, zone: ShopZone = .utc, in transaction: StoreTransaction) throws {
        let isNew =
            try transaction.execute(
                """
                INSERT INTO sales(orderId, orderNumber, userId, totalMinorUnits, currency, pieces, madeAt)
                VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT(orderId) DO NOTHING
                """,
                [
                    .text(order.orderID), .int(order.orderNumber), .text(order.userID),
                    .int(amount(order.totalMinorUnits)),
                    .text(order.currency), .int(Int64(order.pieces)), .int(order.madeAt),
                ]) > 0
        guard isNew else { return }
        try PushTaps.credit(order: order.orderID, in: transaction)
        try addToHour(
            order.madeAt, order.currency, [1, Int64(order.pieces), amount(order.totalMinorUnits), 0, 0, 0], zone,
            in: transaction)
    }

    /// Counts a cancellation, or a full or partial refund, in the hour of the change. Idempotent by order, status and
    /// time. The refunds of an order never exceed its total.
    package static func add(
        _ change: OrderChanged, zone: ShopZone = .utc, in transaction: StoreTransaction
    ) throws {
        let status = OrderStatus(event: change.status)
        guard status?.isGivenUp == true || change.refundedMinorUnits > 0 else { return }
        let sale = try transaction.rows(
            "SELECT totalMinorUnits, currency FROM sales WHERE orderId = ?", [.text(change.orderID)]
        ).first
        var minorUnits = amount(change.refundedMinorUnits)
        if let sale {
            let before = try transaction.rows(
                "SELECT coalesce(sum(minorUnits), 0) AS total FROM refunds WHERE orderId = ?", [.text(change.orderID)]
            ).first?.int("total")
            minorUnits = try min(minorUnits, max(0, sale.int("totalMinorUnits") - (before ?? 0)))
        }
        let currency = try change.currency.isEmpty ? sale?.text("currency") ?? "" : change.currency
        let isNew =
            try transaction.execute(
                """
                INSERT INTO refunds(orderId, status, changedAt, minorUnits, currency) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT(orderId, status, changedAt) DO NOTHING
                """,
                [
                    .text(change.orderID), .int(Int64(change.status)), .int(change.changedAt), .int(minorUnits),
                    .text(currency),
                ]) > 0
        guard isNew else { return }
        try addToHour(
            change.changedAt, currency,
            [0, 0, 0, status == .cancelled ? 1 : 0, minorUnits > 0 ? 1 : 0, minorUnits], zone, in: transaction)
    }

    private static func addToHour(
        _ milliseconds: Int64, _ currency: String, _ sums: [Int64], _ zone: ShopZone, in transaction: StoreTransaction
    ) throws {
        let moment = min(Timestamp(milliseconds: max(0, milliseconds)), transaction.now)
        let changes = columns.map { "\($0) = salesHours.\($0) + excluded.\($0)" }.joined(separator: ", ")
        _ = try transaction.execute(
            """
            INSERT INTO salesHours(currency, hour, \(columns.joined(separator: ", "))) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT(currency, hour) DO UPDATE SET \(changes)
            """,
            [.text(currency), .int(zone.hour(of: moment))] + sums.map(SQLValue.int))
    }

    /// Removes a deleted account's id from its orders; the shop's sums are kept.
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("UPDATE sales SET userId = '' WHERE userId = ?", [.text(userId)])
    }
}
