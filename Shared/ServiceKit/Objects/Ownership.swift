import ObjectStore
import ParseProtocol

/// Objects that belong to one user: the rules of such classes use these.
extension ProposedChange {
    /// Makes the signed-in caller the owner of a new object, whatever was sent, and gives it `acl`. Does nothing for
    /// the master key, which may write for others, and nothing without a user, which class-level permissions refuse.
    /// - Throws: `.operationForbidden` (119) when the object names somebody else.
    public mutating func claim(_ field: String, acl: (_ userId: String) -> JSON) throws {
        guard !caller.isMaster, let userId = caller.userId else { return }
        if let sent = object[field], !sent.isNull, sent.pointerTarget?.objectId != userId {
            throw ParseError(.operationForbidden, "The \(field) of a \(className) must be the signed-in user.")
        }
        object[field] = .pointer("_User", userId)
        object["ACL"] = acl(userId)
    }

    /// For objects made with the master key: an ACL from the owner they name, unless they bring their own.
    public mutating func defaultACL(from field: String, acl: (_ userId: String) -> JSON) {
        guard caller.isMaster, object["ACL"] == nil, let owner = object[field]?.pointerTarget?.objectId else { return }
        object["ACL"] = acl(owner)
    }
}

extension ChangeOutcome {
    /// - Throws: `.operationForbidden` (119) when an update by a client changed one of `fields`. Clients that send
    ///   whole objects may repeat them.
    public func requireUnchanged(_ fields: [String], by change: ProposedChange) throws {
        guard change.verb == .update, !change.caller.isMaster else { return }
        for field in fields where before?[field] != after?[field] {
            throw ParseError(.operationForbidden, "The \(field) of a \(change.className) cannot be changed.")
        }
    }
}

extension JSON {
    /// The ACL of an object that only its owner sees.
    public static func privateACL(_ userId: String) -> JSON { .object([userId: ["read": true, "write": true]]) }
}

extension ObjectReading {
    /// One object, decoded.
    /// - Throws: `ParseError.objectNotFound` for a missing object and for one the caller may not read.
    public func document(_ className: String, _ objectId: String, caller: Caller) throws -> JSON {
        try JSON(parsing: try get(className, objectId, caller: caller))
    }

    /// The object, or nil when it is missing or not readable.
    public func documentIfFound(_ className: String, _ objectId: String, caller: Caller) throws -> JSON? {
        do {
            return try document(className, objectId, caller: caller)
        } catch let error as ParseError where error.code == .objectNotFound {
            return nil
        }
    }
}
