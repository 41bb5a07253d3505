import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Function `acceptOperatorInvitation {token, name, password}`, for everybody who has a mailed token: the owner of the
/// mailbox becomes a member of the invitation's role.
///
/// An account that already has the address may have been made by somebody else. So the new password replaces the old
/// one, every session ends, and links to identity providers are removed.
struct InvitationAcceptance: Sendable {
    let host: ServiceHost
    let rules: UserRules

    /// One error for every token that opens nothing.
    private static let void = ParseError(
        .objectNotFound, "This invitation was used or revoked, or it has expired. Ask for a new one.")
    /// Another account has the address as its user name, or an operator banned the account.
    private static let taken = ParseError(
        .emailTaken, "An account with this address cannot be used. Ask the person who invited you.")
    private static let nameBytesMax = 200

    func install(in routes: inout ServiceRoutes) {
        routes.function("acceptOperatorInvitation") { [self] in try await accept($0, $1) }
    }

    private func accept(_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        let token = parameters["token"]?.stringValue ?? ""
        // Checked before the slow hashing, so that a guessed token does not cause it.
        let opened = try await host.store.read(for: request.share) { [self] reader in
            try Invitations.open(token, at: .now, reader).map { ($0, try holder(of: $0, reader)) }
        }
        guard let (invitation, holderId) = opened else {
            // Already used, perhaps by this very request: then its stored reply is returned.
            return try await host.commit(request) { _ in throw Self.void }
        }
        let change = try await prepared(parameters, invitation, holderId, request)
        return try await host.commit(request) { [self] transaction in
            guard let used = try Invitations.use(token, in: transaction), used == invitation,
                try isAdmin(used.invitedBy, transaction)
            else { throw Self.void }
            guard try holder(of: used, transaction) == holderId else {
                throw ParseError(.validationError, "The account changed just now. Please try again.")
            }
            var change = change
            if let holderId { change.object["authData"] = try Self.unlinked(holderId, transaction) }
            let userId = try ServiceRoutes.apply(change, rules, in: transaction).objectId
            try Sessions.close(of: userId, in: transaction)
            try KnownDevices.forgetAll(of: userId, in: transaction)
            try KnownDevices.remember(userId, request.envelope.principal, rules.key, in: transaction)
            try OperatorRoles.add(userId, to: used.role, in: transaction)
            let note = AuditNote(
                "acceptOperatorInvitation", "_User", userId,
                after: ["role": .string(used.role), "invitedBy": .string(used.invitedBy)])
            try host.audit.note(note, byOperator: userId, request, in: transaction)
            var reply = try BusReply.result(["username": .string(used.email)])
            reply.forget = .users([userId])
            return reply
        }
    }

    /// A new account, or the change of the present one, with the rights of the master key.
    private func prepared(
        _ parameters: JSON, _ invitation: Invitations.Invitation, _ holderId: String?, _ request: ServiceRequest
    ) async throws -> ProposedChange {
        guard let name = try parameters.textParameter("name", bytesMax: Self.nameBytesMax) else {
            throw ParseError(.validationError, "name is needed.")
        }
        guard let password = parameters["password"]?.stringValue, !password.isEmpty else {
            throw ParseError(.passwordMissing, "password is required")
        }
        try rules.settings.passwordPolicy.check(password)
        var object: JSON = [
            "name": .string(name), "password": .string(password), "email": .string(invitation.email),
            "emailVerified": true,
        ]
        if holderId == nil { object["username"] = .string(invitation.email) }
        var change = ProposedChange(
            verb: holderId == nil ? .create : .update, className: "_User", objectId: holderId, object: object,
            principal: .satchel, for: request)
        try await rules.prepare(&change)
        return change
    }

    /// The account whose mails go to the invited address; nil when a new one is possible.
    /// - Throws: `.emailTaken` (203) when the account's mails go elsewhere, or it is banned.
    private func holder(of invitation: Invitations.Invitation, _ reader: ObjectReader) throws -> String? {
        let owner =
            try Identities.owner(of: .email(invitation.email), rules.key, reader)
            ?? Identities.owner(of: .username(invitation.email), rules.key, reader)
        guard let owner else { return nil }
        guard let user = try reader.documentIfFound("_User", owner, caller: .master),
            let address = LinkMails.address(of: user),
            AccountNames.folded(address) == AccountNames.folded(invitation.email),
            try !Ban.applies(to: user, reader)
        else { throw Self.taken }
        return owner
    }

    /// Whether the inviter still is an admin. The master key always is.
    private func isAdmin(_ userId: String, _ reader: ObjectReader) throws -> Bool {
        guard !userId.isEmpty else { return true }
        guard let user = try reader.documentIfFound("_User", userId, caller: .master) else { return false }
        let roles = try RoleHierarchy.roles(of: userId, reader).map(\.name)
        return roles.contains(adminsRole) && !Ban.applies(to: user, roles: roles)
    }

    /// Removes every link. A second factor stays if the address was verified before; otherwise a stranger may have it.
    private static func unlinked(_ userId: String, _ reader: ObjectReader) throws -> JSON? {
        let user = try reader.document("_User", userId, caller: .master)
        let isProven = user["emailVerified"] == true
        let links = (user["authData"]?.objectValue ?? [:]).keys.filter { !isProven || $0 != SecondFactors.name }
        guard !links.isEmpty else { return nil }
        return .object(Dictionary(links.map { ($0, JSON.null) }) { first, _ in first })
    }
}
