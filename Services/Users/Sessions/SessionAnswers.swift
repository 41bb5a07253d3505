import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Answers to questions about a session and the user behind it.
enum SessionAnswers {
    /// The user behind a token, for the gateway.
    /// - Parameter times: of a session that is extended by its use; nil when none is.
    static func principal(
        of token: String, _ key: AccountKey, extension times: SessionExtension?, _ reader: StoreReader
    ) throws -> SessionReply {
        let session = try Sessions.live(token, key, at: .now, reader)
        guard let userId = session["user"]?.pointerTarget?.objectId else { throw ParseError.invalidSession }
        let roles = try RoleHierarchy.roles(of: userId, reader).map(\.name).sorted()
        // A session of a user who is gone has no rights but those of everybody, as before; it ends with the deletion.
        if let user = try reader.documentIfFound("_User", userId, caller: .master), Ban.applies(to: user, roles: roles)
        {
            throw ParseError.invalidSession
        }
        let isAnonymous = try Identities.isAnonymous(userId, reader)
        let isExtendable = try Sessions.isExtendable(session, times, at: .now, reader)
        return SessionReply.with {
            $0.userID = userId
            $0.roles = roles
            $0.expiresAt = Sessions.expiry(of: session)?.milliseconds ?? 0
            $0.anonymous = isAnonymous
            $0.restricted = session["restricted"] == true
            $0.extendable = isExtendable
        }
    }

    /// The rights that a session of a user would have, for an operator who looks as that user.
    /// - Throws: `.objectNotFound` (101) where there is no such user, or one who may not sign in.
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

    /// `GET /users/me`: the user of the session the request came with.
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
        // Read again as the user may read it: the class may hide fields.
        var session = try reader.document("_Session", live["objectId"]?.stringValue ?? "", caller: request.caller)
        session["ACL"] = nil
        return try account(session.with(sessionToken: token))
    }

    /// `POST /logout`: ends the session the request came with; nothing to do without one.
    static func logOut(
        _ request: ServiceRequest, _ key: AccountKey, in transaction: StoreTransaction
    ) throws -> BusReply {
        let token = request.envelope.principal.sessionToken
        guard !token.isEmpty else { return try account([:]) }
        let session = try Sessions.live(token, key, at: transaction.now, transaction)
        try Sessions.end(session, in: transaction)
        return try account([:], forget: .users([session["user"]?.pointerTarget?.objectId].compactMap(\.self)))
    }

    /// A user's name and email address; empty for one who is not there or left no address.
    static func contact(of userId: String, _ reader: StoreReader) throws -> ContactReply {
        let user = try reader.documentIfFound("_User", userId, caller: .master) ?? [:]
        return ContactReply.with {
            $0.email = user["email"]?.stringValue ?? ""
            $0.name = name(of: user)
            $0.emailVerified = user["emailVerified"] == true
        }
    }

    /// The name by which mails call a user; may be empty.
    static func name(of user: JSON) -> String {
        func texts(_ fields: [String]) -> [String] {
            fields.compactMap { user[$0]?.stringValue }.filter { !$0.isEmpty }
        }
        return texts(["name"]).first ?? texts(["firstName", "lastName"]).joined(separator: " ")
    }

    /// The reply of a sign-in whose second factor was wrong. Its transaction stands, because it counted the guess.
    static func secondFactorRefused() throws -> BusReply {
        try BusReply(AccountReply.with { $0.secondFactorRefused = true }, documents: [Array("{}".utf8)])
    }

    /// The reply, unless it says that the second factor was wrong.
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
    /// A user's or a session's document with the token that the client sent or gets.
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

    /// Every session of these users. The gateway looks those that did not end up again.
    static func users(_ userIds: [String]) -> Forget { Forget.with { $0.userIds = userIds } }
}
