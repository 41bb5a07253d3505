import ObjectStore
import ParseProtocol
import ServiceKit

/// The deletion of an account (`bag.userDeleted.v1`): what is only the user's goes, and made orders
/// lose the name.
package enum AccountDeletion {
    /// - Throws: `.serviceUnavailable` (2) while an order of the user is being paid; how that ends has to be known
    ///   first.
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        guard Names.isObjectId(userId) else { throw ParseError(.validationError, "A user's id is needed.") }
        let paying = try transaction.rows(
            "SELECT 1 FROM checkouts WHERE customerId = ? AND state IN ('started', 'reserved', 'charged') LIMIT 1",
            [.text(userId)])
        guard paying.isEmpty else { throw ParseError(.serviceUnavailable, "An order of this user is being paid.") }
        try transaction.forEach("Address", of: userId, "owner") { id, _ in
            _ = try transaction.delete("Address", id, caller: .master)
        }
        try transaction.forEach("Order", of: userId, "customer") { id, order in
            guard !OrderStatus.isOpen(order) else {
                try OpenOrder(document: order, in: transaction).delete(in: transaction)
                return
            }
            _ = try transaction.update("Order", id, withoutName, caller: .master)
            // They may say anything about the customer.
            try OrderNotes.removeAll(of: id, in: transaction)
        }
        try OrderNotes.forgetAuthor(userId, in: transaction)
        try transaction.forEach("OrderItem", of: userId, "customer") { id, item in
            if item["unitPriceMinorUnits"]?.intValue == nil {
                _ = try transaction.delete("OrderItem", id, caller: .master)
            } else {
                _ = try transaction.update(
                    "OrderItem", id, ["customer": removed, "ACL": Privacy.adminsOnly], caller: .master)
            }
        }
        try forgetCheckouts(of: userId, in: transaction)
        try transaction.execute(
            "INSERT INTO deletedUsers(userId, since) VALUES (?, ?) ON CONFLICT(userId) DO NOTHING",
            [.text(userId), .int(transaction.now.milliseconds)])
    }

    /// Whether the account is gone, asked before something is moved to it.
    static func happened(to userId: String, in transaction: StoreTransaction) throws -> Bool {
        try !transaction.rows("SELECT 1 FROM deletedUsers WHERE userId = ?", [.text(userId)]).isEmpty
    }

    private static let removed: JSON = ["__op": "Delete"]

    /// Number, lines, total and dates stay: the shop has to account for them.
    private static let withoutName: JSON = [
        "customer": removed, "shippingAddress": removed, "note": removed, "giftMessage": removed,
        "cancelReason": removed, "email": removed, "ACL": Privacy.adminsOnly,
    ]

    /// A receipt names its reader; nobody can ask for it any more.
    private static func forgetCheckouts(of userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            "UPDATE refunds SET reason = '' WHERE orderId IN (SELECT orderId FROM checkouts WHERE customerId = ?)",
            [.text(userId)])
        _ = try transaction.execute("DELETE FROM checkoutKeys WHERE customerId = ?", [.text(userId)])
        _ = try transaction.execute(
            "UPDATE checkouts SET customerId = '', email = '', orderFields = '{}', reply = ? WHERE customerId = ?",
            [.blob(Array("{}".utf8)), .text(userId)])
    }
}
