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
        let userId = try DeletedUsers.contains(order.userID, in: transaction) ? "" : order.userID
        return try transaction.execute(
            """
            INSERT INTO sales(orderId, orderNumber, userId, totalMinorUnits, currency, pieces, madeAt)
            VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT(orderId) DO \(onConflict)
            """,
            [
                .text(order.orderID), .int(order.orderNumber), .text(userId),
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
        [0, 0, 0, OrderStatus(event: status) == .cancelled ? 1 : 0, minorUnits.signum(), minorUnits]
    }

    /// Stores a cancellation or a refund without counting it. Idempotent by order, status and time. The reversal of a
    /// refund has a negative amount. Bag limits the refunds of an order; a limit here would depend on the order
    /// in which messages arrive.
    /// - Returns: nil when it is known, or another change.
    static func insert(
        _ change: OrderChanged, in transaction: StoreTransaction
    ) throws -> (minorUnits: Int64, currency: String)? {
        let status = OrderStatus(event: change.status)
        guard status?.isGivenUp == true || change.refundedMinorUnits != 0 else { return nil }
        let sale = try transaction.rows(
            "SELECT currency FROM sales WHERE orderId = ?", [.text(change.orderID)]
        ).first
        let refunded = change.refundedMinorUnits
        let minorUnits = refunded < 0 ? -amount(0 &- refunded) : amount(refunded)
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

    /// The counted hours of each zone begin at one of these, in milliseconds.
    private static let quarterOfAnHour: Int64 = 900_000

    private struct Hour: Hashable {
        let currency: String
        let number: Int64
    }

    /// Writes the sums by hour anew from all sales and refunds. The database adds up quarters of an hour, so that the
    /// writer changes a row for each hour, not for each of perhaps millions of sales.
    static func addUpHours(_ zone: ShopZone, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM salesHours")
        var hours: [Hour: [Int64]] = [:]
        func add(_ row: SQLRow, _ sums: [Int64]) throws {
            let moment = try row.int("quarter") * quarterOfAnHour
            let hour = try Hour(currency: row.text("currency"), number: number(ofHour: moment, zone, in: transaction))
            hours[hour] = hours[hour].map { zip($0, sums).map { $0 &+ $1 } } ?? sums
        }
        let sales = try transaction.rows(
            """
            SELECT currency, madeAt / \(quarterOfAnHour) AS quarter, count(*) AS orders, sum(pieces) AS pieces,
            sum(totalMinorUnits) AS total FROM sales GROUP BY currency, madeAt / \(quarterOfAnHour)
            """, [])
        for row in sales { try add(row, [row.int("orders"), row.int("pieces"), row.int("total"), 0, 0, 0]) }
        let refunds = try transaction.rows(
            """
            SELECT currency, changedAt / \(quarterOfAnHour) AS quarter, status, count(*) AS count,
            sum(CASE WHEN minorUnits > 0 THEN 1 WHEN minorUnits < 0 THEN -1 ELSE 0 END) AS refunds,
            sum(minorUnits) AS total
            FROM refunds GROUP BY currency, changedAt / \(quarterOfAnHour), status
            """, [])
        for row in refunds {
            let isCancelled = try OrderStatus(event: Int32(clamping: row.int("status"))) == .cancelled
            try add(row, [0, 0, 0, isCancelled ? row.int("count") : 0, row.int("refunds"), row.int("total")])
        }
        for (hour, sums) in hours { try addToHour(hour, sums, in: transaction) }
    }

    private static func number(
        ofHour milliseconds: Int64, _ zone: ShopZone, in transaction: StoreTransaction
    ) -> Int64 {
        zone.hour(of: min(Timestamp(milliseconds: max(0, milliseconds)), transaction.now))
    }

    private static func addToHour(
        _ milliseconds: Int64, _ currency: String, _ sums: [Int64], _ zone: ShopZone, in transaction: StoreTransaction
    ) throws {
        let hour = Hour(currency: currency, number: number(ofHour: milliseconds, zone, in: transaction))
        try addToHour(hour, sums, in: transaction)
    }

    private static func addToHour(_ hour: Hour, _ sums: [Int64], in transaction: StoreTransaction) throws {
        let changes = columns.map { "\($0) = salesHours.\($0) + excluded.\($0)" }.joined(separator: ", ")
        _ = try transaction.execute(
            """
            INSERT INTO salesHours(currency, hour, \(columns.joined(separator: ", "))) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT(currency, hour) DO UPDATE SET \(changes)
            """,
            [.text(hour.currency), .int(hour.number)] + sums.map(SQLValue.int))
    }

    /// Removes a deleted account's id from its orders; the shop's sums are kept.
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("UPDATE sales SET userId = '' WHERE userId = ?", [.text(userId)])
    }
}
