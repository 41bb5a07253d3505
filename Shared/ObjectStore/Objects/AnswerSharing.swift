import ParseProtocol

/// The callers who would get the same answer, as long as nothing changes of what it shows.
public enum AnswerSharing: Sendable {
    /// Nobody of whom it is known.
    case nobody
    /// Callers of the same kind: the master key, or callers without a user.
    case alike
    /// All callers but the master key.
    case everybody

    /// - Parameters:
    ///   - actions: the operations of which the answer is made.
    ///   - isPublic: whether no object that could be in the answer is readable for some users only. Asked last.
    init(
        of info: ClassInfo, to caller: Caller, _ actions: [ClassPermissions.Action], isPublic: () throws -> Bool
    ) rethrows {
        // Users, sessions, roles and devices: there the protocol has rules of its own about who sees what.
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
    /// Who else would get the same.
    public let sharing: AnswerSharing
}

extension ObjectReader {
    /// Whether no object of the class is readable for some users only: then none has an entry of its ACL but the one
    /// for all.
    func isPublic(_ info: ClassInfo) throws -> Bool {
        let statement = try connection.statement("SELECT 1 FROM p\(info.id) LIMIT 1")
        defer { statement.reset() }
        return try !statement.step()
    }
}
