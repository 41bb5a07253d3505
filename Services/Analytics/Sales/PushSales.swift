import ObjectStore
import ParseProtocol

/// The orders that followed pushes (`PushTaps`), and their revenue.
package enum PushSales {
    /// Sums the orders of these pushes: `orders` in total, and `sales` by currency. An order is credited to one push,
    /// so none counts twice. Refunds are current and never exceed the payment.
    package static func of(_ hashes: [String], _ reader: StoreReader) throws -> JSON {
        let back = "coalesce((SELECT sum(minorUnits) FROM refunds r WHERE r.orderId = s.orderId), 0)"
        let rows = try reader.rows(
            """
            SELECT currency, count(*) AS orders, sum(isCancelled) AS cancelled, sum(paid) AS gross, \
            sum(refunded) AS refunded
            FROM (SELECT currency, totalMinorUnits AS paid,
            CASE WHEN EXISTS(SELECT 1 FROM refunds r WHERE r.orderId = s.orderId AND r.status = ?2) \
            THEN 1 ELSE 0 END AS isCancelled,
            \(reader.dialect.lesser("totalMinorUnits", back)) AS refunded
            FROM sales s WHERE pushHash\(reader.dialect.isIn("?1", as: .text))) AS credited
            GROUP BY currency ORDER BY currency
            """,
            [
                .text(JSON.array(hashes.map(JSON.string)).serializedText), .int(Int64(OrderStatus.cancelled.event)),
            ])
        let orders = try rows.reduce(Int64(0)) { try $0 + $1.int("orders") }
        let sales = try rows.map { row -> JSON in
            let (gross, refunded) = try (row.int("gross"), row.int("refunded"))
            return try [
                "currency": .string(row.text("currency")), "orders": .int(row.int("orders")),
                "cancelled": .int(row.int("cancelled")), "grossMinorUnits": .int(gross),
                "refundedMinorUnits": .int(refunded), "netMinorUnits": .int(gross - refunded),
            ]
        }
        return ["orders": .int(orders), "sales": .array(sales)]
    }
}
