import ObjectStore
import ParseProtocol
import ServiceKit

/// The deletion of an account (`crash.userDeleted.v1`): reports and counts stay, without the user.
package enum AccountDeletion {
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        guard !userId.isEmpty else { return }
        _ = try transaction.execute(
            "INSERT INTO deletedUsers(userId, since) VALUES (?, ?) ON CONFLICT(userId) DO NOTHING",
            [.text(userId), .int(transaction.now.milliseconds)])
        try EventStore.forget(userId, in: transaction)
        try IssueLog.forget(userId, in: transaction)
    }

    /// Whether the account was deleted. SDKs keep reports while a device is offline and send them later.
    static func happened(to userId: String, in store: ObjectReader) throws -> Bool {
        try !store.rows("SELECT 1 FROM deletedUsers WHERE userId = ?", [.text(userId)]).isEmpty
    }
}
