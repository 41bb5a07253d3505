import ObjectStore
import ParseProtocol
import ServiceKit

/// The deletion of an account (`analytics.userDeleted.v1`): the shop's figures stay, without the user.
package enum AccountDeletion {
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        guard !userId.isEmpty else { return }
        _ = try transaction.execute(
            "INSERT INTO deletedUsers(userId, since) VALUES (?, ?) ON CONFLICT(userId) DO NOTHING",
            [.text(userId), .int(transaction.now.milliseconds)])
        try EventLog.forget(userId, in: transaction)
        try ActiveIds.forget(userId, in: transaction)
        try PushTaps.forget(userId, in: transaction)
        try SalesLog.forget(userId, in: transaction)
    }

    /// Whether the account was deleted; checked before new data is stored for it. Orders and events may arrive after
    /// the deletion.
    static func happened(to userId: String, in store: ObjectReader) throws -> Bool {
        try !store.rows("SELECT 1 FROM deletedUsers WHERE userId = ?", [.text(userId)]).isEmpty
    }
}
