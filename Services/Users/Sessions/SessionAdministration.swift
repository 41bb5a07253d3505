import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Operators' requests about other users' sessions.
enum SessionAdministration {
    /// `POST /loginAs {"userId"}`: a session for any user, with the master key, which the gateway has checked.
    static func logInAs(
        _ request: ServiceRequest, lifetime: Duration, key: AccountKey, in transaction: StoreTransaction
    ) throws -> BusReply {
        guard request.caller.isMaster else {
            throw ParseError(.operationForbidden, "The master key is required.")
        }
        guard let userId = try request.document()["userId"]?.stringValue, !userId.isEmpty else {
            throw ParseError(.invalidValue, "userId must not be empty, null, or undefined")
        }
        guard let user = try transaction.documentIfFound("_User", userId, caller: .master),
            try !Ban.applies(to: user, transaction)
        else {
            throw ParseError(.objectNotFound, "user not found")
        }
        let session = try Sessions.open(
            for: userId, SessionOrigin(action: .login, provider: .masterKey),
            installationId: request.caller.installationId, lifetime: lifetime, key: key, in: transaction)
        let roles = try RoleHierarchy.roles(of: userId, transaction)
        let shown = try OwnAccount.shown(
            user, of: userId, isAdmin: roles.contains { $0.name == adminsRole }, key, transaction)
        return try SessionAnswers.account(shown.with(sessionToken: session.token), forget: session.forget)
    }

    /// Function `sessionsOf {userId}`: a user's sessions, newest first, without their secrets.
    static func list(_ parameters: JSON, _ request: ServiceRequest, host: ServiceHost) async throws -> BusReply {
        try request.requireArea(.support)
        let userId = try userId(parameters)
        let query = Query(
            className: "_Session", where: ["user": .pointer("_User", userId)], order: ["-createdAt"],
            limit: Sessions.perUserMax)
        let sessions = try await host.store.read(for: request.share) { reader in
            try request.requireReach(of: userId, reader)
            return try reader.documents(query, caller: .master)
        }
        return try .result(
            .array(
                sessions.map { session in
                    var shown = session
                    for key in ["sessionToken", "ACL"] { shown[key] = nil }
                    return shown
                }))
    }

    /// Function `revokeSessions {userId}`: ends all sessions of a user at once and returns their number.
    static func revoke(_ parameters: JSON, _ request: ServiceRequest, host: ServiceHost) async throws -> BusReply {
        try request.requireArea(.support)
        let userId = try userId(parameters)
        return try await host.commit(request) { transaction in
            try request.requireReach(of: userId, transaction)
            let revoked = try Sessions.close(of: userId, in: transaction)
            try host.audit.note(
                .init("revokeSessions", "_User", userId, after: ["revoked": .int(Int64(revoked))]), by: request,
                in: transaction)
            var reply = try BusReply.result(["revoked": .int(Int64(revoked))])
            reply.forget = Forget.with { $0.userIds = [userId] }
            return reply
        }
    }

    private static func userId(_ parameters: JSON) throws -> String {
        guard let userId = parameters["userId"]?.stringValue, (1...64).contains(userId.utf8.count) else {
            throw ParseError(.validationError, "userId must be a user's objectId.")
        }
        return userId
    }
}
