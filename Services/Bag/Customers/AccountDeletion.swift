import ObjectStore
import ParseProtocol
import ServiceKit

/// Account deletion: the user's own data is removed, and placed orders lose the name.
///
/// `users` asks before it deletes (`bag.beginDeletion.v1`). The bag refuses while a payment is undecided. Otherwise no
/// checkout of the account begins until `users` has deleted it (`bag.userDeleted.v1`) or `deletionHoldMax` has passed.
package enum AccountDeletion {
    /// Longer than `users` needs from the request to its commit. A checkout that begins later asks `users` whether the
    /// account exists.
    package static let deletionHoldMax = Duration.seconds(30)

    /// The error of a checkout whose account was deleted.
    static let refusal = ParseError(.invalidSessionToken, "The account was deleted; any charge is refunded.")

    /// - Throws: `.validationError` (142) while a payment of the user is undecided.
    package static func begin(_ userId: String, in transaction: StoreTransaction) throws {
        guard Names.isObjectId(userId) else { return }
        guard try !isPaying(userId, in: transaction) else {
            throw ParseError(
                .validationError,
                "A payment of this account is not decided yet. The account can be deleted when it is decided.")
        }
        try transaction.execute(
            "DELETE FROM deletionsBegun WHERE since < ?",
            [.int(transaction.now.advanced(by: .zero - deletionHoldMax).milliseconds)])
        try transaction.execute(
            """
            INSERT INTO deletionsBegun(userId, since) VALUES (?, ?)
            ON CONFLICT(userId) DO UPDATE SET since = excluded.since
            """, [.text(userId), .int(transaction.now.milliseconds)])
    }

    /// - Throws: `.validationError` (142) while the account is being deleted, `.invalidSessionToken` (209) afterwards.
    static func requireNone(of userId: String, in transaction: StoreTransaction) throws {
        guard try !DeletedUsers.contains(userId, in: transaction) else { throw refusal }
        let begun = try transaction.rows(
            "SELECT 1 FROM deletionsBegun WHERE userId = ? AND since >= ?",
            [.text(userId), .int(transaction.now.advanced(by: .zero - deletionHoldMax).milliseconds)])
        guard begun.isEmpty else { throw ParseError(.validationError, "This account is being deleted.") }
    }

    private static func isPaying(_ userId: String, in transaction: StoreTransaction) throws -> Bool {
        try !transaction.rows(
            "SELECT 1 FROM checkouts WHERE customerId = ? AND \(CheckoutState.runningCondition) LIMIT 1",
            [.text(userId)]
        ).isEmpty
    }

    /// Marks the account as deleted and removes its data. While a checkout of it runs, only marks it:
    /// `CheckoutLedger.endWithoutOrder` calls this again when the checkout ends.
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        guard Names.isObjectId(userId) else { throw ParseError(.validationError, "A user's id is needed.") }
        try DeletedUsers.add(userId, in: transaction)
        try transaction.execute("DELETE FROM deletionsBegun WHERE userId = ?", [.text(userId)])
        guard try !isPaying(userId, in: transaction) else { return }
        try transaction.forEach("Address", of: userId, "owner") { id, _ in
            _ = try transaction.delete("Address", id, caller: .master)
        }
        try transaction.forEach("Order", of: userId, "customer") { id, order in
            guard !OrderStatus.isOpen(order) else {
                try OpenOrder(document: order, in: transaction).delete(in: transaction)
                return
            }
            let updated = try transaction.update("Order", id, withoutName, caller: .master)
            try OrderEntries.orderChanged(from: updated.before, to: updated.document, in: transaction)
            // Notes and reasons may contain anything about the customer.
            try OrderNotes.removeAll(of: id, in: transaction)
            try RefundLedger.forgetReasons(of: id, in: transaction)
        }
        try CustomerTotals.forget(userId, in: transaction)
        try CustomerMarks.forgetAuthor(userId, in: transaction)
        try OrderNotes.removeAll(toCustomer: userId, in: transaction)
        try OrderNotes.forgetAuthor(userId, in: transaction)
        try ImportedItems.forget(userId, in: transaction)
        try transaction.forEach("OrderItem", of: userId, "customer") { id, item in
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

    /// Number, lines, total and dates are kept: the shop needs them for accounting.
    private static let withoutName: JSON = [
        "customer": removed, "shippingAddress": removed, "note": removed, "giftMessage": removed,
        "cancelReason": removed, "email": removed, "ACL": Privacy.adminsOnly,
    ]

    /// A receipt contains the customer's name, and no client can request it any more.
    private static func forgetCheckouts(of userId: String, in transaction: StoreTransaction) throws {
        let checkouts = try transaction.rows(
            "SELECT id, orderId FROM checkouts WHERE customerId = ?", [.text(userId)])
        for checkout in checkouts {
            // The master key may have removed the order, or the order's customer.
            try RefundLedger.forgetReasons(of: checkout.text("orderId"), in: transaction)
            try transaction.execute(
                "DELETE FROM checkoutMailCauses WHERE checkoutId = ?", [.text(checkout.text("id"))])
        }
        _ = try transaction.execute("DELETE FROM checkoutKeys WHERE customerId = ?", [.text(userId)])
        _ = try transaction.execute(
            "UPDATE checkouts SET customerId = '', email = '', orderFields = '{}', reply = ? WHERE customerId = ?",
            [.blob(Array("{}".utf8)), .text(userId)])
    }
}
