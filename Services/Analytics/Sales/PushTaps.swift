import ObjectStore
import ParseProtocol
import ServiceKit

/// The taps on pushes that opened the app, for signed-in users, and the orders credited to them. An order is credited
/// to at most one push: the push that its customer tapped last before it, within `window`.
///
/// Taps and orders arrive independently, in any order. An arriving order looks for its tap, and an arriving tap for
/// later orders. While the taps are stored, the result does not depend on the order of arrival.
package enum PushTaps {
    /// Maximum milliseconds from a tap to an order that is credited to it.
    package static let window: Int64 = 7 * dayMilliseconds
    /// Milliseconds for which a tap is stored: one day longer, for orders that arrive late.
    static let kept: Int64 = window + dayMilliseconds
    private static let dayMilliseconds = 24 * Hour.milliseconds

    /// Maximum taps stored per user, the newest. No customer taps more pushes in a week, and clients can send arbitrary
    /// events.
    package static let ofUserMax: Int64 = 20
    /// Maximum taps stored for all users; the oldest are removed. A row with its two index entries takes about 200
    /// bytes.
    private static let allMax: Int64 = 500_000
    /// Maximum orders of one user that one tap inspects, the newest.
    private static let ordersMax: Int64 = 100

    /// Records a tap. Idempotent.
    /// - Parameter moment: by the server's clock, or the client's time when it is plausible (`Event.countedAt`).
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
        // Ids are consecutive, so this finds the oldest by primary key and usually removes one.
        _ = try transaction.execute(
            "DELETE FROM pushTaps WHERE id <= (SELECT max(id) FROM pushTaps) - ?", [.int(allMax)])
        // Orders after this tap that arrived earlier, unless a later tap is credited with them.
        let row = transaction.dialect.row(key: "orderId")
        _ = try transaction.execute(
            """
            UPDATE sales SET pushHash = ?2, pushTappedAt = ?3 WHERE \(row) IN (SELECT \(row) FROM sales
            WHERE userId = ?1 AND madeAt BETWEEN ?3 AND ?4 ORDER BY madeAt DESC LIMIT ?5)
            AND (pushTappedAt IS NULL OR (pushTappedAt, pushHash) < (?3, ?2))
            """,
            [user, hash, time, .int(moment.milliseconds + window), .int(ordersMax)])
    }

    /// Stores the tap that led to an order in its row of `sales`.
    static func credit(order orderId: String, in transaction: StoreTransaction) throws {
        // There are no taps before 1970, and smaller values would overflow.
        _ = try transaction.execute(
            """
            UPDATE sales SET (pushHash, pushTappedAt) = (SELECT pushHash, tappedAt FROM pushTaps
            WHERE userId = sales.userId AND tappedAt
            BETWEEN CASE WHEN sales.madeAt > 0 THEN sales.madeAt - ?2 ELSE 0 END AND sales.madeAt
            ORDER BY tappedAt DESC, pushHash DESC LIMIT 1) WHERE orderId = ?1
            """,
            [.text(orderId), .int(window)])
    }

    /// Removes a deleted account's taps. Its orders keep their push and amount, without the account.
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM pushTaps WHERE userId = ?", [.text(userId)])
    }

    /// Removes some expired taps.
    /// - Returns: the number of removed taps.
    static func removeOld(_ transaction: StoreTransaction) throws -> Int {
        try transaction.execute(
            "DELETE FROM pushTaps WHERE id IN (SELECT id FROM pushTaps WHERE tappedAt < ? LIMIT ?)",
            [.int(transaction.now.milliseconds - kept), .int(removedAtOnce)])
    }

    /// A few milliseconds' worth, so that no write waits long.
    private static let removedAtOnce: Int64 = 2000
}
