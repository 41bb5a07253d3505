import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The merge of an anonymous user into the account that the same device signs in to: what the user gathered goes there,
/// and the anonymous user ends.
enum AnonymousMerge {
    /// A sign-in waits this long for the bag, so that the badge is right when it returns. The bag arrives in any case.
    private static let patience = Duration.seconds(2)

    /// Hands the bag over when `token` is a live session of an anonymous user other than `userId`. Anything else is
    /// ignored: an old token never keeps anybody from signing in.
    /// - Returns: the anonymous user, who is gone then.
    static func perform(
        from token: String, to userId: String, messages: Outbox, key: AccountKey,
        in transaction: StoreTransaction
    ) throws -> String? {
        guard let anonymousId = try owner(of: token, key, transaction), anonymousId != userId,
            try Identities.isAnonymous(anonymousId, transaction)
        else { return nil }
        try messages.add(
            BagCalls.merge,
            MergeBag.with {
                $0.fromUserID = anonymousId
                $0.toUserID = userId
            }, key: messageKey(from: anonymousId, to: userId), in: transaction)
        try transaction.delete("_User", anonymousId, caller: .master)
        // The bag learns by the merge. A second message could overtake it and throw away what is to be moved.
        try AccountDeletion.finish(anonymousId, untold: "bag", messages: messages, in: transaction)
        return anonymousId
    }

    /// Waits until the bag has what a sign-in handed over.
    static func settle(_ reply: BusReply, messages: Outbox) async {
        guard let reply = try? AccountReply(serializedBytes: reply.body), !reply.mergedUserID.isEmpty else { return }
        await messages.waitUntilDelivered(
            key: messageKey(from: reply.mergedUserID, to: reply.objectID), within: patience)
    }

    private static func messageKey(from anonymousId: String, to userId: String) -> String {
        "bag:merge:\(anonymousId):\(userId)"
    }

    private static func owner(
        of token: String, _ key: AccountKey, _ reader: some ObjectReading
    ) throws -> String? {
        guard !token.isEmpty, token.utf8.count <= 128 else { return nil }
        do {
            let session = try Sessions.live(token, key, at: .now, reader)
            guard session["restricted"] != true else { return nil }
            return session["user"]?.pointerTarget?.objectId
        } catch let error as ParseError where error.code == .invalidSessionToken {
            return nil
        }
    }
}
