import Messages
import ObjectStore

/// The highest number of an order that payments has heard of. The bag asks before it numbers orders, so that a number
/// which its own file lost is not given out twice.
package enum HighestOrder {
    package static func note(_ order: OrderMade, in transaction: StoreTransaction) throws {
        try transaction.execute(
            """
            INSERT INTO highestOrder(id, orderNumber) VALUES (1, ?)
            ON CONFLICT(id) DO UPDATE SET orderNumber = excluded.orderNumber
            WHERE excluded.orderNumber > highestOrder.orderNumber
            """, [.int(order.orderNumber)])
    }

    package static func number(in store: some ObjectReading) throws -> Int64 {
        try store.rows("SELECT orderNumber FROM highestOrder", []).first?.int("orderNumber") ?? 0
    }
}
