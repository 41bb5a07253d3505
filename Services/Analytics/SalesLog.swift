import Messages
import ObjectStore

/// The orders that were paid, for sales figures.
enum SalesLog {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS sales(orderId TEXT PRIMARY KEY, orderNumber INTEGER NOT NULL, userId TEXT NOT NULL,
        totalMinorUnits INTEGER NOT NULL, currency TEXT NOT NULL, pieces INTEGER NOT NULL, madeAt INTEGER NOT NULL)
        """,
        "CREATE INDEX IF NOT EXISTS salesByTime ON sales(madeAt)",
    ]

    /// Counts an order once, however often it is reported.
    static func add(_ order: OrderMade, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            """
            INSERT INTO sales(orderId, orderNumber, userId, totalMinorUnits, currency, pieces, madeAt)
            VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT(orderId) DO NOTHING
            """,
            [
                .text(order.orderID), .int(order.orderNumber), .text(order.userID), .int(order.totalMinorUnits),
                .text(order.currency), .int(Int64(order.pieces)), .int(order.madeAt),
            ])
    }
}
