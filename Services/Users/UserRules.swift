import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// What is special about `_User`: creating one is signing up, and only the user and the master key change one.
package struct UserRules: ClassRules {
    let hasher: PasswordHasher

    package func prepare(_ change: inout ProposedChange) async throws {
        // Before anything that depends on the user or on other users is looked at.
        try UserRules.authorize(change)
        guard change.verb != .delete else { return }
        let fields = try AccountFields(change.object, isMaster: change.caller.isMaster)
        guard !fields.holdCardNumber else { throw CardNumber.refused }
        if change.verb == .create { try fields.checkSignUp() }
        if let password = fields.password {
            change.notes["passwordHash"] = .string(try await hasher.hash(password))
        }
    }

    package func replaces(_ change: ProposedChange, in transaction: StoreTransaction) throws -> ChangeOutcome? {
        guard change.verb == .create else { return nil }
        let fields = try AccountFields(change.object, isMaster: change.caller.isMaster)
        return try SignUp(fields: fields, passwordHash: change.passwordHash, caller: change.caller)
            .commit(in: transaction)
    }

    package func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        guard change.verb == .update else { return }
        let userId = try change.requiredObjectId
        let update = try AccountUpdate(
            AccountFields(change.object, isMaster: change.caller.isMaster),
            of: transaction.document("_User", userId, caller: .master), userId: userId,
            hasPassword: Credentials.hash(of: userId, transaction) != nil)
        change.object = .object(update.changes)
        for kind in update.given { try Identities.give(kind, of: userId, in: transaction) }
        for identity in update.taken { try Identities.take(identity, for: userId, in: transaction) }
    }

    package func after(
        _ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction
    ) throws {
        switch change.verb {
        case .create: return
        case .update:
            guard let hash = change.passwordHash else { return }
            try replacePassword(hash, change, &outcome, in: transaction)
        case .delete:
            try Credentials.remove(of: outcome.objectId, in: transaction)
            try Identities.giveAll(of: outcome.objectId, in: transaction)
            try Sessions.close(of: outcome.objectId, in: transaction)
            // An id that is given again, where clients may choose ids, must not come with rights.
            try RoleHierarchy.remove(outcome.objectId, in: transaction)
        }
        outcome.forget = Forget.with { $0.userIds = [outcome.objectId] }
    }

    /// A new password ends every session of the user. Who changes their own goes on with a new one.
    private func replacePassword(
        _ hash: String, _ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction
    ) throws {
        try Credentials.set(hash, of: outcome.objectId, in: transaction)
        try SignInFailures.clear(.account(outcome.objectId), in: transaction)
        try Sessions.close(of: outcome.objectId, in: transaction)
        guard !change.caller.isMaster else { return }
        let session = try Sessions.open(
            for: outcome.objectId, SessionOrigin(action: .login, provider: .password),
            installationId: change.caller.installationId, in: transaction)
        outcome.answer["sessionToken"] = .string(session.token)
    }

    /// - Throws: 206 unless the user or the master key asks.
    package static func authorize(_ change: ProposedChange) throws {
        guard change.verb != .create, !change.caller.isMaster else { return }
        let userId = try change.requiredObjectId
        guard change.caller.userId != userId else { return }
        switch (change.verb, change.caller.userId) {
        case (.delete, _): throw ParseError(.sessionMissing, "Insufficient auth to delete user")
        case (_, nil): throw ParseError(.sessionMissing, "Cannot modify user \(userId.prefix(100)).")
        case (_, _?): throw ParseError(.sessionMissing, "Insufficient auth.")
        }
    }
}

extension UserRules {
    /// Answers `POST /users`.
    func signUp(_ request: ServiceRequest, host: ServiceHost) async throws -> BusReply {
        var change = ProposedChange(
            verb: .create, className: "_User", objectId: nil, object: try request.document(),
            principal: request.envelope.principal)
        try await prepare(&change)
        return try await host.commit(request) { [change] transaction in
            guard let outcome = try replaces(change, in: transaction) else { throw ParseError.internalError }
            return try SessionAnswers.account(
                outcome.answer, created: outcome.before == nil, forget: outcome.forget)
        }
    }
}

extension ProposedChange {
    fileprivate var passwordHash: String? { notes["passwordHash"]?.stringValue }
}
