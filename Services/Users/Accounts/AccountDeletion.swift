import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The deletion of an account: what ends with it here, and the news of it to the other services.
enum AccountDeletion {
    /// Removes what belongs to a user whose object is gone, and tells the others.
    /// - Parameter untold: a service that hears of it in another way.
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
        try Sessions.close(of: userId, in: transaction)
        try MailedTokens.removeAll(of: userId, in: transaction)
        // An id that is given again, where clients may choose ids, must not come with rights.
        try RoleHierarchy.remove(userId, in: transaction)
        let deleted = UserDeleted.with {
            $0.userID = userId
            $0.deletedAt = transaction.now.milliseconds
        }
        for call in NewsCalls.userDeleted where call.service != untold {
            try messages.add(
                call, deleted, key: "user:\(userId):deleted:\(transaction.now.milliseconds):\(call.service)",
                in: transaction)
        }
    }
}
