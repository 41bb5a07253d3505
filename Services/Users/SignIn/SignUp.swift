import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// A validated sign-up, or the return of an existing user by proofs, ready for the transaction.
struct SignUp {
    let fields: AccountFields
    /// Nil without a password.
    let passwordHash: String?
    let caller: Caller
    let principal: Principal
    let settings: UsersSettings
    let key: AccountKey
    /// Whether the code of the returning user's second factor was correct.
    var isSecondFactorProven = false
    let mails: LinkMails

    /// Length of a generated user name, as in Parse.
    private static let generatedNameCharacters = 25

    /// Creates the user and opens a session. If the proofs or the anonymous id belong to a user, it signs that user in
    /// instead; then `before` is set.
    /// - Throws: `.usernameTaken` (202), `.emailTaken` (203) when a name is taken; errors of the store.
    func commit(in transaction: StoreTransaction) throws -> ChangeOutcome {
        if let userId = try returning(transaction) { return try signIn(userId, in: transaction) }
        if case .prove = fields.secondFactor {
            throw settings.asksSecondFactor ? SecondFactors.malformed : AuthProvider.unsupported
        }
        try transaction.quotas.requireDiskSpace(for: caller)
        try transaction.quotas.take(of: .users, by: caller)
        let username = fields.username ?? Names.random(Self.generatedNameCharacters)
        let created = try create(username, in: transaction)
        let userId = created.objectId
        if let passwordHash {
            try Credentials.set(
                passwordHash, of: userId, historyMax: settings.passwordPolicy.historyMax, in: transaction)
        }
        try rememberDevice(of: userId, in: transaction)
        var answer = created.answer
        if fields.username == nil { answer["username"] = .string(username) }
        if case .set(let address) = fields.email {
            try mails.addressChanged(of: userId, to: address, user: created.document, by: principal, in: transaction)
            // A user who could not sign in gets no session from the sign-up either.
            if passwordHash != nil, settings.refusesUnverified, created.document["emailVerified"] != true {
                return ChangeOutcome(objectId: userId, before: nil, after: created.document, answer: answer)
            }
        }
        let session = try Sessions.open(
            for: userId, SessionOrigin(action: .signup, provider: origin), installationId: caller.installationId,
            lifetime: settings.sessionLifetime, key: key, in: transaction)
        answer["sessionToken"] = .string(session.token)
        var outcome = ChangeOutcome(objectId: userId, before: nil, after: created.document, answer: answer)
        outcome.forget = session.forget
        return outcome
    }

    /// Anonymous users are exempt, because they have no password to guess.
    private func rememberDevice(of userId: String, in transaction: StoreTransaction) throws {
        guard !principal.master, passwordHash != nil || !fields.proofs.isEmpty else { return }
        try KnownDevices.remember(userId, principal, key, in: transaction)
    }

    private func create(_ username: String, in transaction: StoreTransaction) throws -> Created {
        var object = fields.rest
        object["username"] = .string(username)
        if case .set(let address) = fields.email { object["email"] = .string(address) }
        let authData = fields.authData(hasPassword: passwordHash != nil)
        if !authData.isEmpty { object["authData"] = AnonymousIds.marked(.object(authData)) }
        object["ACL"] = nil
        // Created with the client's rights, so that the store checks class-level permissions and protected fields.
        var created = try transaction.create("_User", .object(object), objectId: fields.objectId, caller: caller)
        let userId = created.objectId
        var ours: [String: JSON] = ["ACL": acl(of: userId)]
        if case .set = fields.email, settings.verifiesEmail, created.document["emailVerified"] == nil {
            ours["emailVerified"] = false
        }
        created.document = try transaction.update("_User", userId, .object(ours), caller: .master).document
        if wantedACL != nil {
            try PublicUsers.isChosen(userId, in: transaction)
        } else if settings.showsUsers {
            try PublicUsers.isShown(userId, in: transaction)
        }
        try PersonNames.keep(created.document, of: userId, in: transaction)
        try Identities.take(.username(username), for: userId, key, in: transaction)
        if case .set(let address) = fields.email {
            try Identities.take(.email(address), for: userId, key, in: transaction)
        }
        for identity in fields.identities(hasPassword: passwordHash != nil) {
            try Identities.take(identity, for: userId, key, in: transaction)
            if identity.kind == .anonymous {
                try AnonymousIds.keep(identity.value, of: userId, key, in: transaction)
            }
        }
        return created
    }

    /// The requested ACL; by default private, or publicly readable with `SATCHEL_PUBLIC_USERS`.
    private func acl(of userId: String) -> JSON {
        if wantedACL == nil, settings.showsUsers { return PublicUsers.acl(of: userId) }
        return AccountUpdate.acl(wantedACL, of: userId, isMaster: false)
    }

    private var wantedACL: JSON? { fields.rest["ACL"].flatMap { $0.isNull ? nil : $0 } }

    /// The password if there is one, or else the first provider.
    private var origin: SessionOrigin.Provider {
        guard passwordHash == nil else { return .password }
        return .vouching(fields.proofs.first?.provider ?? .anonymous)
    }

    /// The returning user; nil for a new one.
    /// - Throws: `.accountAlreadyLinked` (208) when the proofs belong to different users.
    func returning(_ reader: ObjectReader) throws -> String? {
        passwordHash == nil ? try holder(reader) : nil
    }

    /// The owner of the proofs; nil if there is none.
    /// - Throws: `.accountAlreadyLinked` (208) when they belong to different users.
    private func holder(_ reader: ObjectReader) throws -> String? {
        let owners = Set(
            try fields.identities(hasPassword: false).compactMap { try Identities.owner(of: $0, key, reader) })
        guard owners.count <= 1 else { throw ParseError(.accountAlreadyLinked, "this auth is already used") }
        return owners.first
    }

    private func signIn(_ userId: String, in transaction: StoreTransaction) throws -> ChangeOutcome {
        let user = try transaction.document("_User", userId, caller: .master)
        guard try !Ban.applies(to: user, transaction) else { throw SignIn.refused }
        switch fields.secondFactor {
        case .keep, .prove: break
        case .enrol, .remove: throw SecondFactors.malformed
        }
        let needsSecondFactor = try SecondFactors.isAsked(of: userId, settings, transaction)
        guard isSecondFactorProven || !needsSecondFactor else { throw SecondFactors.missing }
        // An unchecked code must not appear to be accepted.
        guard needsSecondFactor || settings.asksSecondFactor || fields.secondFactor.proof == nil else {
            throw AuthProvider.unsupported
        }
        // The other proofs are also linked: they were verified together with one of the user's.
        let update = try AccountUpdate(
            linking: fields, to: AnonymousIds.opened(user, of: userId, key, transaction),
            hasPassword: Credentials.hash(of: userId, transaction) != nil)
        let changes = try update.updateIdentities(of: userId, key, in: transaction)
        if !changes.isEmpty { _ = try transaction.update("_User", userId, .object(changes), caller: .master) }
        let session = try Sessions.open(
            for: userId, SessionOrigin(action: .login, provider: origin), installationId: caller.installationId,
            lifetime: settings.sessionLifetime, key: key, in: transaction)
        try rememberDevice(of: userId, in: transaction)
        let answer = try OwnAccount.document(of: userId, with: fields.proofs, key, transaction).with(
            sessionToken: session.token)
        var outcome = ChangeOutcome(objectId: userId, before: user, after: user, answer: answer)
        outcome.forget = session.forget
        return outcome
    }
}
