import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Merges an anonymous user into the account that the same device signs in to: the user's data move there, and the
/// anonymous user is deleted.
enum AnonymousMerge {
    /// Longest wait of a sign-in for the move of the bag, so that the badge is right when it returns. The bag moves in
    /// any case.
    private static let patience = Duration.seconds(2)

    /// Moves the bag if `token` is a valid session of an anonymous user other than `userId`. Ignores any other token,
    /// so that an old one never prevents a sign-in.
    /// - Returns: the id of the deleted anonymous user; nil if nothing was merged.
    static func perform(
        from token: String, to userId: String, messages: Outbox, key: AccountKey,
        in transaction: StoreTransaction
    ) throws -> String? {
        guard let anonymousId = try owner(of: token, key, transaction), anonymousId != userId,
            try Identities.isAnonymous(anonymousId, transaction)
        else { return nil }
        try send(from: anonymousId, to: userId, messages, in: transaction)
        try transaction.delete("_User", anonymousId, caller: .master)
        // The merge message notifies the bag of the deletion. A second message could overtake it and delete the data to
        // be moved.
        try AccountDeletion.finish(anonymousId, untold: "bag", messages: messages, in: transaction)
        return anonymousId
    }

    private static func send(
        from anonymousId: String, to userId: String, linesOnly: Bool = false, _ messages: Outbox,
        in transaction: StoreTransaction
    ) throws {
        let merge = MergeBag.with {
            $0.fromUserID = anonymousId
            $0.toUserID = userId
            $0.linesOnly = linesOnly
        }
        let key = messageKey(from: anonymousId, to: userId, copies: linesOnly)
        try messages.add(BagCalls.merge, merge, key: key, in: transaction)
    }

    /// Waits until the bag has processed the merge or copy of a sign-in.
    static func settle(_ reply: BusReply, messages: Outbox, for share: WorkShare) async {
        guard let reply = try? AccountReply(serializedBytes: reply.body), !reply.mergedUserID.isEmpty else { return }
        for copies in [false, true] {
            await messages.waitUntilDelivered(
                key: messageKey(from: reply.mergedUserID, to: reply.objectID, copies: copies), within: patience,
                for: share)
        }
    }

    private static func messageKey(from anonymousId: String, to userId: String, copies: Bool = false) -> String {
        "bag:\(copies ? "copy" : "merge"):\(anonymousId):\(userId)"
    }

    // MARK: Copy without a token

    /// Limit of checked sessions per installation. An app has one for each of its users.
    private static let sessionsMax = 20

    /// Copies the bag lines of an anonymous user of the same device, because the SDK for iOS signs in without the
    /// anonymous session's token. The installation id is an unverified claim of the client, so it only allows a copy:
    /// the anonymous user keeps bag, addresses and notes.
    ///
    /// The installation's newest session must be the anonymous user's, and that user's newest; no other anonymous user
    /// may have a session there. The installation id is removed from the anonymous sessions, so that a later sign-in
    /// does not copy again.
    /// - Returns: the anonymous user.
    static func copy(
        fromInstallation id: String?, to userId: String, messages: Outbox, in transaction: StoreTransaction
    ) throws -> String? {
        guard let id, try !Identities.isAnonymous(userId, transaction) else { return nil }
        let sessions = try Sessions.newest(ofInstallation: id, max: sessionsMax, transaction)
            .filter { $0["user"]?.pointerTarget?.objectId != userId }
        let anonymous = try sessions.filter { session in
            guard let owner = session["user"]?.pointerTarget?.objectId else { return false }
            return try Identities.isAnonymous(owner, transaction)
        }
        for session in anonymous { try Sessions.leaveInstallation(session, in: transaction) }
        let owners = Set(anonymous.compactMap { $0["user"]?.pointerTarget?.objectId })
        guard owners.count == 1, let anonymousId = owners.first, sessions.count < sessionsMax,
            let last = sessions.first, last["objectId"] == anonymous.first?["objectId"],
            last["restricted"] != true, let end = Sessions.expiry(of: last), end > transaction.now,
            try Sessions.newest(of: anonymousId, transaction)?["objectId"] == last["objectId"]
        else { return nil }
        try send(from: anonymousId, to: userId, linesOnly: true, messages, in: transaction)
        return anonymousId
    }

    private static func owner(
        of token: String, _ key: AccountKey, _ reader: ObjectReader
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
