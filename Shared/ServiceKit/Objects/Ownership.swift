import ObjectStore
import ParseProtocol

/// Helpers for the rules of classes whose objects belong to one user.
extension ProposedChange {
    /// Makes the signed-in caller the owner of a new object and sets its `acl`. Does nothing for the master key, which
    /// may write for others. Does nothing without a user either: class-level permissions refuse that case.
    /// - Throws: `.operationForbidden` (119) when the object names another owner.
    public mutating func claim(_ field: String, acl: (_ userId: String) -> JSON) throws {
        guard !caller.isMaster, let userId = caller.userId else { return }
        if let sent = object[field], !sent.isNull, sent.pointerTarget?.objectId != userId {
            throw ParseError(.operationForbidden, "The \(field) of a \(className) must be the signed-in user.")
        }
        object[field] = .pointer("_User", userId)
        object["ACL"] = acl(userId)
    }

    /// Sets the default ACL of an object written with the master key or by an import: the ACL for the owner that it
    /// names. An ACL in the object takes precedence.
    /// - Parameter unowned: the ACL without an owner; by default only the master key can read the object.
    public mutating func defaultACL(
        from field: String, unowned: JSON = [:], acl: (_ userId: String) -> JSON
    ) {
        guard caller.isMaster, object["ACL"]?.isNull ?? true else { return }
        object["ACL"] = object[field]?.pointerTarget.map { acl($0.objectId) } ?? unowned
    }
}

extension ChangeOutcome {
    /// - Throws: `.operationForbidden` (119) when an update by a client changed one of `fields`. Sending unchanged
    ///   values is allowed, because some clients send complete objects.
    public func requireUnchanged(_ fields: [String], by change: ProposedChange) throws {
        guard change.verb == .update, !change.caller.isMaster else { return }
        for field in fields where before?[field] != after?[field] {
            throw ParseError(.operationForbidden, "The \(field) of a \(change.className) cannot be changed.")
        }
    }
}

extension JSON {
    /// The ACL of an object that only its owner can read and write.
    public static func privateACL(_ userId: String) -> JSON { .object([userId: ["read": true, "write": true]]) }
}

extension ObjectReader {
    /// One decoded object.
    /// - Throws: `ParseError.objectNotFound` for a missing object and for one the caller may not read.
    public func document(_ className: String, _ objectId: String, caller: Caller) throws -> JSON {
        try JSON(parsing: try get(className, objectId, caller: caller))
    }

    /// The decoded object, or nil when it is missing or not readable.
    public func documentIfFound(_ className: String, _ objectId: String, caller: Caller) throws -> JSON? {
        do {
            return try document(className, objectId, caller: caller)
        } catch let error as ParseError where error.code == .objectNotFound {
            return nil
        }
    }
}
