import ObjectStore
import ParseProtocol
import ServiceKit

/// Users whose account was deleted. Their payment methods go, here and at the provider; what they paid stays in the books
/// without their name.
package enum DeletedUsers {
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        guard !userId.isEmpty else { return }
        _ = try transaction.execute(
            "INSERT INTO deletedUsers(userId, since) VALUES (?, ?) ON CONFLICT(userId) DO NOTHING",
            [.text(userId), .int(transaction.now.milliseconds)])
        try transaction.forEach(PaymentMethods.className, of: userId, "owner") { objectId, method in
            if let customer = method["stripeCustomerId"]?.stringValue {
                try ForgottenCustomers.add(customer, in: transaction)
            }
            _ = try transaction.delete(PaymentMethods.className, objectId, caller: .master)
        }
        _ = try transaction.execute("UPDATE charges SET userId = '' WHERE userId = ?", [.text(userId)])
    }

    /// Whether the account is gone, asked before something new is kept for it.
    static func contains(_ userId: String, in store: some ObjectReading) throws -> Bool {
        try !store.rows("SELECT 1 FROM deletedUsers WHERE userId = ?", [.text(userId)]).isEmpty
    }
}
