import ParseProtocol

/// The callers that would get the same response, as long as none of its objects changes.
public enum ResponseSharing: Sendable {
    /// None that is known.
    case nobody
    /// Callers of the same kind: the master key, or callers without a user.
    case alike
    /// All callers except the master key.
    case everybody

    /// - Parameters:
    ///   - actions: the operations that produce the response.
    ///   - isPublic: whether none of the class's objects is restricted to some users. Called last.
    init(
        of info: ClassInfo, to caller: Caller, _ actions: [ClassPermissions.Action], isPublic: () throws -> Bool
    ) rethrows {
        // For users, sessions, roles and installations the protocol has separate visibility rules.
        guard info.name.utf8.first != UInt8(ascii: "_") else {
            self = .nobody
            return
        }
        if caller.isMaster {
            self = .alike
        } else if !actions.allSatisfy({ info.permissions[$0].principals["*"] == true }) {
            self = .nobody
        } else if info.permissions.protectedFields.isEmpty, try isPublic() {
            self = .everybody
        } else {
            self = caller.userId == nil && caller.roles.isEmpty ? .alike : .nobody
        }
    }
}

/// One object as it is read.
public struct ReadObject: Sendable {
    /// The object as JSON text.
    public let body: [UInt8]
    /// The callers that would get the same response.
    public let sharing: ResponseSharing
}

extension ObjectReader {
    /// Whether no object of the class is restricted to some users: then no ACL has an entry other than `*`.
    func isPublic(_ info: ClassInfo) throws -> Bool {
        let statement = try connection.statement("SELECT 1 FROM p\(info.id) LIMIT 1")
        defer { statement.reset() }
        return try !statement.step()
    }
}
