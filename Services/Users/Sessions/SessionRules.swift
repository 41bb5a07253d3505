import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The rules of `_Session`: clients can read and end their sessions and add fields of their own; Satchel manages the
/// rest.
package struct SessionRules: ClassRules {
    let settings: UsersSettings
    let key: AccountKey

    package init(settings: UsersSettings = UsersSettings(), key: AccountKey) {
        self.settings = settings
        self.key = key
    }

    private static let fixed: Set<String> = [
        "user", "sessionToken", "expiresAt", "createdWith", "installationId", "restricted", "ACL",
    ]
    /// The fields that the master key may change, for instance to set a session's expiry.
    private static let operated: Set<String> = ["expiresAt", "restricted"]

    package func prepare(_ change: inout ProposedChange) async throws {
        if change.isImported { return try MovedSession.prepare(&change) }
        // A restricted session may only end itself, by `POST /logout`.
        try change.requireFullSession()
        guard change.verb != .delete else { return }
        try SessionRules.check(change.object, isMaster: change.caller.isMaster && change.verb == .update)
    }

    /// Refuses reserved fields and paths into them.
    /// - Throws: `.invalidKeyName` (105).
    package static func check(_ object: JSON, isMaster: Bool) throws {
        for key in (object.objectValue ?? [:]).keys {
            let field = key.prefix { $0 != "." }
            guard fixed.contains(String(field)), !(isMaster && operated.contains(key)) else { continue }
            throw ParseError(.invalidKeyName, "Cannot set \(field) on a Session.")
        }
    }

    /// `POST /sessions`: another session for the caller, for a device that must not be able to take over the account.
    /// It is restricted, like every client-created session on hosted Parse.
    package func replaces(_ change: ProposedChange, in transaction: StoreTransaction) throws -> ChangeOutcome? {
        if change.isImported { return try MovedSession.commit(change, key, in: transaction) }
        guard change.verb == .create else { return nil }
        guard let userId = change.caller.userId else { throw ParseError.invalidSession }
        let user = try transaction.document("_User", userId, caller: .master)
        guard !settings.refusesSession(of: user) else { throw SignIn.unverified }
        let opened = try Sessions.open(
            for: userId, SessionOrigin(action: .create, provider: nil), installationId: nil,
            fields: change.object.objectValue ?? [:], isRestricted: true, lifetime: settings.sessionLifetime,
            creator: change.caller, key: key, in: transaction)
        let sessionId = opened.document["objectId"]?.stringValue ?? ""
        var answer = try shown(sessionId, to: change.caller, in: transaction)
        answer["ACL"] = nil
        answer["sessionToken"] = .string(opened.token)
        var outcome = ChangeOutcome(objectId: sessionId, before: nil, after: opened.document, answer: answer)
        outcome.forget = opened.forget
        return outcome
    }

    /// A new session without the fields that the class hides from users; the caller adds the token.
    private func shown(_ sessionId: String, to caller: Caller, in transaction: StoreTransaction) throws -> JSON {
        do {
            return try transaction.document("_Session", sessionId, caller: caller)
        } catch let error as ParseError where error.code == .operationForbidden {
            return ["objectId": .string(sessionId), "createdAt": .string(transaction.now.iso)]
        }
    }

    /// Invalidates an ended or changed session in the gateway before the client gets its answer.
    package func after(
        _ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction
    ) throws {
        if change.verb == .update, outcome.before?["expiresAt"] != outcome.after?["expiresAt"] {
            try Sessions.fix(outcome.objectId, in: transaction)
        }
        if change.verb == .delete { try Sessions.drop(outcome.objectId, in: transaction) }
        Sessions.noteChange(of: outcome.before, in: transaction)
        outcome.forget = .users([outcome.before?["user"]?.pointerTarget?.objectId].compactMap(\.self))
    }
}

extension ProposedChange {
    /// - Throws: `.operationForbidden` (119) for a change of users, sessions or roles with a restricted session.
    func requireFullSession() throws {
        guard principal.restricted, !caller.isMaster else { return }
        throw ParseError(.operationForbidden, "A restricted session cannot change users, sessions and roles.")
    }
}
