import Cryptography
import Foundation
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Answers requests about a session and its user.
enum SessionAnswers {
    /// Age in milliseconds from which an account is established: a day.
    private static let establishedAfter: Int64 = 86_400_000

    /// The user of a token, for the gateway.
    /// - Parameter times: how use extends the session; nil if it does not.
    static func principal(
        of token: String, _ key: AccountKey, extension times: SessionExtension?, _ reader: StoreReader
    ) throws -> SessionReply {
        let session = try Sessions.live(token, key, at: .now, reader)
        guard let userId = session["user"]?.pointerTarget?.objectId else { throw ParseError.invalidSession }
        let roles = try RoleHierarchy.roles(of: userId, reader).map(\.name).sorted()
        // A session whose user is missing has only public rights; it ends with the deletion of the user.
        let user = try reader.documentIfFound("_User", userId, caller: .master)
        if let user, Ban.applies(to: user, roles: roles) { throw ParseError.invalidSession }
        let madeAt = user?["createdAt"]?.stringValue.flatMap { Timestamp(iso: $0) }
        let isOld = madeAt.map { Timestamp.now.milliseconds - $0.milliseconds >= establishedAfter } ?? false
        let isAnonymous = try Identities.isAnonymous(userId, reader)
        let isOperator = session["restricted"] != true && !OperatorArea.roles.isDisjoint(with: roles)
        let isExtendable =
            try Sessions.isExtendable(session, times, at: .now, reader)
            || isOperator && LastSeen.isDue(userId, at: .now, reader)
        return SessionReply.with {
            $0.userID = userId
            $0.roles = roles
            $0.expiresAt = Sessions.expiry(of: session)?.milliseconds ?? 0
            $0.anonymous = isAnonymous
            $0.restricted = session["restricted"] == true
            $0.extendable = isExtendable
            $0.established = isOld && !isAnonymous
        }
    }

    /// The rights of a user's session, for an operator who views as that user.
    /// - Throws: `.objectNotFound` (101) for an unknown or banned user.
    static func rights(of userId: String, _ reader: StoreReader) throws -> SessionReply {
        let roles = try RoleHierarchy.roles(of: userId, reader).map(\.name).sorted()
        guard let user = try reader.documentIfFound("_User", userId, caller: .master),
            !Ban.applies(to: user, roles: roles)
        else { throw ParseError.objectNotFound }
        let isAnonymous = try Identities.isAnonymous(userId, reader)
        return SessionReply.with {
            $0.userID = userId
            $0.roles = roles
            $0.anonymous = isAnonymous
        }
    }

    /// `GET /users/me`: the user of the request's session.
    static func user(_ request: ServiceRequest, _ key: AccountKey, _ reader: StoreReader) throws -> BusReply {
        let token = request.envelope.principal.sessionToken
        let session = try Sessions.live(token, key, at: .now, reader)
        guard let userId = session["user"]?.pointerTarget?.objectId,
            try reader.documentIfFound("_User", userId, caller: .master) != nil
        else { throw ParseError.invalidSession }
        let user = try OwnAccount.shown(
            reader.document("_User", userId, caller: request.caller), of: userId,
            isAdmin: request.envelope.principal.isAdmin, key, reader)
        return try account(user.with(sessionToken: token))
    }

    /// `GET /sessions/me`.
    static func session(_ request: ServiceRequest, _ key: AccountKey, _ reader: StoreReader) throws -> BusReply {
        let token = request.envelope.principal.sessionToken
        let live = try Sessions.live(token, key, at: .now, reader)
        // Read again with the user's rights: the class may hide fields.
        var session = try reader.document("_Session", live["objectId"]?.stringValue ?? "", caller: request.caller)
        session["ACL"] = nil
        return try account(session.with(sessionToken: token))
    }

    /// `POST /logout`: ends the request's session; does nothing without one.
    static func logOut(
        _ request: ServiceRequest, _ key: AccountKey, in transaction: StoreTransaction
    ) throws -> BusReply {
        let token = request.envelope.principal.sessionToken
        guard !token.isEmpty else { return try account([:]) }
        let session = try Sessions.live(token, key, at: transaction.now, transaction)
        try Sessions.end(session, in: transaction)
        var forget = Forget.users([session["user"]?.pointerTarget?.objectId].compactMap(\.self))
        forget.loggedOut = [Data(SHA256.hash(data: Data(token.utf8)))]
        return try account([:], forget: forget)
    }

    /// A user's name and email address; the address is empty if there is none.
    /// - Throws: `.objectNotFound` (101) for an unknown user.
    static func contact(of userId: String, _ reader: StoreReader) throws -> ContactReply {
        let user = try reader.document("_User", userId, caller: .master)
        return ContactReply.with {
            $0.email = user["email"]?.stringValue ?? ""
            $0.name = name(of: user)
            $0.emailVerified = user["emailVerified"] == true
        }
    }

    /// The user's name in mails; may be empty.
    static func name(of user: JSON) -> String {
        func texts(_ fields: [String]) -> [String] {
            fields.compactMap { user[$0]?.stringValue }.filter { !$0.isEmpty }
        }
        return texts(["name"]).first ?? texts(["firstName", "lastName"]).joined(separator: " ")
    }

    /// The reply to a sign-in with a wrong second factor. Its transaction is committed, because it counted the guess.
    static func secondFactorRefused() throws -> BusReply {
        try BusReply(AccountReply.with { $0.secondFactorRefused = true }, documents: [Array("{}".utf8)])
    }

    /// Returns the reply, unless it reports a wrong second factor.
    /// - Throws: `.scriptFailed` (141).
    static func accepted(_ reply: BusReply) throws -> BusReply {
        guard try !AccountReply(serializedBytes: reply.body).secondFactorRefused else { throw SecondFactors.invalid }
        return reply
    }

    /// An `AccountReply` with its document.
    static func account(
        _ document: JSON, created: Bool = false, forget: Forget? = nil, merged: String? = nil
    ) throws -> BusReply {
        var forget = forget
        if let merged { forget = (forget ?? Forget()).adding(userId: merged) }
        let reply = AccountReply.with {
            $0.created = created
            $0.objectID = document["objectId"]?.stringValue ?? ""
            $0.mergedUserID = merged ?? ""
        }
        return try BusReply(reply, documents: [document.serialized], forget: forget)
    }
}

extension JSON {
    /// The document of a user or session, with a session token.
    func with(sessionToken: String) -> JSON {
        var user = self
        user["sessionToken"] = .string(sessionToken)
        return user
    }
}

extension Forget {
    func adding(userId: String) -> Forget {
        var sum = self
        sum.userIds.append(userId)
        return sum
    }

    /// Invalidates all sessions of these users; the gateway looks up the remaining ones again.
    static func users(_ userIds: [String]) -> Forget { Forget.with { $0.userIds = userIds } }
}
