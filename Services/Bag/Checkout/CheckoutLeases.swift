import ObjectStore
import ParseProtocol

/// Leases on running checkouts, where several processes drive checkouts. A process renews its lease while it drives the
/// checkout, and releases it when it stops. After a crash the lease expires, and another process takes over.
///
/// Two concurrent drivers of one checkout are harmless: every step may be repeated, no step is reverted, and only one
/// driver decides the end (`CheckoutLedger.storeReply`). Leases only make that case rare.
package struct CheckoutLeases: Sendable {
    /// The name of this process.
    package let driver: String
    /// Lease time. After a crash, the customer waits at most this long until another process takes over.
    package let length: Duration

    /// - Parameter length: several times the longest stall of a busy process.
    package init(driver: String = Names.random(20), length: Duration = .seconds(3)) {
        self.driver = driver
        self.length = length
    }

    /// Interval at which a lease is renewed.
    package var pause: Duration { length / 4 }

    /// The columns `driver` and `drivenUntil` of a checkout that this process begins to drive.
    func values(at now: Timestamp) -> [SQLValue] { [.text(driver), .int(now.advanced(by: length).milliseconds)] }

    /// Takes or renews the lease. A lease that expires later than now + `length` was written before the clock was set
    /// back; it counts as expired.
    /// - Returns: false when another process holds it, or when the checkout is decided.
    package func take(_ checkoutId: String, in transaction: StoreTransaction) throws -> Bool {
        let now = transaction.now
        return try transaction.execute(
            """
            UPDATE checkouts SET driver = ?1, drivenUntil = ?2 WHERE id = ?3
            AND \(CheckoutState.runningCondition) AND (driver = ?1 OR drivenUntil <= ?4 OR drivenUntil > ?2)
            """, values(at: now) + [.text(checkoutId), .int(now.milliseconds)]) == 1
    }

    func release(_ checkoutId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            "UPDATE checkouts SET drivenUntil = 0 WHERE id = ? AND driver = ?", [.text(checkoutId), .text(driver)])
    }
}
