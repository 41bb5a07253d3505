import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The rules of `_User`: a create is a sign-up, and only the user and the master key may change a user.
package struct UserRules: ClassRules {
    let hasher: PasswordHasher
    let providers: IdentityProviders
    let settings: UsersSettings
    let key: AccountKey
    let messages: Outbox
    let store: ClassStore
    /// Asks the bag before an account is deleted.
    let beginDeletion: @Sendable (_ userId: String, _ request: ServiceRequest?) async throws -> Void
    let paces = NetworkRateLimits()

    init(_ means: AccountDependencies, host: ServiceHost) {
        hasher = means.hasher
        providers = means.providers
        settings = means.settings
        key = means.key
        messages = host.outbox
        store = host.store
        beginDeletion = { try await means.beginDeletion($0, host, $1) }
    }

    private var mails: LinkMails { LinkMails(settings: settings, messages: messages, key: key) }

    /// - Throws: errors about the change itself; `.validationError` (142) for a recent password of the user and for the
    ///   deletion of an account with an undecided payment; errors of `PasswordHasher.hash`.
    package func prepare(_ change: inout ProposedChange) async throws {
        if change.isImported, change.verb == .create { return try MovedUser.prepare(&change) }
        // Permissions are checked before any data of users is read.
        try UserRules.authorize(change)
        try await store.authorize(change)
        guard change.verb != .delete else {
            if change.principal.isAdmin, !change.caller.isMaster {
                let userId = try change.requiredObjectId
                try await store.read(for: change.request?.share) { try LastAdmin.require(without: userId, $0) }
            }
            return try await beginDeletion(try change.requiredObjectId, change.request)
        }
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
            let hash = try await hasher.hash(
                password, unlessAmong: former, for: change.hashingClient, charging: change.request?.budget)
            guard let hash else { throw settings.passwordPolicy.repeated }
            change.notes["passwordHash"] = .string(hash)
        }
    }

    /// Verifies proofs with the providers. A wrong proof in a user's own change counts as a failed sign-in, because it
    /// may be a guess.
    private func verify(_ proofs: [AuthProof], of change: inout ProposedChange) async throws {
        let share = change.request?.share
        let repeated = try await repeated(proofs, in: change)
        change.notes["unverified"] = .array(repeated.map { .string($0.rawValue) })
        let proofs = proofs.filter { !repeated.contains($0.provider) }
        guard !proofs.isEmpty else { return }
        let guesser: SignInSubject? =
            change.verb == .update && !change.caller.isMaster ? .owner(try change.requiredObjectId) : nil
        if let guesser { try await store.read(for: share) { try SignInFailures.check(guesser, at: .now, $0) } }
        var refusal: ParseError?
        do throws(ParseError) {
            for proof in proofs { try await providers.verify(proof) }
        } catch {
            refusal = error
        }
        guard let refusal else { return }
        if let guesser, refusal.code == .objectNotFound {
            try await store.write(for: share) { try SignInFailures.count(guesser, in: $0) }
        }
        throw refusal
    }

    /// The providers that need not verify a user's change: SDKs repeat each link with every save, possibly with an
    /// expired token, and apps save the bare id that they read. The transaction compares the ids again.
    private func repeated(_ proofs: [AuthProof], in change: ProposedChange) async throws -> [AuthProvider] {
        guard change.verb == .update, !proofs.isEmpty else { return [] }
        let userId = try change.requiredObjectId
        let linked = try await store.read(for: change.request?.share) {
            try $0.documentIfFound("_User", userId, caller: .master)?["authData"]
        }
        return proofs.filter { $0.isIdOnly || linked?[$0.provider.rawValue]?["id"] == .string($0.id) }.map(\.provider)
    }

    /// The password hashes that the user may not choose again.
    private func former(of change: ProposedChange) async throws -> [String] {
        let max = settings.passwordPolicy.historyMax
        guard max > 0, change.verb == .update, let userId = change.objectId else { return [] }
        return try await store.read(for: change.request?.share) {
            try PasswordHistory.hashes(of: userId, max: max, $0)
        }
    }

    package func replaces(_ change: ProposedChange, in transaction: StoreTransaction) throws -> ChangeOutcome? {
        if let moved = try MovedUser(change) {
            return try moved.commit(settings, key, messages, in: transaction)
        }
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

    /// The fields by which a user signs in or recovers the account.
    private static let waysIn = ["username", "email", "password", "authData"]

    package func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        guard change.verb == .update else { return }
        // A session that ended while the change was prepared must not leave a way into the account.
        let token = change.principal.sessionToken
        if !change.caller.isMaster, !token.isEmpty, Self.waysIn.contains(where: { change.object[$0] != nil }) {
            _ = try Sessions.live(token, key, at: transaction.now, transaction)
        }
        let userId = try change.requiredObjectId
        let fields = try AccountFields(change.object, isMaster: change.caller.isMaster)
        let stored = try stored(userId, for: fields, in: transaction)
        try fields.checkEmail(stored: stored["email"])
        let update = try AccountUpdate(
            fields, of: stored, userId: userId, hasPassword: Credentials.hash(of: userId, transaction) != nil,
            unverified: change.unverified)
        if case .set(let address) = fields.email, stored["email"] == .string(address) {
            change.notes["repeatsEmail"] = true
        }
        change.object = .object(try update.updateIdentities(of: userId, key, in: transaction))
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

    /// The stored user before a change.
    private func stored(
        _ userId: String, for fields: AccountFields, in transaction: StoreTransaction
    ) throws -> JSON {
        var stored = try AnonymousIds.opened(
            transaction.document("_User", userId, caller: .master), of: userId, key, transaction)
        // Apps save the `isAdmin` field that they read.
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
            try AccountPhoto.tellChange(
                of: outcome.objectId, from: outcome.before, to: outcome.after, messages: messages, in: transaction)
            try ContactChange.tell(
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
            // A client that links an account keeps its session; SDKs expect the token in the answer.
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
            // A new link or password may change the user's status in other services.
            guard let hash = change.passwordHash else {
                if outcome.after?["authData"] != outcome.before?["authData"] {
                    outcome.forget = .users([outcome.objectId])
                }
                return
            }
            try replacePassword(hash, change, &outcome, in: transaction)
        case .delete:
            try AccountDeletion.finish(outcome.objectId, messages: messages, in: transaction)
            // Admins who delete their accounts at once passed the check in `prepare` together.
            if change.principal.isAdmin, !change.caller.isMaster { try LastAdmin.require(transaction) }
        }
        outcome.forget = Forget.with { $0.userIds = [outcome.objectId] }
    }

    /// Replaces the password and ends every session of the user, unless the settings keep them. A user who changes the
    /// own password gets a new session.
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
        // A user who could not sign in gets no new session.
        guard !change.caller.isMaster, !settings.refusesSession(of: outcome.after ?? [:]) else { return }
        let session = try Sessions.open(
            for: outcome.objectId, SessionOrigin(action: .login, provider: .password),
            installationId: change.caller.installationId, lifetime: settings.sessionLifetime, key: key,
            in: transaction)
        outcome.answer["sessionToken"] = .string(session.token)
    }

    /// - Throws: `.sessionMissing` (206) unless the caller is the user or has the master key, `.operationForbidden`
    ///   (119) with a restricted session.
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

    /// The providers that did not verify this change.
    fileprivate var unverified: Set<AuthProvider> {
        Set((notes["unverified"]?.arrayValue ?? []).compactMap(\.stringValue).compactMap(AuthProvider.init(rawValue:)))
    }

    /// The client in the fair queue for password hashing: its network, because users are as easy to create as addresses
    /// are to change.
    fileprivate var hashingClient: HashingClient {
        caller.isMaster ? HashingClient("master", isKnown: true) : HashingClient(network: principal.network)
    }
}
