import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// What answers show to the client whose secret it is, and to nobody else: the token of the session that a request came with, and
/// the id of an anonymous user.
struct OwnAnswers: Sendable {
    let key: AccountKey

    func complete(_ answer: ShownAnswer, _ request: ServiceRequest, _ reader: StoreReader) throws -> [UInt8] {
        let principal = request.envelope.principal
        guard !principal.master else { return answer.body }
        switch answer.className {
        case "_Session" where !principal.sessionToken.isEmpty && answer.wants("sessionToken"):
            guard let id = try Sessions.id(of: principal.sessionToken, key, reader) else { return answer.body }
            return try answer.body(changing: id) { $0["sessionToken"] = .string(principal.sessionToken) }
        // Only an anonymous user has a secret in the own object.
        case "_User" where principal.anonymous && answer.wants("authData"):
            let userId = principal.userID
            let whole = try AnonymousIds.shown(["authData": ["anonymous": AnonymousIds.mark]], of: userId, key, reader)
            return try answer.body(changing: userId) { user in
                guard user["authData"]?[AnonymousIds.name] == AnonymousIds.mark else { return }
                user["authData"] = whole["authData"]
            }
        default: return answer.body
        }
    }
}

extension ReplySeal {
    /// Answers to sign-ins hold tokens.
    init(_ key: AccountKey) {
        self.init(
            seal: { try key.seal($0, for: .keptReply, of: $1) }, open: { key.open($0, for: .keptReply, of: $1) })
    }
}
