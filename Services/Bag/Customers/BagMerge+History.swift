import ObjectStore
import ParseProtocol
import ServiceKit

/// Moves everything except the bag from an anonymous user to the account that the user signs in to. The anonymous user
/// is deleted, and no client could read its data any more.
extension BagMerge {
    /// Placed orders and addresses move to the account. Lines without an order are removed.
    static func moveHistory(from: String, to: String, currency: String, in transaction: StoreTransaction) throws {
        let totals = CustomerTotals(currency: currency)
        let mine: JSON = ["customer": .pointer("_User", to), "ACL": Privacy.acl(to)]
        let made: JSON = ["orderStatus": ["$ne": .int(OrderStatus.open.wireStatus)]]
        try transaction.forEach("Order", of: from, "customer", where: made) { id, _ in
            let updated = try transaction.update("Order", id, mine, caller: .master)
            try totals.orderChanged(from: updated.before, to: updated.document, in: transaction)
        }
        try totals.moveMarks(from: from, to: to, in: transaction)
        try transaction.forEach("OrderItem", of: from, "customer") { id, item in
            if item["unitPriceMinorUnits"]?.intValue == nil {
                _ = try transaction.delete("OrderItem", id, caller: .master)
            } else {
                _ = try transaction.update("OrderItem", id, mine, caller: .master)
            }
        }
        try transaction.forEach(OrderNotes.className, of: from, "customer") { id, _ in
            let customer: JSON = ["customer": .pointer("_User", to)]
            _ = try transaction.update(OrderNotes.className, id, customer, caller: .master)
        }
        let hasDefault = try AddressBook.all(of: to, in: transaction).contains { $0["default"] == true }
        try transaction.forEach("Address", of: from, "owner") { id, address in
            var changes: JSON = ["owner": .pointer("_User", to), "ACL": .privateACL(to)]
            if hasDefault, address["default"] == true { changes["default"] = false }
            _ = try transaction.update("Address", id, changes, caller: .master)
        }
        // After sign-in the client asks for the payment's result with the account's session, so the keys are copied. A
        // key that the account already used keeps its checkout.
        _ = try transaction.execute(
            """
            INSERT INTO checkoutKeys(customerId, key, checkoutId, request, requestedAt)
            SELECT ?, key, checkoutId, request, requestedAt FROM checkoutKeys
            WHERE customerId = ? AND key >= 'client:' AND key < 'client;' ON CONFLICT(customerId, key) DO NOTHING
            """, [.text(to), .text(from)])
        _ = try transaction.execute(
            "UPDATE checkouts SET customerId = ? WHERE customerId = ?", [.text(to), .text(from)])
    }
}
