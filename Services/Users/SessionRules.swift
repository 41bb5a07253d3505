import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// What is special about `_Session`: clients see, extend with fields of their own and end their sessions; the rest is ours.
package struct SessionRules: ClassRules {
    private static let fixed: Set<String> = [
        "user", "sessionToken", "expiresAt", "createdWith", "installationId", "restricted", "ACL",
    ]
    /// What the master key may change, for instance to end a session at a certain time.
    private static let operated: Set<String> = ["expiresAt", "restricted"]

    package func prepare(_ change: inout ProposedChange) async throws {
        guard change.verb != .delete else { return }
        try SessionRules.check(change.object, isMaster: change.caller.isMaster && change.verb == .update)
    }

    /// Refuses fields that are not the client's, whatever their value is, and members of them.
    /// - Throws: 105.
    package static func check(_ object: JSON, isMaster: Bool) throws {
        for key in (object.objectValue ?? [:]).keys {
            let field = key.prefix { $0 != "." }
            guard fixed.contains(String(field)), !(isMaster && operated.contains(key)) else { continue }
            throw ParseError(.invalidKeyName, "\(field) cannot be set on a Session.")
        }
    }

    /// `POST /sessions`: another session for the caller.
    package func replaces(_ change: ProposedChange, in transaction: StoreTransaction) throws -> ChangeOutcome? {
        guard change.verb == .create else { return nil }
        guard let userId = change.caller.userId else { throw ParseError.invalidSession }
        let opened = try Sessions.open(
            for: userId, SessionOrigin(action: .create, provider: nil), installationId: nil,
            fields: change.object.objectValue ?? [:], in: transaction)
        var answer = opened.document
        answer["ACL"] = nil
        return ChangeOutcome(
            objectId: opened.document["objectId"]?.stringValue ?? "", before: nil, after: opened.document,
            answer: answer)
    }

    /// The gateway learns of a session that ended or changed before the client has its answer.
    package func after(
        _ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction
    ) throws {
        outcome.forget = .tokens([outcome.before?["sessionToken"]?.stringValue].compactMap(\.self))
    }
}
