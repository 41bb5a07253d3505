import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The fields of an account by which operators find its customer. `bag` is notified of every change.
enum ContactChange {
    private static let fields = ["email", "firstName", "lastName", "name", "phone"]

    /// Notifies bag of a change, in the same transaction.
    static func tell(
        of userId: String, from before: JSON?, to after: JSON?, messages: Outbox, in transaction: StoreTransaction
    ) throws {
        guard fields.contains(where: { before?[$0] != after?[$0] }) else { return }
        try messages.add(
            BagCalls.userChanged, UserChanged.with { $0.userID = userId },
            key: "user:\(userId):changed:\(Names.random(16))", in: transaction)
    }
}
