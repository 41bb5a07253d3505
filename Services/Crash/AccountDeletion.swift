import ObjectStore
import ParseProtocol
import ServiceKit

/// The deletion of an account (`crash.userDeleted.v1`): reports and counts stay, without the user.
package enum AccountDeletion {
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        guard !userId.isEmpty else { return }
        try DeletedUsers.add(userId, in: transaction)
        try EventStore.forget(userId, in: transaction)
        try IssueLog.forget(userId, in: transaction)
    }
}
