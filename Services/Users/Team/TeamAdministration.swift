import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The cloud functions with which admins manage the team. Only admins invite, so nobody invites into a role with more
/// rights than their own.
struct TeamAdministration: Sendable {
    let host: ServiceHost
    let rules: UserRules

    private static let tooMany = ParseError.tooManyRequests(
        "Too many invitations to this address or by this admin. Try again later.", retryAfterSeconds: 3600)

    func install(in routes: inout ServiceRoutes) {
        routes.function("operators") { [self] in try await list($0, $1) }
        routes.function("inviteOperator") { [self] in try await invite($0, $1) }
        routes.function("resendOperatorInvitation") { [self] in try await resend($0, $1) }
        routes.function("revokeOperatorInvitation") { [self] in try await revoke($0, $1) }
        routes.function("removeOperator") { [self] in try await remove($0, $1) }
        routes.function("resetOperatorFactor") { [self] in try await resetFactor($0, $1) }
    }

    /// Runs a change unless its sender was removed while the request was on its way.
    private func commit(
        _ request: ServiceRequest, _ work: @escaping @Sendable (StoreTransaction) throws -> BusReply
    ) async throws -> BusReply {
        try await host.commit(request) { transaction in
            if let userId = request.caller.userId {
                let roles = try RoleHierarchy.roles(of: userId, transaction)
                guard roles.contains(where: { $0.name == adminsRole }) else { throw ParseError.invalidSession }
            }
            return try work(transaction)
        }
    }

    /// Function `operators {}`.
    private func list(_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        try request.requireAdmin()
        return try .result(await host.store.read(for: request.share) { try Team.shown(at: .now, $0) })
    }

    /// Function `inviteOperator {email, role}`. The answer is the same whether an account has the address.
    private func invite(_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        try request.requireAdmin()
        guard let email = try parameters.textParameter("email"), AccountNames.isEmail(email) else {
            throw ParseError(.invalidEmailAddress, "Email address format is invalid.")
        }
        guard let role = try parameters.textParameter("role"), OperatorArea.roles.contains(role) else {
            throw ParseError(
                .validationError, "role must be one of \(OperatorArea.allCases.map(\.role).joined(separator: ", ")).")
        }
        return try await commit(request) { [self] transaction in
            let (invitation, token) = try Invitations.add(
                email, into: role, by: request.caller.userId ?? "", in: transaction)
            try mail(invitation, token, in: transaction)
            try note("inviteOperator", invitation, request, in: transaction)
            return try .result(["invitationId": .string(invitation.id)])
        }
    }

    /// Function `resendOperatorInvitation {invitationId}`: the caller becomes the inviter, and the former link is void.
    private func resend(_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        try request.requireAdmin()
        let id = try parameters.objectIdParameter("invitationId")
        return try await commit(request) { [self] transaction in
            let renewed = try Invitations.renew(id, by: request.caller.userId ?? "", in: transaction)
            guard let (invitation, token) = renewed else { throw ParseError.objectNotFound }
            try mail(invitation, token, in: transaction)
            try note("resendOperatorInvitation", invitation, request, in: transaction)
            return try .result([:])
        }
    }

    /// Function `revokeOperatorInvitation {invitationId}`.
    private func revoke(_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        try request.requireAdmin()
        let id = try parameters.objectIdParameter("invitationId")
        return try await commit(request) { [self] transaction in
            guard let invitation = try Invitations.remove(id, in: transaction) else {
                throw ParseError.objectNotFound
            }
            try note("revokeOperatorInvitation", invitation, request, in: transaction)
            return try .result([:])
        }
    }

    private func note(
        _ action: String, _ invitation: Invitations.Invitation, _ request: ServiceRequest,
        in transaction: StoreTransaction
    ) throws {
        try host.audit.note(
            .init(
                action, "", invitation.id,
                after: ["email": .string(invitation.email), "role": .string(invitation.role)]),
            by: request, in: transaction)
    }

    /// - Throws: `.requestLimitExceeded` (155) when the quota of the inviter or of the mailbox is used up.
    private func mail(
        _ invitation: Invitations.Invitation, _ token: String, in transaction: StoreTransaction
    ) throws {
        let mailbox = rules.key.digest(Mailbox(invitation.email).address, for: .mailAddress)
        guard try MailQuota.admits([.inviting(invitation.invitedBy), .invited(mailbox)], in: transaction) else {
            throw Self.tooMany
        }
        // Behind `#`, the token is in no log of a proxy.
        let link = "\(rules.settings.dashboardURL)/invitation#\(token)"
        let model: JSON = ["link": .string(link), "hours": .int(Invitations.hours)]
        let mail = SendMailRequest.with {
            $0.template = "operator-invitation"
            $0.toAddress = invitation.email
            $0.model = .init(model.serialized)
            $0.byShop = true
            $0.userID = invitation.invitedBy
        }
        try rules.messages.add(
            MailCalls.send, mail, key: "invitation:\(invitation.id):\(Names.random(20))", in: transaction)
    }

    /// Function `removeOperator {userId}`: removes a user from the operators' roles and from each role within them,
    /// and ends the user's sessions. The account remains a customer's. Invitations by and to the user are revoked.
    private func remove(_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        try request.requireAdmin()
        let userId = try parameters.objectIdParameter("userId")
        return try await commit(request) { [host] transaction in
            guard let user = try transaction.documentIfFound("_User", userId, caller: .master) else {
                throw ParseError.objectNotFound
            }
            let wasAdmin = try RoleHierarchy.roles(of: userId, transaction).contains { $0.name == adminsRole }
            let roles = try OperatorRoles.removeAll(of: userId, in: transaction)
            guard !roles.isEmpty else { throw ParseError.objectNotFound }
            if wasAdmin { try LastAdmin.require(transaction) }
            let names = ["email", "username"].compactMap { user[$0]?.stringValue }
            try Invitations.removeAll(by: userId, to: names, in: transaction)
            try Sessions.close(of: userId, in: transaction)
            try host.audit.note(
                .init("removeOperator", "_User", userId, before: ["roles": .array(roles.map(JSON.string))]),
                by: request, in: transaction)
            var reply = try BusReply.result(["roles": .array(roles.map(JSON.string))])
            reply.forget = .users([userId])
            return reply
        }
    }

    /// Function `resetOperatorFactor {userId}`: removes the second factor of another operator who lost it.
    private func resetFactor(_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        try request.requireAdmin()
        let userId = try parameters.objectIdParameter("userId")
        guard userId != request.caller.userId else {
            throw ParseError(.validationError, "Your own second factor is removed with its code.")
        }
        var change = ProposedChange(
            verb: .update, className: "_User", objectId: userId, object: ["authData": [SecondFactors.name: .null]],
            principal: request.envelope.principal, for: request)
        change.caller = .master
        try await rules.prepare(&change)
        return try await commit(request) { [host, rules, change] transaction in
            guard try OperatorRoles.isHeld(by: userId, transaction), try SecondFactors.isEnrolled(userId, transaction)
            else { throw ParseError.objectNotFound }
            let outcome = try ServiceRoutes.apply(change, rules, in: transaction)
            try host.audit.note(.init("resetOperatorFactor", "_User", userId), by: request, in: transaction)
            var reply = try BusReply.result([:])
            reply.forget = outcome.forget
            return reply
        }
    }
}

/// The operators and invitations, as admins see them.
enum Team {
    /// Limit of listed operators, those seen last.
    private static let shownMax = 500

    /// `{operators, invitations}`; operators by the time when they were last seen.
    static func shown(at now: Timestamp, _ reader: ObjectReader) throws -> JSON {
        var roles: [String: [JSON]] = [:]
        for area in OperatorArea.allCases {
            for userId in try RoleHierarchy.members(of: area.role, reader) {
                roles[userId, default: []].append(.string(area.role))
            }
        }
        let seen = try roles.keys.map { (userId: $0, time: try LastSeen.time(of: $0, reader)) }.sorted {
            ($0.time?.milliseconds ?? 0, $1.userId) > ($1.time?.milliseconds ?? 0, $0.userId)
        }
        let operators = try seen.prefix(shownMax).compactMap { userId, time -> JSON? in
            guard let user = try reader.documentIfFound("_User", userId, caller: .master) else { return nil }
            var shown = JSON.object(
                (user.objectValue ?? [:]).filter { ["objectId", "username", "email", "name"].contains($0.key) })
            let live: JSON = ["user": .pointer("_User", userId), "expiresAt": ["$gt": now.wire]]
            shown["roles"] = .array(roles[userId] ?? [])
            shown["lastSeenAt"] = time?.wire
            shown["hasSecondFactor"] = .bool(try SecondFactors.isEnrolled(userId, reader))
            shown["sessions"] = .int(
                Int64(try reader.count(Query(className: "_Session", where: live), caller: .master)))
            return shown
        }
        return [
            "operators": .array(operators), "invitations": .array(try Invitations.shown(at: now, reader)),
        ]
    }
}
