import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The public name of a user, `displayName`. The catalog stores it with reviews and is notified of every change.
enum DisplayName {
    private static let field = "displayName"
    /// Limit of a name in bytes; longer names are not shown.
    private static let bytesMax = 200

    /// Notifies the catalog of a change, in the same transaction.
    static func tellChange(
        of userId: String, from before: JSON?, to after: JSON?, messages: Outbox,
        in transaction: StoreTransaction
    ) throws {
        guard before?[field] != after?[field] else { return }
        let renamed = UserRenamed.with {
            $0.userID = userId
            $0.formerName = text(of: before)
            $0.name = text(of: after)
            $0.renamedAt = transaction.now.milliseconds
        }
        try messages.add(
            CatalogCalls.userRenamed, renamed, key: "user:\(userId):renamed:\(Names.random(16))", in: transaction)
    }

    private static func text(of user: JSON?) -> String {
        guard let text = user?[field]?.stringValue, text.utf8.count <= bytesMax else { return "" }
        return text
    }
}
