import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Completes answers with data that is not stored in objects. Only the owner sees the token of the request's session
/// and the own `authData`. Users who are admins get `isAdmin`.
struct AnswerCompletion: Sendable {
    let key: AccountKey

    func complete(_ answer: ShownAnswer, _ request: ServiceRequest, _ reader: StoreReader) throws -> [UInt8] {
        let principal = request.envelope.principal
        switch answer.className {
        case "_User" where principal.master:
            guard answer.wants("isAdmin") else { return answer.body }
            return try answer.body(changing: try RoleHierarchy.admins(reader)) { $0["isAdmin"] = true }
        case "_User" where !principal.userID.isEmpty:
            let isAdmin = principal.isAdmin && answer.wants("isAdmin")
            return try answer.body(changing: [principal.userID]) { user in
                user = try OwnAccount.shown(user, of: principal.userID, isAdmin: isAdmin, key, reader)
            }
        case "_Session"
        where !principal.master && !principal.sessionToken.isEmpty && answer.wants("sessionToken"):
            guard let id = try Sessions.id(of: principal.sessionToken, key, reader) else { return answer.body }
            return try answer.body(changing: [id]) { $0["sessionToken"] = .string(principal.sessionToken) }
        default: return answer.body
        }
    }
}

extension ReplySeal {
    /// Replies to sign-ins contain tokens.
    init(_ key: AccountKey) {
        self.init(
            seal: { try key.seal($0, for: .keptReply, of: $1) }, open: { key.open($0, for: .keptReply, of: $1) })
    }
}
