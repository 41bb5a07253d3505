import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// A user of another server: the account keeps its id, times, password, links, second factor and lock. Mails, quotas
/// and sessions are not affected.
struct MovedUser {
    let fields: AccountFields
    /// The parts of the row that no object may contain.
    let secrets: JSON
    let userId: String
    /// Whether an account that is here already gets the row's times.
    let keepsTimes: Bool

    private static let note = "movedUser"
    /// Fields that are Satchel's own, or that an old server used for sessions.
    private static let dropped = ["isAdmin", "sessionToken"]

    /// Takes the secrets out of a row.
    /// - Throws: `.operationForbidden` (119) without the master key; `.usernameMissing` (200) without a name;
    ///   `.validationError` (142) for a hash that is not bcrypt, or over the limit of its cost, and for a password.
    static func prepare(_ change: inout ProposedChange) throws {
        var row = try MovedRow(change)
        for field in dropped { _ = row.remove(field) }
        guard row.fields["password"] == nil else {
            throw ParseError(.validationError, "An import takes a bcrypt hash, not a password.")
        }
        var secrets: [String: JSON] = [:]
        let hashes = [row.remove("_hashed_password"), row.remove("bcryptPassword")].compactMap(\.self)
        if let hash = hashes.first {
            try check(hash)
            secrets["hash"] = hash
        }
        secrets["history"] = row.remove("_password_history")
        secrets["failures"] = row.remove("_failed_login_count")
        secrets["lockedUntil"] = (row.removeTime("_account_lockout_expires_at")?.milliseconds).map(JSON.int)
        secrets["chosenAt"] = (row.removeTime("_password_changed_at")?.milliseconds).map(JSON.int)
        var object = row.shown
        if let links = object["authData"]?.objectValue {
            secrets["secondFactor"] = links[SecondFactors.name]
            // Nobody can sign in with a provider that Satchel lacks.
            object["authData"] = .object(links.filter { AuthProvider(rawValue: $0.key) != nil })
        }
        // Parse Server stores only the name of a file.
        if case .string(let name)? = object["photo"] { object["photo"] = ["__type": "File", "name": .string(name)] }
        let fields = try AccountFields(.object(object), isMaster: true)
        guard fields.username != nil else { throw ParseError(.usernameMissing, "bad or missing username") }
        guard !fields.holdCardNumber else { throw CardNumber.refused }
        try fields.checkEmail(stored: nil)
        change.objectId = fields.objectId
        change.object = .object(object)
        change.notes[note] = .object(secrets)
    }

    private static func check(_ hash: JSON) throws {
        guard let moved = hash.stringValue.flatMap({ BcryptHash($0) }) else {
            throw ParseError(.validationError, "The password's hash is not bcrypt ($2a$, $2b$ or $2y$).")
        }
        guard moved.cost <= BcryptHash.costMax else {
            throw ParseError(
                .validationError, "The hash has the cost \(moved.cost); the limit is \(BcryptHash.costMax).")
        }
    }

    /// Nil for any change but a prepared row.
    init?(_ change: ProposedChange) throws {
        guard let secrets = change.notes[Self.note] else { return nil }
        self.secrets = secrets
        fields = try AccountFields(change.object, isMaster: true)
        userId = change.objectId ?? change.proposedId ?? Names.objectId()
        keepsTimes = change.principal.maintenance
    }

    /// Creates the user, or changes the one with this id.
    /// - Throws: `.usernameTaken` (202), `.emailTaken` (203), `.accountAlreadyLinked` (208) when a name is another
    ///   user's; errors of the store.
    func commit(
        _ settings: UsersSettings, _ key: AccountKey, _ messages: Outbox, in transaction: StoreTransaction
    ) throws -> ChangeOutcome {
        let exists = try transaction.exists("_User", userId)
        let present = exists ? try Credentials.hash(of: userId, transaction) : nil
        let hash = secrets["hash"]?.stringValue
        let linked =
            exists
            ? try transaction.document("_User", userId, caller: .master)["authData"]?.objectValue ?? [:] : [:]
        let isFull =
            hash != nil || present != nil || !fields.proofs.isEmpty
            || linked.keys.contains { $0 != AnonymousIds.name && $0 != SecondFactors.name }
        let object = object(isFull: isFull, linked)
        let before: JSON?
        let after: JSON
        if exists {
            let updated = try transaction.update(
                "_User", userId, object, keepsTimes: keepsTimes, caller: .master)
            before = updated.before
            after = updated.document
        } else {
            before = nil
            after = try transaction.create(
                "_User", object, objectId: userId, isImported: true, caller: .master
            ).document
        }
        if fields.rest["ACL"] != nil { try PublicUsers.isChosen(userId, in: transaction) }
        try PersonNames.keep(after, of: userId, before: before, in: transaction)
        try takeIdentities(isFull: isFull, key, in: transaction)
        // A password chosen here wins over the old server's.
        if let hash, present.map({ BcryptHash($0) != nil }) ?? true {
            try Credentials.set(hash, of: userId, historyMax: settings.passwordPolicy.historyMax, in: transaction)
            try takeHistory(max: settings.passwordPolicy.historyMax, in: transaction)
        }
        try takeSecondFactor(key, in: transaction)
        try takeLock(in: transaction)
        var outcome = ChangeOutcome(objectId: userId, before: before, after: after, answer: [:])
        guard let before else { return outcome }
        try DisplayName.tellChange(of: userId, from: before, to: after, messages: messages, in: transaction)
        try ContactChange.tell(of: userId, from: before, to: after, messages: messages, in: transaction)
        outcome.forget = .users([userId])
        return outcome
    }

    /// - Parameters:
    ///   - isFull: whether the user is not anonymous.
    ///   - linked: the stored `authData`. Links and a second factor that were added here stay.
    private func object(isFull: Bool, _ linked: [String: JSON]) -> JSON {
        var object = fields.rest
        object["username"] = fields.username.map(JSON.string)
        if case .set(let address) = fields.email { object["email"] = .string(address) }
        var links = linked
        if isFull { links[AnonymousIds.name] = nil }
        links.merge(fields.authData(hasPassword: isFull)) { $1 }
        if secret != nil { links[SecondFactors.name] = SecondFactors.status }
        if !links.isEmpty {
            object["authData"] = AnonymousIds.marked(.object(links))
        } else if !linked.isEmpty {
            object["authData"] = ["__op": "Delete"]
        }
        // An empty one is a ban, in Parse Server as well.
        let acl = fields.rest["ACL"]
        object["ACL"] = AccountUpdate.acl(acl, of: userId, isMaster: acl == [:])
        return .object(object)
    }

    private func takeIdentities(isFull: Bool, _ key: AccountKey, in transaction: StoreTransaction) throws {
        if let username = fields.username {
            try Identities.take(.username(username), for: userId, key, in: transaction)
        }
        if case .set(let address) = fields.email {
            try Identities.take(.email(address), for: userId, key, in: transaction)
        }
        if isFull {
            try Identities.give(.anonymous, of: userId, in: transaction)
            try AnonymousIds.remove(of: userId, in: transaction)
        }
        for identity in fields.identities(hasPassword: isFull) {
            try Identities.take(identity, for: userId, key, in: transaction)
            if identity.kind == .anonymous {
                try AnonymousIds.keep(identity.value, of: userId, key, in: transaction)
            }
        }
    }

    /// The former hashes, oldest first as Parse Server stores them, and the time of the present one.
    private func takeHistory(max: Int, in transaction: StoreTransaction) throws {
        let hashes = (secrets["history"]?.arrayValue ?? []).compactMap(\.stringValue).filter { hash in
            BcryptHash(hash).map { $0.cost <= BcryptHash.costMax } ?? false
        }
        let chosenAt = secrets["chosenAt"]?.intValue.map { Timestamp(milliseconds: $0) } ?? transaction.now
        try PasswordHistory.take(
            Array(hashes.suffix(Swift.max(0, max - 1))), chosenAt: chosenAt, of: userId, in: transaction)
    }

    /// The secret in Parse Server's `authData.mfa`.
    private var secret: [UInt8]? { secrets["secondFactor"]?["secret"]?.stringValue.flatMap { Base32.decode($0) } }

    /// Without the old recovery codes. A second factor that was set up here stays.
    private func takeSecondFactor(_ key: AccountKey, in transaction: StoreTransaction) throws {
        guard let secret, try !SecondFactors.isEnrolled(userId, transaction) else { return }
        _ = try SecondFactors.enrol(userId, secret: secret, step: 0, key: key, in: transaction)
    }

    private func takeLock(in transaction: StoreTransaction) throws {
        let subject = SignInSubject.account(userId)
        let failures = min(max(0, secrets["failures"]?.intValue ?? 0), subject.failuresMax - 1)
        let windowEnd = transaction.now.advanced(by: SignInSubject.window).milliseconds
        if let end = secrets["lockedUntil"]?.intValue, end > transaction.now.milliseconds {
            // A longer lock would soon be taken for one of a clock that was ahead (`StoredWaits`), and end.
            try SignInFailures.take(
                subject, failures: subject.failuresMax, until: Timestamp(milliseconds: min(end, windowEnd)),
                in: transaction)
        } else if failures > 0 {
            try SignInFailures.take(
                subject, failures: failures, until: Timestamp(milliseconds: windowEnd), in: transaction)
        }
    }
}
