import Messages
import ObjectStore

/// Notifications that wait to be sent. One row per order now; the sender comes with the push providers.
enum Notifications {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS notifications(id INTEGER PRIMARY KEY, userId TEXT NOT NULL, reason TEXT NOT NULL,
        subject TEXT NOT NULL, madeAt INTEGER NOT NULL, state TEXT NOT NULL DEFAULT 'waiting', UNIQUE(reason, subject))
        """,
        "CREATE INDEX IF NOT EXISTS notificationsOfUser ON notifications(userId, id)",
    ]

    /// Notes that the customer is to hear of the order. A second call for the same order changes nothing.
    static func add(_ order: OrderMade, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            """
            INSERT INTO notifications(userId, reason, subject, madeAt) VALUES (?, 'orderMade', ?, ?)
            ON CONFLICT(reason, subject) DO NOTHING
            """,
            [.text(order.userID), .text(order.orderID), .int(order.madeAt)])
    }
}
