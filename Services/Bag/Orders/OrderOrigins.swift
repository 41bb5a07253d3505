import ObjectStore
import ParseProtocol
import ServiceKit

/// The origin of each placed order that no checkout placed. `scripts/verify` expects no charge, mail or sale for such
/// an order.
package enum OrderOrigins {
    package enum Origin: String, Sendable {
        /// An import or a move created it.
        case `import`
        /// The master key placed it: a team's own code, which was paid elsewhere.
        case code
        /// A release that recorded no origins placed it.
        case earlier
    }

    static let table = [
        "ALTER TABLE importedOrders RENAME TO orderOrigins",
        "ALTER TABLE orderOrigins ADD COLUMN origin TEXT NOT NULL DEFAULT 'import'",
    ]

    /// Notes the origin of an order that a save with the master key placed.
    static func follow(_ outcome: ChangeOutcome, isImported: Bool, in transaction: StoreTransaction) throws {
        guard !outcome.isRepeated, let after = outcome.after, isPlaced(after),
            outcome.before.map(isPlaced) != true
        else { return }
        try note(outcome.objectId, isImported ? .import : .code, in: transaction)
    }

    static func forget(_ orderId: String, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM orderOrigins WHERE orderId = ?", [.text(orderId)])
    }

    /// Notes the orders of earlier releases.
    package static func noteEarlier(in transaction: StoreTransaction) throws {
        guard transaction.hasClass("Order") else { return }
        try transaction.forAll("Order") { id, order in
            if isPlaced(order) { try note(id, .earlier, in: transaction) }
        }
    }

    private static func isPlaced(_ order: JSON) -> Bool { order["orderStatus"]?.intValue != 0 }

    private static func note(_ orderId: String, _ origin: Origin, in transaction: StoreTransaction) throws {
        let paid = try transaction.rows(
            "SELECT id FROM checkouts WHERE orderId = ? AND state = 'made' LIMIT 1", [.text(orderId)])
        guard paid.isEmpty else { return }
        try transaction.execute(
            "INSERT INTO orderOrigins(orderId, origin) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [.text(orderId), .text(origin.rawValue)])
    }
}
