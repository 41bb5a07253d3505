import ObjectStore
import ParseProtocol
import ServiceKit

/// The deletion of an account (`analytics.userDeleted.v1`): the shop's figures stay, without the user.
package enum AccountDeletion {
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        guard !userId.isEmpty else { return }
        try DeletedUsers.add(userId, in: transaction)
        try EventLog.forget(userId, in: transaction)
        try ActiveIds.forget(userId, in: transaction)
        try PushTaps.forget(userId, in: transaction)
        try SalesLog.forget(userId, in: transaction)
    }
}
