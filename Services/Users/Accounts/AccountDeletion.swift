import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The deletion of an account: removes its data in this service and notifies the other services.
enum AccountDeletion {
    /// Removes the data of a user whose object is deleted, and notifies the other services.
    /// - Parameter untold: a service that is notified by another message.
    static func finish(
        _ userId: String, untold: String? = nil, messages: Outbox, in transaction: StoreTransaction
    ) throws {
        try Credentials.remove(of: userId, in: transaction)
        try SecondFactors.remove(of: userId, in: transaction)
        try KnownDevices.forgetAll(of: userId, in: transaction)
        try SignInFailures.clearAll(of: userId, in: transaction)
        try Identities.giveAll(of: userId, in: transaction)
        try PersonNames.forget(userId, in: transaction)
        try AnonymousIds.remove(of: userId, in: transaction)
        try PublicUsers.forget(userId, in: transaction)
        try DeskViews.forget(userId, in: transaction)
        try Invitations.removeAll(by: userId, to: [], in: transaction)
        try LastSeen.forget(userId, in: transaction)
        try Sessions.close(of: userId, in: transaction)
        try MailedTokens.removeAll(of: userId, in: transaction)
        // Where clients may choose ids, a reused id must not inherit rights.
        try RoleHierarchy.remove(userId, in: transaction)
        let deleted = UserDeleted.with {
            $0.userID = userId
            $0.deletedAt = transaction.now.milliseconds
        }
        for call in NotificationCalls.userDeleted where call.service != untold {
            try messages.add(
                call, deleted, key: "user:\(userId):deleted:\(transaction.now.milliseconds):\(call.service)",
                in: transaction)
        }
    }
}
