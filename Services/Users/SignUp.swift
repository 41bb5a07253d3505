import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// A new user, or the return of an anonymous one, checked and ready for the transaction.
struct SignUp {
    let fields: AccountFields
    /// Nil for an anonymous user.
    let passwordHash: String?
    let caller: Caller

    /// Length of a generated user name, as Parse makes them.
    private static let generatedNameCharacters = 25

    /// Creates the user and opens a session. An anonymous id that is known signs its user in instead: then `before` is set.
    /// - Throws: 202, 203 when a name is taken; what the store refuses.
    func commit(in transaction: StoreTransaction) throws -> ChangeOutcome {
        if passwordHash == nil, case .set(let id) = fields.anonymousId,
            let userId = try Identities.owner(of: .anonymous(id), transaction)
        {
            return try signIn(userId, in: transaction)
        }
        let username = fields.username ?? Names.random(Self.generatedNameCharacters)
        let created = try create(username, in: transaction)
        let userId = created.objectId
        if let passwordHash { try Credentials.set(passwordHash, of: userId, in: transaction) }
        let session = try Sessions.open(
            for: userId, SessionOrigin(action: .signup, provider: passwordHash == nil ? .anonymous : .password),
            installationId: caller.installationId, in: transaction)
        var answer = created.answer.with(sessionToken: session.token)
        if fields.username == nil { answer["username"] = .string(username) }
        var outcome = ChangeOutcome(objectId: userId, before: nil, after: created.document, answer: answer)
        outcome.forget = .tokens(session.replaced)
        return outcome
    }

    private func create(_ username: String, in transaction: StoreTransaction) throws -> Created {
        var object = fields.rest
        object["username"] = .string(username)
        if case .set(let address) = fields.email { object["email"] = .string(address) }
        if passwordHash == nil, case .set(let id) = fields.anonymousId {
            object["authData"] = ["anonymous": ["id": .string(id)]]
        }
        object["ACL"] = nil
        // With the client's own rights, so that class-level permissions and what clients cannot write are the store's to decide.
        var created = try transaction.create("_User", .object(object), objectId: fields.objectId, caller: caller)
        let userId = created.objectId
        created.document = try transaction.update(
            "_User", userId, ["ACL": AccountUpdate.acl(fields.rest["ACL"], of: userId)], caller: .master
        ).document
        try Identities.take(.username(username), for: userId, in: transaction)
        if case .set(let address) = fields.email { try Identities.take(.email(address), for: userId, in: transaction) }
        if passwordHash == nil, case .set(let id) = fields.anonymousId {
            try Identities.take(.anonymous(id), for: userId, in: transaction)
        }
        return created
    }

    private func signIn(_ userId: String, in transaction: StoreTransaction) throws -> ChangeOutcome {
        let user = try transaction.document("_User", userId, caller: .master)
        guard user["ACL"] != [:] else { throw SignIn.refused }
        let session = try Sessions.open(
            for: userId, SessionOrigin(action: .login, provider: .anonymous), installationId: caller.installationId,
            in: transaction)
        var outcome = ChangeOutcome(
            objectId: userId, before: user, after: user, answer: user.with(sessionToken: session.token))
        outcome.forget = .tokens(session.replaced)
        return outcome
    }
}
