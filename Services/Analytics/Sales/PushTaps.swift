import ObjectStore
import ParseProtocol
import ServiceKit

/// The taps on pushes that opened the app, of users who were signed in, and the orders that they are credited with. An
/// order has one push at most: the one that its customer tapped last before it, not longer ago than `window`.
///
/// Taps and orders are told by different ways, so that either may come first. An order looks for its tap when it comes,
/// and a tap for the orders after it: with the taps that are kept, the result is the same in any order.
package enum PushTaps {
    /// Milliseconds from a tap to the last order that it is credited with.
    package static let window: Int64 = 7 * dayMilliseconds
    /// Milliseconds that a tap is kept: a day longer, for orders that are told late.
    static let kept: Int64 = window + dayMilliseconds
    private static let dayMilliseconds = 24 * Hour.milliseconds

    /// Taps kept of one user, the newest. Nobody taps more pushes in a week; events are the client's word.
    package static let ofUserMax: Int64 = 20
    /// Taps kept of all users; those that came first go. A row and its places in two indexes take some 200 bytes.
    private static let allMax: Int64 = 500_000
    /// Orders of one user that one tap looks at, the newest.
    private static let ordersMax: Int64 = 100

    /// Takes a tap. Told twice, it is one.
    /// - Parameter moment: by the clock of the server, or the client's word as far as it is believed
    ///   (`Event.countedAt`).
    static func add(
        _ pushHash: String, of userId: String, at moment: Timestamp, in transaction: StoreTransaction
    ) throws {
        let (user, hash, time) = (SQLValue.text(userId), SQLValue.text(pushHash), SQLValue.int(moment.milliseconds))
        let isNew =
            try transaction.execute(
                "INSERT INTO pushTaps(userId, tappedAt, pushHash) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                [user, time, hash]) > 0
        guard isNew else { return }
        _ = try transaction.execute(
            """
            DELETE FROM pushTaps WHERE id IN (SELECT id FROM pushTaps WHERE userId = ?
            ORDER BY tappedAt DESC, pushHash DESC LIMIT ? OFFSET ?)
            """,
            [user, .int(allMax), .int(ofUserMax)])
        // Ids follow each other, so that this finds the oldest by the key and removes one, as a rule.
        _ = try transaction.execute(
            "DELETE FROM pushTaps WHERE id <= (SELECT max(id) FROM pushTaps) - ?", [.int(allMax)])
        // Orders that came before it: those that no later tap has.
        let row = transaction.dialect.row(key: "orderId")
        _ = try transaction.execute(
            """
            UPDATE sales SET pushHash = ?2, pushTappedAt = ?3 WHERE \(row) IN (SELECT \(row) FROM sales
            WHERE userId = ?1 AND madeAt BETWEEN ?3 AND ?4 ORDER BY madeAt DESC LIMIT ?5)
            AND (pushTappedAt IS NULL OR (pushTappedAt, pushHash) < (?3, ?2))
            """,
            [user, hash, time, .int(moment.milliseconds + window), .int(ordersMax)])
    }

    /// Notes the tap that led to an order with its row of `sales`.
    static func credit(order orderId: String, in transaction: StoreTransaction) throws {
        // Nobody tapped before 1970; what is below that would overflow.
        _ = try transaction.execute(
            """
            UPDATE sales SET (pushHash, pushTappedAt) = (SELECT pushHash, tappedAt FROM pushTaps
            WHERE userId = sales.userId AND tappedAt
            BETWEEN CASE WHEN sales.madeAt > 0 THEN sales.madeAt - ?2 ELSE 0 END AND sales.madeAt
            ORDER BY tappedAt DESC, pushHash DESC LIMIT 1) WHERE orderId = ?1
            """,
            [.text(orderId), .int(window)])
    }

    /// Removes a deleted account's taps. Its orders keep their push, as they keep their amount: they are nobody's then.
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM pushTaps WHERE userId = ?", [.text(userId)])
    }

    /// Removes some of those that have been kept long enough.
    /// - Returns: how many it removed.
    static func removeOld(_ transaction: StoreTransaction) throws -> Int {
        try transaction.execute(
            "DELETE FROM pushTaps WHERE id IN (SELECT id FROM pushTaps WHERE tappedAt < ? LIMIT ?)",
            [.int(transaction.now.milliseconds - kept), .int(removedAtOnce)])
    }

    /// Some milliseconds' worth, so that no write waits long.
    private static let removedAtOnce: Int64 = 2000
}
