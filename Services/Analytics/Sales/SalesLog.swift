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
        guard try insert(order, onConflict: "NOTHING", in: transaction) else { return }
        try PushTaps.credit(order: order.orderID, in: transaction)
        try addToHour(
            order.madeAt, order.currency, [1, Int64(order.pieces), amount(order.totalMinorUnits), 0, 0, 0], zone,
            in: transaction)
    }

    /// Writes a sale anew, without counting it. Its customer and its push stay.
    /// - Returns: whether there was none.
    static func restate(_ order: OrderMade, in transaction: StoreTransaction) throws -> Bool {
        if try insert(order, onConflict: "NOTHING", in: transaction) { return true }
        let columns = ["orderNumber", "totalMinorUnits", "currency", "pieces", "madeAt"]
        let changes = columns.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        _ = try insert(order, onConflict: "UPDATE SET \(changes)", in: transaction)
        return false
    }

    /// - Returns: whether a row was written.
    private static func insert(
        _ order: OrderMade, onConflict: String, in transaction: StoreTransaction
    ) throws -> Bool {
        try transaction.execute(
            """
            INSERT INTO sales(orderId, orderNumber, userId, totalMinorUnits, currency, pieces, madeAt)
            VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT(orderId) DO \(onConflict)
            """,
            [
                .text(order.orderID), .int(order.orderNumber), .text(order.userID),
                .int(amount(order.totalMinorUnits)),
                .text(order.currency), .int(Int64(order.pieces)), .int(order.madeAt),
            ]) > 0
    }

    /// Counts a cancellation, or a full or partial refund, in the hour of the change.
    package static func add(
        _ change: OrderChanged, zone: ShopZone = .utc, in transaction: StoreTransaction
    ) throws {
        guard let refund = try insert(change, in: transaction) else { return }
        try addToHour(
            change.changedAt, refund.currency, sums(ofRefund: refund.minorUnits, status: change.status), zone,
            in: transaction)
    }

    private static func sums(ofRefund minorUnits: Int64, status: Int32) -> [Int64] {
        [0, 0, 0, OrderStatus(event: status) == .cancelled ? 1 : 0, minorUnits > 0 ? 1 : 0, minorUnits]
    }

    /// Stores a cancellation or a refund without counting it. Idempotent by order, status and time. The refunds of an
    /// order never exceed its total.
    /// - Returns: nil when it is known, or another change.
    static func insert(
        _ change: OrderChanged, in transaction: StoreTransaction
    ) throws -> (minorUnits: Int64, currency: String)? {
        let status = OrderStatus(event: change.status)
        guard status?.isGivenUp == true || change.refundedMinorUnits > 0 else { return nil }
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
        guard isNew else { return nil }
        return (minorUnits, currency)
    }

    private static let addedAtOnce = 5000

    /// Writes the sums by hour anew from all sales and refunds.
    static func addUpHours(_ zone: ShopZone, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM salesHours")
        var last = ""
        while true {
            let rows = try transaction.rows(
                """
                SELECT orderId, currency, pieces, totalMinorUnits, madeAt FROM sales WHERE orderId > ?
                ORDER BY orderId LIMIT ?
                """, [.text(last), .int(Int64(addedAtOnce))])
            for row in rows {
                let sums = try [1, row.int("pieces"), row.int("totalMinorUnits"), 0, 0, 0]
                try addToHour(row.int("madeAt"), row.text("currency"), sums, zone, in: transaction)
            }
            guard rows.count == addedAtOnce, let id = try rows.last?.text("orderId") else { break }
            last = id
        }
        var refund: (String, Int64, Int64) = ("", 0, 0)
        while true {
            let rows = try transaction.rows(
                """
                SELECT orderId, status, changedAt, minorUnits, currency FROM refunds
                WHERE (orderId, status, changedAt) > (?, ?, ?) ORDER BY orderId, status, changedAt LIMIT ?
                """, [.text(refund.0), .int(refund.1), .int(refund.2), .int(Int64(addedAtOnce))])
            for row in rows {
                try addToHour(
                    row.int("changedAt"), row.text("currency"),
                    sums(ofRefund: row.int("minorUnits"), status: Int32(clamping: row.int("status"))), zone,
                    in: transaction)
            }
            guard rows.count == addedAtOnce, let row = rows.last else { break }
            refund = try (row.text("orderId"), row.int("status"), row.int("changedAt"))
        }
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
