import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The rules of `_User`: creating one is signing up, and only the user and the master key change one.
package struct UserRules: ClassRules {
    let hasher: PasswordHasher
    let providers: IdentityProviders
    let settings: UsersSettings
    let key: AccountKey
    let messages: Outbox
    let store: ClassStore
    let paces = NetworkPaces()

    init(_ means: AccountMeans, host: ServiceHost) {
        hasher = means.hasher
        providers = means.providers
        settings = means.settings
        key = means.key
        messages = host.outbox
        store = host.store
    }

    private var mails: LinkMails { LinkMails(settings: settings, messages: messages, key: key) }

    /// - Throws: beside what is wrong with the change `.validationError` (142) for one of the user's last passwords,
    ///   and what `PasswordHasher.hash` throws.
    package func prepare(_ change: inout ProposedChange) async throws {
        // Before anything that depends on the user or on other users is looked at.
        try UserRules.authorize(change)
        try await store.authorize(change)
        guard change.verb != .delete else { return }
        let fields = try AccountFields(change.object, isMaster: change.caller.isMaster)
        guard !fields.holdCardNumber else { throw CardNumber.refused }
        if change.verb == .create { try fields.checkSignUp() }
        if let password = fields.password { try settings.passwordPolicy.check(password) }
        try await verify(fields.proofs, of: &change)
        if change.object["authData"]?.objectValue != nil { change.notes["namesLinks"] = true }
        try await SecondFactorChange(wish: fields.secondFactor, isMaster: change.caller.isMaster, key: key).prepare(
            &change, isOffered: settings.asksSecondFactor, store: store)
        if let password = fields.password {
            let former = try await former(of: change)
            guard let hash = try await hasher.hash(password, unlessAmong: former, for: change.hashingClient) else {
                throw settings.passwordPolicy.repeated
            }
            change.notes["passwordHash"] = .string(hash)
        }
    }

    /// Asks the providers. A wrong proof in a user's own change counts as a failed sign-in of that user: it is a guess,
    /// too.
    private func verify(_ proofs: [AuthProof], of change: inout ProposedChange) async throws {
        let repeated = try await repeated(proofs, in: change)
        change.notes["unverified"] = .array(repeated.map { .string($0.rawValue) })
        let proofs = proofs.filter { !repeated.contains($0.provider) }
        guard !proofs.isEmpty else { return }
        let guesser: SignInSubject? =
            change.verb == .update && !change.caller.isMaster ? .owner(try change.requiredObjectId) : nil
        if let guesser { try await store.read { try SignInFailures.check(guesser, at: .now, $0) } }
        var refusal: ParseError?
        do throws(ParseError) {
            for proof in proofs { try await providers.verify(proof) }
        } catch {
            refusal = error
        }
        guard let refusal else { return }
        if let guesser, refusal.code == .objectNotFound {
            try await store.write { try SignInFailures.count(guesser, in: $0) }
        }
        throw refusal
    }

    /// The providers that nobody asks about a user's change: SDKs repeat each link with every save, with a token that
    /// may have ended long ago, and apps save the id alone that they read. The transaction compares the ids again.
    private func repeated(_ proofs: [AuthProof], in change: ProposedChange) async throws -> [AuthProvider] {
        guard change.verb == .update, !proofs.isEmpty else { return [] }
        let userId = try change.requiredObjectId
        let linked = try await store.read {
            try $0.documentIfFound("_User", userId, caller: .master)?["authData"]
        }
        return proofs.filter { $0.isIdOnly || linked?[$0.provider.rawValue]?["id"] == .string($0.id) }.map(\.provider)
    }

    /// The hashes of passwords that the user may not choose again.
    private func former(of change: ProposedChange) async throws -> [String] {
        let max = settings.passwordPolicy.historyMax
        guard max > 0, change.verb == .update, let userId = change.objectId else { return [] }
        return try await store.read { try PasswordHistory.hashes(of: userId, max: max, $0) }
    }

    package func replaces(_ change: ProposedChange, in transaction: StoreTransaction) throws -> ChangeOutcome? {
        guard change.verb == .create else { return nil }
        return try commit(signUp(change), of: change, in: transaction)
    }

    func signUp(_ change: ProposedChange) throws -> SignUp {
        SignUp(
            fields: try AccountFields(change.object, isMaster: change.caller.isMaster),
            passwordHash: change.passwordHash, caller: change.caller, principal: change.principal,
            settings: settings, key: key, mails: mails)
    }

    func commit(
        _ signUp: SignUp, of change: ProposedChange, in transaction: StoreTransaction
    ) throws -> ChangeOutcome {
        var change = change
        var outcome = try signUp.commit(in: transaction)
        guard outcome.before == nil else { return outcome }
        try SecondFactorChange(wish: signUp.fields.secondFactor, isMaster: change.caller.isMaster, key: key).commit(
            &change, of: outcome.objectId, in: transaction)
        if let response = SecondFactorChange.response(change) { outcome.answer["authDataResponse"] = response }
        return outcome
    }

    package func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        guard change.verb == .update else { return }
        let userId = try change.requiredObjectId
        let fields = try AccountFields(change.object, isMaster: change.caller.isMaster)
        let stored = try stored(userId, for: fields, in: transaction)
        let update = try AccountUpdate(
            fields, of: stored, userId: userId, hasPassword: Credentials.hash(of: userId, transaction) != nil,
            unverified: change.unverified)
        if case .set(let address) = fields.email, stored["email"] == .string(address) {
            change.notes["repeatsEmail"] = true
        }
        change.object = .object(try update.settleNames(of: userId, key, in: transaction))
        if let acl = change.object["ACL"], acl != stored["ACL"] {
            try PublicUsers.isChosen(userId, in: transaction)
        }
        if update.taken.contains(where: { $0.kind == .email }), settings.verifiesEmail,
            update.changes["emailVerified"] == nil
        {
            change.object["emailVerified"] = false
        }
        try SecondFactorChange(wish: fields.secondFactor, isMaster: change.caller.isMaster, key: key).commit(
            &change, of: userId, in: transaction)
    }

    /// The user as a change finds it.
    private func stored(
        _ userId: String, for fields: AccountFields, in transaction: StoreTransaction
    ) throws -> JSON {
        var stored = try AnonymousIds.opened(
            transaction.document("_User", userId, caller: .master), of: userId, key, transaction)
        // Apps save what they read.
        if fields.claimsAdmin,
            try RoleHierarchy.roles(of: userId, transaction).contains(where: { $0.name == adminsRole })
        {
            stored["isAdmin"] = true
        }
        return stored
    }

    package func after(
        _ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction
    ) throws {
        switch change.verb {
        case .create: return
        case .update:
            try PersonNames.keep(
                outcome.after ?? [:], of: outcome.objectId, before: outcome.before, in: transaction)
            try DisplayName.tellChange(
                of: outcome.objectId, from: outcome.before, to: outcome.after, messages: messages, in: transaction)
            let email = outcome.after?["email"]
            if email != outcome.before?["email"] {
                try mails.addressChanged(
                    of: outcome.objectId, to: email?.stringValue, user: outcome.after ?? [:], by: change.principal,
                    in: transaction)
            } else if change.notes["repeatsEmail"] == true, let email = email?.stringValue {
                try mails.addressRepeated(
                    of: outcome.objectId, email, user: outcome.after ?? [:], by: change.principal, in: transaction)
            }
            // Whoever links goes on with the same session; SDKs look for it in the answer.
            if change.notes["namesLinks"] == true, !change.caller.isMaster, !change.principal.sessionToken.isEmpty {
                outcome.answer["sessionToken"] = .string(change.principal.sessionToken)
            }
            if let response = SecondFactorChange.response(change) { outcome.answer["authDataResponse"] = response }
            if outcome.before?["ACL"] != outcome.after?["ACL"], let after = outcome.after,
                try Ban.applies(to: after, transaction)
            {
                try Sessions.close(of: outcome.objectId, in: transaction)
                outcome.forget = .users([outcome.objectId])
            }
            // Who a user is to the other services may have changed with a link or a password.
            guard let hash = change.passwordHash else {
                if outcome.after?["authData"] != outcome.before?["authData"] {
                    outcome.forget = .users([outcome.objectId])
                }
                return
            }
            try replacePassword(hash, change, &outcome, in: transaction)
        case .delete:
            try AccountDeletion.finish(outcome.objectId, messages: messages, in: transaction)
        }
        outcome.forget = Forget.with { $0.userIds = [outcome.objectId] }
    }

    /// A new password ends every session of the user, unless the settings keep them. Who changes their own goes on with
    /// a new one.
    private func replacePassword(
        _ hash: String, _ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction
    ) throws {
        try Credentials.set(
            hash, of: outcome.objectId, historyMax: settings.passwordPolicy.historyMax, in: transaction)
        try SignInFailures.clearAll(of: outcome.objectId, in: transaction)
        if !change.caller.isMaster {
            try KnownDevices.remember(outcome.objectId, change.principal, key, in: transaction)
        }
        try MailedTokens.void(.passwordReset, of: outcome.objectId, in: transaction)
        guard settings.revokesSessions else { return }
        try Sessions.close(of: outcome.objectId, in: transaction)
        outcome.answer["sessionToken"] = nil
        // Who could not sign in with the new password does not go on with it either.
        guard !change.caller.isMaster, !settings.refusesSession(of: outcome.after ?? [:]) else { return }
        let session = try Sessions.open(
            for: outcome.objectId, SessionOrigin(action: .login, provider: .password),
            installationId: change.caller.installationId, lifetime: settings.sessionLifetime, key: key,
            in: transaction)
        outcome.answer["sessionToken"] = .string(session.token)
    }

    /// - Throws: `.sessionMissing` (206) unless the user or the master key asks, `.operationForbidden` (119) with a
    ///   restricted session.
    package static func authorize(_ change: ProposedChange) throws {
        try change.requireFullSession()
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

extension ProposedChange {
    fileprivate var passwordHash: String? { notes["passwordHash"]?.stringValue }

    /// The providers that were not asked about what the change says of them.
    fileprivate var unverified: Set<AuthProvider> {
        Set((notes["unverified"]?.arrayValue ?? []).compactMap(\.stringValue).compactMap(AuthProvider.init(rawValue:)))
    }

    /// The client that waits for its turn when a password is hashed. It is the network and not the user: users are as
    /// easily made as addresses are changed.
    fileprivate var hashingClient: HashingClient {
        caller.isMaster ? HashingClient("master", isKnown: true) : HashingClient("network:\(principal.network)")
    }
}
