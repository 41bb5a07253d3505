import ObjectStore
import ParseProtocol
import ServiceKit

/// `bag.userDeleted.v1`: what is only the user's goes, and made orders lose the name.
package enum DeletedUser {
    /// Objects changed at a time.
    private static let pageRows = 200

    /// - Throws: 2 while an order of the user is being paid; how that ends has to be known first.
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        guard Names.isObjectId(userId) else { throw ParseError(.validationError, "A user's id is needed.") }
        let paying = try transaction.rows(
            "SELECT 1 FROM checkouts WHERE customerId = ? AND state IN ('started', 'reserved', 'charged') LIMIT 1",
            [.text(userId)])
        guard paying.isEmpty else { throw ParseError(.serviceUnavailable, "An order of this user is being paid.") }
        try forEach("Address", "owner", userId, in: transaction) { id, _ in
            _ = try transaction.delete("Address", id, caller: .master)
        }
        try forEach("Order", "customer", userId, in: transaction) { id, order in
            guard order["orderStatus"]?.intValue != 0 else {
                try OpenOrder(document: order, in: transaction).delete(in: transaction)
                return
            }
            _ = try transaction.update("Order", id, withoutName, caller: .master)
        }
        try forEach("OrderItem", "customer", userId, in: transaction) { id, item in
            if item["unitPriceMinorUnits"]?.intValue == nil {
                _ = try transaction.delete("OrderItem", id, caller: .master)
            } else {
                _ = try transaction.update(
                    "OrderItem", id, ["customer": removed, "ACL": Privacy.adminsOnly], caller: .master)
            }
        }
        try forgetCheckouts(of: userId, in: transaction)
    }

    private static let removed: JSON = ["__op": "Delete"]

    /// Number, lines, total and dates stay: the shop has to account for them.
    private static let withoutName: JSON = [
        "customer": removed, "shippingAddress": removed, "note": removed, "giftMessage": removed,
        "cancelReason": removed, "ACL": Privacy.adminsOnly,
    ]

    /// Every round must take its objects out of the condition.
    private static func forEach(
        _ className: String, _ field: String, _ userId: String, in transaction: StoreTransaction,
        _ work: (String, JSON) throws -> Void
    ) throws {
        let query = Query(className: className, where: [field: .pointer("_User", userId)], limit: pageRows)
        while true {
            let documents = try transaction.documents(query, caller: .master)
            for document in documents {
                guard let id = document["objectId"]?.stringValue else { throw ParseError.internalError }
                try work(id, document)
            }
            if documents.count < pageRows { return }
        }
    }

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
