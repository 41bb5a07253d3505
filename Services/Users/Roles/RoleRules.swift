import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The rules of `_Role`: an immutable name, a required ACL, and session invalidation for affected users.
package struct RoleRules: ClassRules {
    static let nameBytesMax = 100

    package func prepare(_ change: inout ProposedChange) async throws {
        try change.requireFullSession()
        if change.isImported, change.verb == .create { try RoleRules.prepareMoved(&change) }
        switch change.verb {
        case .create:
            try RoleRules.checkNew(change.object, isMaster: change.caller.isMaster)
            if change.objectId != nil, !change.caller.isMaster { throw RoleRules.chosenId }
        case .update: try RoleRules.checkUpdate(change.object)
        case .delete: break
        }
    }

    /// Prepares a role of another server. Its members are in the rows of `_Join:users:_Role` and `_Join:roles:_Role`.
    /// - Throws: `.operationForbidden` (119) without the master key, `.duplicateValue` (137) for an operators' role,
    ///   whose members the admins choose here.
    private static func prepareMoved(_ change: inout ProposedChange) throws {
        let row = try MovedRow(change)
        if let name = row.fields["name"]?.stringValue, OperatorArea.roles.contains(name) {
            throw ParseError(.duplicateValue, "The role \(name) grants rights in Satchel: invite its members.")
        }
        change.objectId = row.fields["objectId"]?.stringValue
        change.object = .object(row.shown.filter { !["users", "roles"].contains($0.key) })
    }

    package func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        if change.verb != .create, !change.caller.isMaster {
            let stored = try transaction.documentIfFound("_Role", try change.requiredObjectId, caller: .master)
            let name = stored?["name"]?.stringValue ?? ""
            try OperatorRoles.check(
                change.object, isDelete: change.verb == .delete, ofRoleNamed: name, isAdmin: change.principal.isAdmin)
            let role = RoleHierarchy.Role(objectId: try change.requiredObjectId, name: name)
            if change.verb == .delete || change.object["users"] != nil || change.object["roles"] != nil,
                try RoleHierarchy.granted(by: [role], transaction).contains(where: { $0.name == adminsRole })
            {
                change.notes[Self.adminsNote] = true
            }
        }
        guard change.verb == .update, let name = change.object["name"] else { return }
        let stored = try transaction.document("_Role", try change.requiredObjectId, caller: change.caller)
        guard name == stored["name"] else {
            throw ParseError(.changedImmutableField, "A role's name cannot be changed.")
        }
        change.object["name"] = nil
    }

    package func after(
        _ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction
    ) throws {
        if change.notes[Self.adminsNote] == true { try LastAdmin.require(transaction) }
        outcome.forget = RoleRules.forgotten(by: change)
    }

    /// Marks a client's change of a role whose members are admins.
    private static let adminsNote = "changesAdmins"

    /// The sessions that the gateway must look up again. Only changed members affect sessions.
    package static func forgotten(by change: ProposedChange) -> Forget? {
        // Members of member roles are also affected, and their number is unknown.
        if change.verb == .delete || !targets(of: change.object["roles"]).isEmpty {
            return Forget.with { $0.everything = true }
        }
        let userIds = Set(targets(of: change.object["users"]))
        return userIds.isEmpty ? nil : Forget.with { $0.userIds = userIds.sorted() }
    }

    /// The ids in an operation on a relation.
    private static func targets(of operation: JSON?) -> [String] {
        let operations = operation?["__op"] == "Batch" ? operation?["ops"]?.arrayValue ?? [] : [operation ?? .null]
        return operations.flatMap { $0["objects"]?.arrayValue ?? [] }.compactMap(\.pointerTarget?.objectId)
    }

    private static let chosenId = ParseError(.invalidKeyName, "objectId is an invalid field name.")

    /// - Throws: `.incorrectType` (111) without name or ACL, `.invalidRoleName` (139) for an invalid name,
    ///   `.duplicateValue` (137) for the name of an operators' role, `.invalidKeyName` (105) for a chosen id.
    package static func checkNew(_ role: JSON, isMaster: Bool) throws {
        // The id of a deleted role may still be listed in other roles' `roles`.
        if !isMaster, role["objectId"] != nil { throw chosenId }
        switch role["name"] {
        case nil, .null: throw ParseError(.incorrectType, "name is required.")
        case .string(let name) where isName(name):
            // Created moments after the first start; until then no client may create a role with the name.
            guard isMaster || !OperatorArea.roles.contains(name) else {
                throw ParseError(.duplicateValue, "A duplicate value for a field with unique values was provided")
            }
        default:
            throw ParseError(
                .invalidRoleName, "A role's name can only contain letters, digits, _, -, and spaces.")
        }
        try requireACL(role["ACL"])
    }

    /// - Throws: `.incorrectType` (111) for an update that would leave the role without an ACL, and so open to
    ///   everyone.
    package static func checkUpdate(_ changes: JSON) throws {
        if let acl = changes["ACL"] { try requireACL(acl) }
    }

    private static func requireACL(_ acl: JSON?) throws {
        guard case .object(let entries) = acl, entries["__op"] == nil else {
            throw ParseError(.incorrectType, "ACL is required.")
        }
    }

    private static func isName(_ name: String) -> Bool {
        (1...nameBytesMax).contains(name.utf8.count) && name.utf8.contains { $0 != UInt8(ascii: " ") }
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: " "):
                    true
                default: false
                }
            }
    }
}
