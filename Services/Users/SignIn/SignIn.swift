import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// A client's request to sign in, type-checked.
package struct SignInRequest: Sendable, Equatable {
    package let username: String?
    package let email: String?
    package let password: String
    /// The wish of `authData.mfa`.
    package let secondFactor: SecondFactorWish
    /// The members of `authData` for providers.
    package let links: [String: JSON]

    /// - Parameter takesLinks: whether proofs of providers are looked at.
    /// - Throws: `.usernameMissing` (200) without a name, `.passwordMissing` (201) without a password,
    ///   `.objectNotFound` (101) for a name longer than any, `.unsupportedService` (252) with a proof that nobody would
    ///   look at, `.scriptFailed` (141) for what cannot be the code of a second factor.
    package init(_ body: JSON, takesLinks: Bool = false) throws {
        username = try SignInRequest.name(body["username"])
        email = try SignInRequest.name(body["email"])
        guard username != nil || email != nil else { throw SignInRequest.nameMissing }
        guard let password = body["password"]?.stringValue, !password.isEmpty else {
            throw ParseError(.passwordMissing, "password is required.")
        }
        self.password = password
        var authData = body["authData"]
        // A query string carries it as a text.
        if case .string(let text)? = authData { authData = (try? JSON(parsing: text)) ?? authData }
        if authData?.isNull == true { authData = nil }
        // What nobody checks must not look as if it had been checked. An app that gave its anonymous id up says so with
        // null.
        guard let providers = (authData ?? [:]).objectValue?.filter({ $0.key != SecondFactors.name }),
            takesLinks || providers.values.allSatisfy(\.isNull)
        else { throw AuthProvider.unsupported }
        links = takesLinks ? providers : [:]
        secondFactor = try SecondFactorWish(authData?[SecondFactors.name])
        switch secondFactor {
        case .keep, .prove: break
        case .enrol, .remove: throw SecondFactors.malformed
        }
    }

    private static let nameMissing = ParseError(.usernameMissing, "username/email is required.")

    private static func name(_ value: JSON?) throws -> String? {
        switch value {
        case nil, .null, .string(""): return nil
        case .string(let name):
            // Nobody has such a name: the answer to any wrong pair.
            guard name.utf8.count <= AccountNames.signInNameBytesMax else { throw SignIn.refused }
            return name
        default: throw nameMissing
        }
    }
}

/// Answers `POST /login`, `POST /verifyPassword` and `POST /challenge`: a user name or e-mail address, and the
/// password.
struct SignIn: Sendable {
    let host: ServiceHost
    let hasher: PasswordHasher
    let providers: IdentityProviders
    let settings: UsersSettings
    let messages: Outbox
    let key: AccountKey
    private let paces = NetworkPaces()

    /// - Parameter hasher: that of sign-ins.
    init(host: ServiceHost, hasher: PasswordHasher, rules: UserRules) {
        self.host = host
        self.hasher = hasher
        providers = rules.providers
        settings = rules.settings
        messages = rules.messages
        key = rules.key
    }

    /// One answer for every wrong pair, so that nobody learns which accounts exist.
    static let refused = ParseError(.objectNotFound, "Invalid username/password.")

    static let unverified = ParseError(.emailNotVerified, "User email is not verified.")

    private struct Candidate: Sendable {
        let userId: String?
        let hash: String?
        let attempt: SignInAttempt
        /// Whether strangers may go on because they have the code of the second factor.
        let hasCode: Bool
    }

    /// Opens a session. The session that the client came with is only looked at for an anonymous user's bag. Whoever
    /// knows the password may bring a provider's proof, and is linked with it, as in Parse Server.
    /// - Throws: beside what `SignInRequest` throws `.invalidAuthData` (253) for what cannot be a proof,
    ///   `.objectNotFound` (101) for one that does not hold, `.accountAlreadyLinked` (208) for another user's.
    func answer(_ message: AccountRequest, _ request: ServiceRequest) async throws -> BusReply {
        let wanted = try SignInRequest(try request.document(), takesLinks: true)
        let links = try SignInLinks(wanted.links)
        // A code that nobody would look at must not seem to count.
        guard settings.asksSecondFactor || wanted.secondFactor.proof == nil else { throw AuthProvider.unsupported }
        let principal = request.envelope.principal
        let candidate = try await proven(wanted, by: principal)
        if let userId = candidate.userId { try await links.verify(for: userId, providers, host.store) }
        let reply = try await host.commit(request) { [settings, messages, key] transaction in
            let userId = try Self.user(candidate, settings, in: transaction)
            if settings.passwordPolicy.days > 0,
                settings.passwordPolicy.isExpired(
                    chosenAt: try PasswordHistory.chosenAt(userId, in: transaction), now: transaction.now)
            {
                throw PasswordPolicy.expired
            }
            if settings.asksSecondFactor,
                try !SecondFactors.admits(candidate.attempt, wanted.secondFactor.proof, key, in: transaction)
            {
                return try SessionAnswers.secondFactorRefused()
            }
            try KnownDevices.remember(userId, principal, key, in: transaction)
            let session = try Sessions.open(
                for: userId, SessionOrigin(action: .login, provider: .password),
                installationId: request.caller.installationId, lifetime: settings.sessionLifetime, key: key,
                in: transaction)
            var forget = session.forget
            if try links.commit(to: userId, key, in: transaction) {
                forget = (forget ?? Forget()).adding(userId: userId)
            }
            let merged = try AnonymousMerge.perform(
                from: message.previousSessionToken, to: userId, messages: messages, key: key, in: transaction)
            let user = try OwnAccount.document(of: userId, with: links.proofs, key, transaction)
            return try SessionAnswers.account(user.with(sessionToken: session.token), forget: forget, merged: merged)
        }
        _ = try SessionAnswers.accepted(reply)
        await AnonymousMerge.settle(reply, messages: messages)
        return reply
    }

    /// Checks the pair and answers with the user, without a session. The master key may look past an unverified
    /// address.
    func verify(_ message: AccountRequest, _ request: ServiceRequest) async throws -> BusReply {
        let body = try request.document()
        // In a query string it is a text.
        let isIgnored = request.caller.isMaster && [true, "true"].contains(body["ignoreEmailVerification"])
        let candidate = try await proven(SignInRequest(body), by: request.envelope.principal)
        var settings = settings
        if isIgnored { settings.refusesUnverified = false }
        return try await host.commit(request) { [settings, key] transaction in
            try SessionAnswers.account(
                OwnAccount.document(of: Self.user(candidate, settings, in: transaction), key, transaction))
        }
    }

    /// Prepares what the second factor of an account needs, for whoever knows the password. An authenticator app needs
    /// nothing.
    /// - Throws: `.otherCause` (-1) with nothing to prepare, `.unsupportedService` (252) for another kind than `mfa`,
    ///   or where it is off.
    func challenge(_ message: AccountRequest, _ request: ServiceRequest) async throws -> BusReply {
        let body = try request.document()
        guard let challenge = body["challengeData"], !challenge.isNull else {
            throw ParseError(.otherCause, "Nothing to challenge.")
        }
        guard case .object(let kinds) = challenge else {
            throw ParseError(.otherCause, "challengeData should be an object.")
        }
        guard settings.asksSecondFactor, kinds.keys.allSatisfy({ $0 == SecondFactors.name }) else {
            throw AuthProvider.unsupported
        }
        if kinds[SecondFactors.name]?["mobile"] != nil { _ = try SecondFactorWish(kinds[SecondFactors.name]) }
        let candidate = try await proven(SignInRequest(body), by: request.envelope.principal)
        return try await host.commit(request) { [settings] transaction in
            _ = try Self.user(candidate, settings, in: transaction)
            return try SessionAnswers.account(["challengeData": [:]])
        }
    }

    /// Returns the account whose password was given; wrong ones are counted.
    private func proven(_ wanted: SignInRequest, by principal: Principal) async throws -> Candidate {
        let candidate = try await host.store.read { [self] reader in
            try Self.candidate(wanted, by: principal, key, asksSecondFactor: settings.asksSecondFactor, reader)
        }
        switch try await host.store.read({ try Self.verdict(on: candidate, at: .now, $0) }) {
        case .admitted: break
        case .paced: if !principal.master { try paces.admit(principal.network) }
        case .refused(let refusal): throw refusal
        case .admittedWithCode(let refusal):
            // A wrong code is a guess, too.
            if wanted.secondFactor.proof != nil { try await count(candidate) }
            throw refusal
        }
        let client = principal.master ? HashingClient("master", isKnown: true) : candidate.attempt.hashingClient
        guard wanted.password.utf8.count <= AccountNames.passwordBytesMax,
            try await hasher.verify(wanted.password, against: candidate.hash, for: client), candidate.userId != nil
        else {
            try await count(candidate)
            throw Self.refused
        }
        return candidate
    }

    private func count(_ candidate: Candidate) async throws {
        try await host.store.write { transaction in
            try SignInFailures.count(SignInGuard(candidate.attempt).counted(for: .password), in: transaction)
        }
    }

    /// The verdict of the counters, after the code of a second factor that opens the way to an account that strangers
    /// try.
    private static func verdict(
        on candidate: Candidate, at now: Timestamp, _ reader: some ObjectReading
    ) throws -> SignInGuard.Verdict {
        let verdict = try SignInFailures.verdict(on: candidate.attempt, .password, at: now, reader)
        if case .admittedWithCode = verdict, candidate.hasCode { return .admitted }
        return verdict
    }

    private static func candidate(
        _ wanted: SignInRequest, by principal: Principal, _ key: AccountKey, asksSecondFactor: Bool,
        _ reader: StoreReader
    ) throws -> Candidate {
        var found: Set<String?> = []
        if let username = wanted.username {
            found.insert(
                try Identities.owner(of: .username(username), key, reader)
                    ?? Identities.owner(of: .email(username), key, reader))
        }
        if let email = wanted.email { found.insert(try Identities.owner(of: .email(email), key, reader)) }
        guard found.count == 1, let userId = found.first ?? nil else {
            let account = SignInSubject.unknown(wanted.username ?? wanted.email ?? "")
            return Candidate(
                userId: nil, hash: nil, attempt: try KnownDevices.attempt(on: account, by: principal, key, reader),
                hasCode: false)
        }
        var hasCode = false
        if asksSecondFactor, let code = wanted.secondFactor.proof, try SecondFactors.isEnrolled(userId, reader) {
            hasCode = try SecondFactors.knows(code, of: userId, key, at: .now, reader)
        }
        return Candidate(
            userId: userId, hash: try Credentials.hash(of: userId, reader),
            attempt: try KnownDevices.attempt(on: userId, by: principal, key, reader), hasCode: hasCode)
    }

    /// The user of a proven candidate.
    private static func user(
        _ candidate: Candidate, _ settings: UsersSettings, in transaction: StoreTransaction
    ) throws -> String {
        // Guesses that were checked side by side count against each other here, one after the other.
        switch try verdict(on: candidate, at: transaction.now, transaction) {
        case .admitted, .paced: break
        case .admittedWithCode(let refusal), .refused(let refusal): throw refusal
        }
        // The password may have changed, and the user may be gone, since the hash was read.
        guard let userId = candidate.userId, try Credentials.hash(of: userId, transaction) == candidate.hash,
            let user = try transaction.documentIfFound("_User", userId, caller: .master),
            try !Ban.applies(to: user, transaction)
        else { throw refused }
        guard !settings.refusesSession(of: user) else { throw unverified }
        // Where there is a second factor, only that ends the count: who knows the password could else guess its codes
        // for ever.
        if try !settings.asksSecondFactor || !SecondFactors.isEnrolled(userId, transaction) {
            try SignInFailures.clear(SignInGuard(candidate.attempt).cleared, in: transaction)
        }
        return userId
    }
}
