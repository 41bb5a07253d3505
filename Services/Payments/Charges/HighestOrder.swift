import Messages
import ObjectStore

/// The highest order number that payments has received. The bag asks for it before it numbers orders, so that a number
/// that its own database lost is not assigned twice.
package enum HighestOrder {
    package static func note(_ order: OrderMade, in transaction: StoreTransaction) throws {
        try transaction.execute(
            """
            INSERT INTO highestOrder(id, orderNumber) VALUES (1, ?)
            ON CONFLICT(id) DO UPDATE SET orderNumber = excluded.orderNumber
            WHERE excluded.orderNumber > highestOrder.orderNumber
            """, [.int(order.orderNumber)])
    }

    package static func number(in store: ObjectReader) throws -> Int64 {
        try store.rows("SELECT orderNumber FROM highestOrder", []).first?.int("orderNumber") ?? 0
    }
}
