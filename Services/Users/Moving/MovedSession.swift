import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// A session of another server: its token works until its expiry. An expired one is taken too and soon removed.
struct MovedSession {
    private static let note = "movedSession"
    private static let tokenBytes = 16...128
    private static let textBytesMax = 128
    private static let malformed = ParseError(
        .validationError, "A session needs a sessionToken of 16 to 128 ASCII characters, a user and expiresAt.")

    /// Takes the token out of a row.
    /// - Throws: `.operationForbidden` (119) without the master key, `.validationError` (142) for an incomplete row.
    static func prepare(_ change: inout ProposedChange) throws {
        var row = try MovedRow(change)
        let tokens = [row.remove("sessionToken"), row.remove("_session_token")].compactMap { $0?.stringValue }
        let user = row.remove("user")
        guard let token = tokens.first, tokenBytes.contains(token.utf8.count),
            token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let userId = user?.pointerTarget?.objectId ?? user?.stringValue, Names.isObjectId(userId),
            let expiresAt = row.removeTime("expiresAt")
        else { throw malformed }
        var session = row.identity
        session["user"] = .pointer("_User", userId)
        session["expiresAt"] = expiresAt.wire
        session["restricted"] = .bool(row.fields["restricted"] == true)
        session["ACL"] = .privateACL(userId)
        session["createdWith"] = .object(
            (row.fields["createdWith"]?.objectValue ?? [:]).filter {
                ["action", "authProvider"].contains($0.key) && isShort($0.value)
            })
        if let installationId = row.fields["installationId"], isShort(installationId) {
            session["installationId"] = installationId
        }
        change.objectId = session.removeValue(forKey: "objectId")?.stringValue
        change.object = .object(session)
        change.notes[note] = .string(token)
    }

    private static func isShort(_ value: JSON) -> Bool {
        value.stringValue.map { (1...textBytesMax).contains($0.utf8.count) } ?? false
    }

    /// - Throws: `.objectNotFound` (101) without the user, `.duplicateValue` (137) for the token of another session.
    static func commit(
        _ change: ProposedChange, _ key: AccountKey, in transaction: StoreTransaction
    ) throws -> ChangeOutcome {
        guard let token = change.notes[note]?.stringValue,
            let userId = change.object["user"]?.pointerTarget?.objectId
        else { throw malformed }
        guard try transaction.exists("_User", userId) else {
            throw ParseError(.objectNotFound, "The user \(userId) is missing: import _User first.")
        }
        let id = change.objectId ?? change.proposedId ?? Names.objectId()
        if let owner = try Sessions.id(of: token, key, transaction), owner != id {
            throw ParseError(.duplicateValue, "Another session has this token.")
        }
        let before: JSON?
        let after: JSON
        if try transaction.exists("_Session", id) {
            let updated = try transaction.update(
                "_Session", id, change.object, keepsTimes: change.principal.maintenance, caller: .master)
            before = updated.before
            after = updated.document
            try Sessions.drop(id, in: transaction)
            Sessions.noteChange(of: before, in: transaction)
        } else {
            before = nil
            after = try transaction.create(
                "_Session", change.object, objectId: id, isImported: true, caller: .master
            ).document
        }
        try Sessions.keep(token, of: id, key, in: transaction)
        let ended = try Sessions.makeRoom(.pointer("_User", userId), for: 0, in: transaction)
        var outcome = ChangeOutcome(objectId: id, before: before, after: after, answer: [:])
        if before != nil || ended > 0 { outcome.forget = .users([userId]) }
        return outcome
    }
}
