import ObjectStore
import ParseProtocol
import ServiceKit

/// The deletion of an account (`payments.userDeleted.v1`): the user's payment methods are deleted, here and at the
/// provider. Payments stay in the books without the name.
package enum AccountDeletion {
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        guard !userId.isEmpty else { return }
        try DeletedUsers.add(userId, in: transaction)
        try transaction.forEach(PaymentMethods.className, of: userId, "owner") { objectId, method in
            if let customer = method["stripeCustomerId"]?.stringValue {
                try CustomerDeletions.add(customer, in: transaction)
            }
            _ = try transaction.delete(PaymentMethods.className, objectId, caller: .master)
        }
        _ = try transaction.execute("UPDATE charges SET userId = '' WHERE userId = ?", [.text(userId)])
    }
}
