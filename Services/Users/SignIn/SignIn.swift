import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// A client's type-checked request to sign in.
package struct SignInRequest: Sendable, Equatable {
    package let username: String?
    package let email: String?
    package let password: String
    /// The request in `authData.mfa`.
    package let secondFactor: SecondFactorRequest
    /// The members of `authData` for providers.
    package let links: [String: JSON]

    /// - Parameter takesLinks: whether proofs of providers are accepted.
    /// - Throws: `.usernameMissing` (200) without a name, `.passwordMissing` (201) without a password,
    ///   `.objectNotFound` (101) for a name or a password that is not a text, and for a name over the limit,
    ///   `.unsupportedService` (252) for an unaccepted proof, `.scriptFailed` (141) for an invalid second factor code.
    package init(_ body: JSON, takesLinks: Bool = false) throws {
        let names = [body["username"], body["email"]].map { $0 == "" ? nil : $0 }
        guard names.contains(where: { !($0 ?? .null).isNull }) else {
            throw ParseError(.usernameMissing, "username/email is required.")
        }
        let given = body["password"] ?? .null
        guard !given.isNull, given != "" else { throw ParseError(.passwordMissing, "password is required.") }
        username = try SignInRequest.name(names[0])
        email = try SignInRequest.name(names[1])
        guard let password = given.stringValue else { throw SignIn.refused }
        self.password = password
        var authData = body["authData"]
        // In a query string it is a text.
        if case .string(let text)? = authData { authData = (try? JSON(parsing: text)) ?? authData }
        if authData?.isNull == true { authData = nil }
        // Unchecked proofs must not appear to be accepted. An app that removed its anonymous id sends null.
        guard let providers = (authData ?? [:]).objectValue?.filter({ $0.key != SecondFactors.name }),
            takesLinks || providers.values.allSatisfy(\.isNull)
        else { throw AuthProvider.unsupported }
        links = takesLinks ? providers : [:]
        secondFactor = try SecondFactorRequest(authData?[SecondFactors.name])
        switch secondFactor {
        case .keep, .prove: break
        case .enrol, .remove: throw SecondFactors.malformed
        }
    }

    private static func name(_ value: JSON?) throws -> String? {
        switch value {
        case nil, .null: return nil
        case .string(let name):
            // No account has such a name; the answer is the same as for any wrong pair.
            guard name.utf8.count <= AccountNames.signInNameBytesMax else { throw SignIn.refused }
            return name
        default: throw SignIn.refused
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
    private let paces = NetworkRateLimits()

    /// - Parameter hasher: the hasher for sign-ins.
    init(host: ServiceHost, hasher: PasswordHasher, rules: UserRules) {
        self.host = host
        self.hasher = hasher
        providers = rules.providers
        settings = rules.settings
        messages = rules.messages
        key = rules.key
    }

    /// The same error for every wrong pair, so that it does not reveal which accounts exist.
    static let refused = ParseError(.objectNotFound, "Invalid username/password.")

    static let unverified = ParseError(.emailNotVerified, "User email is not verified.")

    /// The account that a client tries to sign in to. `userId` is nil when no account, or more than one, has the names.
    private struct Candidate: Sendable {
        let userId: String?
        let hash: String?
        /// The highest cost of a moved user's hash; nil without moved users.
        let movedCost: Int?
        let attempt: SignInAttempt
        /// Whether the client has the second factor's code, which lets it pass although the account is locked for
        /// unknown devices.
        let hasCode: Bool
        /// The hash that replaces a moved user's.
        var replacement: String?
    }

    /// Opens a session. The client's former session and the installation's sessions are only used to find an anonymous
    /// user's bag. A client that knows the password may send a provider's proof, which is then linked, as in Parse
    /// Server.
    /// - Throws: errors of `SignInRequest`, `.invalidAuthData` (253) for an invalid value, `.objectNotFound` (101) for
    ///   an invalid proof, `.accountAlreadyLinked` (208) for a proof that is linked to another user.
    func answer(_ message: AccountRequest, _ request: ServiceRequest) async throws -> BusReply {
        let wanted = try SignInRequest(try request.document(), takesLinks: true)
        let links = try SignInLinks(wanted.links)
        let principal = request.envelope.principal
        let candidate = try await proven(wanted, by: request)
        if let userId = candidate.userId {
            try await links.verify(for: userId, providers, host.store, share: request.share)
        }
        let reply = try await host.commit(request) { [settings, messages, key] transaction in
            let userId = try Self.user(candidate, settings, in: transaction)
            if settings.passwordPolicy.days > 0,
                settings.passwordPolicy.isExpired(
                    chosenAt: try PasswordHistory.chosenAt(userId, in: transaction), now: transaction.now)
            {
                throw PasswordPolicy.expired
            }
            let isAsked = try SecondFactors.isAsked(of: userId, settings, transaction)
            // An unchecked code must not appear to be accepted.
            guard isAsked || settings.asksSecondFactor || wanted.secondFactor.proof == nil else {
                throw AuthProvider.unsupported
            }
            if isAsked, try !SecondFactors.admits(candidate.attempt, wanted.secondFactor.proof, key, in: transaction) {
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
            let merged =
                try AnonymousMerge.perform(
                    from: message.previousSessionToken, to: userId, messages: messages, key: key, in: transaction)
                ?? AnonymousMerge.copy(
                    fromInstallation: request.caller.installationId, to: userId, messages: messages, in: transaction)
            let user = try OwnAccount.document(of: userId, with: links.proofs, key, transaction)
            return try SessionAnswers.account(user.with(sessionToken: session.token), forget: forget, merged: merged)
        }
        _ = try SessionAnswers.accepted(reply)
        await AnonymousMerge.settle(reply, messages: messages, for: request.share)
        return reply
    }

    /// Checks the pair and returns the user without a session. The master key may ignore an unverified address.
    func verify(_ message: AccountRequest, _ request: ServiceRequest) async throws -> BusReply {
        let body = try request.document()
        // In a query string it is a text.
        let isIgnored = request.caller.isMaster && [true, "true"].contains(body["ignoreEmailVerification"])
        let candidate = try await proven(SignInRequest(body), by: request)
        var settings = settings
        if isIgnored { settings.refusesUnverified = false }
        return try await host.commit(request) { [settings, key] transaction in
            try SessionAnswers.account(
                OwnAccount.document(of: Self.user(candidate, settings, in: transaction), key, transaction))
        }
    }

    /// Prepares the second factor of an account, after a check of the password. An authenticator app needs no
    /// preparation.
    /// - Throws: `.otherCause` (-1) with nothing to prepare, `.unsupportedService` (252) for a kind other than `mfa`,
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
        if kinds[SecondFactors.name]?["mobile"] != nil { _ = try SecondFactorRequest(kinds[SecondFactors.name]) }
        let candidate = try await proven(SignInRequest(body), by: request)
        return try await host.commit(request) { [settings] transaction in
            _ = try Self.user(candidate, settings, in: transaction)
            return try SessionAnswers.account(["challengeData": [:]])
        }
    }

    /// Returns the account if the password is correct; counts a wrong one.
    private func proven(_ wanted: SignInRequest, by request: ServiceRequest) async throws -> Candidate {
        let (principal, share) = (request.envelope.principal, request.share)
        let candidate = try await host.store.read(for: share) { [self] reader in
            try Self.candidate(wanted, by: principal, key, settings, reader)
        }
        switch try await host.store.read(for: share, { try Self.verdict(on: candidate, at: .now, $0) }) {
        case .admitted: break
        case .paced: if !principal.master { try paces.admit(principal.network) }
        case .refused(let refusal): throw refusal
        case .admittedWithCode(let refusal):
            // A wrong code is also a guess.
            if wanted.secondFactor.proof != nil { try await count(candidate, share) }
            throw refusal
        }
        let client = principal.master ? HashingClient("master", isKnown: true) : candidate.attempt.hashingClient
        guard wanted.password.utf8.count <= AccountNames.passwordBytesMax,
            case let check = try await hasher.check(
                wanted.password, against: candidate.hash, movedCost: candidate.movedCost, for: client,
                charging: request.budget),
            check.isRight, candidate.userId != nil
        else {
            try await count(candidate, share)
            throw Self.refused
        }
        var proven = candidate
        proven.replacement = check.replacement
        return proven
    }

    private func count(_ candidate: Candidate, _ share: WorkShare) async throws {
        try await host.store.write(for: share) { transaction in
            try SignInFailures.count(SignInGuard(candidate.attempt).counted(for: .password), in: transaction)
        }
    }

    /// The verdict of the counters. A valid second factor code admits an unknown device to a locked account.
    private static func verdict(
        on candidate: Candidate, at now: Timestamp, _ reader: ObjectReader
    ) throws -> SignInGuard.Verdict {
        let verdict = try SignInFailures.verdict(on: candidate.attempt, .password, at: now, reader)
        if case .admittedWithCode = verdict, candidate.hasCode { return .admitted }
        return verdict
    }

    private static func candidate(
        _ wanted: SignInRequest, by principal: Principal, _ key: AccountKey, _ settings: UsersSettings,
        _ reader: StoreReader
    ) throws -> Candidate {
        var found: Set<String?> = []
        if let username = wanted.username {
            found.insert(
                try Identities.owner(of: .username(username), key, reader)
                    ?? Identities.owner(of: .email(username), key, reader))
        }
        if let email = wanted.email { found.insert(try Identities.owner(of: .email(email), key, reader)) }
        let movedCost = try MovedPasswords.costMax(reader)
        guard found.count == 1, let userId = found.first ?? nil else {
            let account = SignInSubject.unknown(wanted.username ?? wanted.email ?? "")
            return Candidate(
                userId: nil, hash: nil, movedCost: movedCost,
                attempt: try KnownDevices.attempt(on: account, by: principal, key, reader), hasCode: false)
        }
        var hasCode = false
        if let code = wanted.secondFactor.proof, try SecondFactors.isAsked(of: userId, settings, reader) {
            hasCode = try SecondFactors.knows(code, of: userId, key, at: .now, reader)
        }
        return Candidate(
            userId: userId, hash: try Credentials.hash(of: userId, reader), movedCost: movedCost,
            attempt: try KnownDevices.attempt(on: userId, by: principal, key, reader), hasCode: hasCode)
    }

    /// The user of a candidate with a correct password.
    private static func user(
        _ candidate: Candidate, _ settings: UsersSettings, in transaction: StoreTransaction
    ) throws -> String {
        // Concurrent guesses passed the first check together; here, in the transaction, they count one after the other.
        switch try verdict(on: candidate, at: transaction.now, transaction) {
        case .admitted, .paced: break
        case .admittedWithCode(let refusal), .refused(let refusal): throw refusal
        }
        // Another sign-in may have replaced a moved user's hash since it was read; the client tries again.
        if candidate.replacement != nil, let userId = candidate.userId,
            try Credentials.hash(of: userId, transaction) != candidate.hash
        {
            throw PasswordHasher.busy
        }
        // The password may have changed, and the user may be deleted, since the hash was read.
        guard let userId = candidate.userId, try Credentials.hash(of: userId, transaction) == candidate.hash,
            let user = try transaction.documentIfFound("_User", userId, caller: .master),
            try !Ban.applies(to: user, transaction)
        else { throw refused }
        guard !settings.refusesSession(of: user) else { throw unverified }
        // With a second factor, only its code resets the counter: otherwise a client with the password could guess
        // codes without a limit.
        if try !SecondFactors.isAsked(of: userId, settings, transaction) {
            try SignInFailures.clear(SignInGuard(candidate.attempt).cleared, in: transaction)
        }
        if let moved = candidate.hash, let replacement = candidate.replacement {
            try Credentials.replace(moved, by: replacement, of: userId, in: transaction)
        }
        return userId
    }
}
