import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Answers to questions about a session and the user behind it.
enum SessionAnswers {
    /// Who is behind a token, for the gateway.
    static func principal(of token: String, _ reader: StoreReader) throws -> BusReply {
        let session = try Sessions.live(token, at: .now, reader)
        guard let userId = session["user"]?.pointerTarget?.objectId else { throw ParseError.invalidSession }
        let roles = try RoleHierarchy.roles(of: userId, reader)
        let isAnonymous = try Credentials.hash(of: userId, reader) == nil
        return try BusReply(
            SessionReply.with {
                $0.userID = userId
                $0.roles = roles.map(\.name).sorted()
                $0.expiresAt = Sessions.expiry(of: session)?.milliseconds ?? 0
                $0.anonymous = isAnonymous
            })
    }

    /// `GET /users/me`: the user of the session the request came with.
    static func user(_ request: ServiceRequest, _ reader: StoreReader) throws -> BusReply {
        let token = request.envelope.principal.sessionToken
        let session = try Sessions.live(token, at: .now, reader)
        guard let userId = session["user"]?.pointerTarget?.objectId,
            let user = try reader.documentIfFound("_User", userId, caller: .master)
        else { throw ParseError.invalidSession }
        return try account(user.with(sessionToken: token))
    }

    /// `GET /sessions/me`.
    static func session(_ request: ServiceRequest, _ reader: StoreReader) throws -> BusReply {
        var session = try Sessions.live(request.envelope.principal.sessionToken, at: .now, reader)
        session["ACL"] = nil
        return try account(session)
    }

    /// `POST /logout`: ends the session the request came with; nothing to do without one.
    static func logOut(_ request: ServiceRequest, in transaction: StoreTransaction) throws -> BusReply {
        let token = request.envelope.principal.sessionToken
        guard !token.isEmpty else { return try account([:]) }
        let session = try Sessions.live(token, at: transaction.now, transaction)
        try transaction.delete("_Session", session["objectId"]?.stringValue ?? "", caller: .master)
        return try account([:], forget: Forget.with { $0.sessionTokens = [token] })
    }

    /// How to reach a user; empty for one who is not there or left no address.
    static func contact(of userId: String, _ reader: StoreReader) throws -> BusReply {
        let user = try reader.documentIfFound("_User", userId, caller: .master) ?? [:]
        func texts(_ fields: [String]) -> [String] {
            fields.compactMap { user[$0]?.stringValue }.filter { !$0.isEmpty }
        }
        return try BusReply(
            ContactReply.with {
                $0.email = user["email"]?.stringValue ?? ""
                $0.name = texts(["name"]).first ?? texts(["firstName", "lastName"]).joined(separator: " ")
            })
    }

    /// An `AccountReply` with its document.
    static func account(_ document: JSON, created: Bool = false, forget: Forget? = nil) throws -> BusReply {
        let reply = AccountReply.with {
            $0.created = created
            $0.objectID = document["objectId"]?.stringValue ?? ""
        }
        return try BusReply(reply, documents: [document.serialized], forget: forget)
    }
}

extension JSON {
    /// A user's document as sign-in answers it.
    func with(sessionToken: String) -> JSON {
        var user = self
        user["sessionToken"] = .string(sessionToken)
        return user
    }
}

extension Forget {
    /// Nil when there is nothing to forget.
    static func tokens(_ tokens: [String]) -> Forget? {
        tokens.isEmpty ? nil : Forget.with { $0.sessionTokens = tokens }
    }
}
