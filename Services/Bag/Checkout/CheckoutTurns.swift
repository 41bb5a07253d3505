import ObjectStore
import ParseProtocol

/// Whose turn each running checkout is, where several processes drive checkouts: it is one process's until a time that
/// this one puts off as long as it is at it. A process that ends gives its checkouts back, one that dies does not: then
/// the time goes by, and whoever is asked for the checkout goes on with it.
///
/// Two that drive one checkout do no harm: every step can be asked for again with the same outcome, no step is taken
/// back, and one of them alone decides the end (`CheckoutLedger.finish`). The turns only see to it that it is rare.
package struct CheckoutTurns: Sendable {
    /// The name of this process.
    package let driver: String
    /// The time for which a checkout is taken. A customer whose process died waits for it once.
    package let length: Duration

    /// - Parameter length: some times as long as a busy process stands still.
    package init(driver: String = Names.random(20), length: Duration = .seconds(3)) {
        self.driver = driver
        self.length = length
    }

    /// Between two moments at which a turn is put off.
    package var pause: Duration { length / 4 }

    /// The columns `driver` and `drivenUntil` of a checkout that this process begins to drive.
    func values(at now: Timestamp) -> [SQLValue] { [.text(driver), .int(now.advanced(by: length).milliseconds)] }

    /// Takes the turn, or puts its end off.
    /// - Returns: false when it is another process's, or when the checkout is decided.
    package func take(_ checkoutId: String, in transaction: StoreTransaction) throws -> Bool {
        let now = transaction.now
        return try transaction.execute(
            """
            UPDATE checkouts SET driver = ?1, drivenUntil = ?2 WHERE id = ?3
            AND state IN ('started', 'reserved', 'charged') AND (driver = ?1 OR drivenUntil <= ?4)
            """, values(at: now) + [.text(checkoutId), .int(now.milliseconds)]) == 1
    }

    /// Gives the turn back.
    func give(_ checkoutId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            "UPDATE checkouts SET drivenUntil = 0 WHERE id = ? AND driver = ?", [.text(checkoutId), .text(driver)])
    }
}
