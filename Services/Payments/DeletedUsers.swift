import ObjectStore
import ParseProtocol

/// Users whose account was deleted. Their payment methods go, here and at the provider; what they paid stays in the books
/// without their name.
package enum DeletedUsers {
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        guard !userId.isEmpty else { return }
        _ = try transaction.execute(
            "INSERT INTO deletedUsers(userId, since) VALUES (?, ?) ON CONFLICT(userId) DO NOTHING",
            [.text(userId), .int(transaction.now.milliseconds)])
        // Each round removes what it found, so the rounds end.
        while case let methods = try PaymentMethods.all(of: userId, in: transaction), !methods.isEmpty {
            for method in methods {
                if let customer = method["stripeCustomerId"]?.stringValue {
                    try ForgottenCustomers.add(customer, in: transaction)
                }
                guard let objectId = method["objectId"]?.stringValue else { throw ParseError.internalError }
                _ = try transaction.delete(PaymentMethods.className, objectId, caller: .master)
            }
        }
        _ = try transaction.execute("UPDATE charges SET userId = '' WHERE userId = ?", [.text(userId)])
    }

    /// Whether the account is gone, asked before something new is kept for it.
    static func contains(_ userId: String, in store: some ObjectReading) throws -> Bool {
        try !store.rows("SELECT 1 FROM deletedUsers WHERE userId = ?", [.text(userId)]).isEmpty
    }
}
