import Messages
import ObjectStore
import ParseProtocol

/// The roles that give rights on the shop's desk. Their names are reserved.
package enum OperatorRoles {
    /// The admins read them and put users and roles in; nobody else but the master key does.
    static let acl: JSON = ["role:\(adminsRole)": ["read": true, "write": true]]

    /// The fields of such a role that an admin's session changes. Another ACL would give the role away.
    private static let changeable: Set<String> = ["users", "roles", "name"]

    /// Makes the role unless it is there. One that an earlier release made is opened to the admins; an ACL that
    /// somebody chose stays.
    static func make(_ name: String, in transaction: StoreTransaction) throws {
        let named = Query(className: "_Role", where: ["name": .string(name)], limit: 1)
        guard let role = try transaction.documents(named, caller: .master).first else {
            _ = try transaction.create("_Role", ["name": .string(name), "ACL": acl], caller: .master)
            return
        }
        guard role["ACL"] == [:], let id = role["objectId"]?.stringValue else { return }
        _ = try transaction.update("_Role", id, ["ACL": acl], caller: .master)
    }

    /// Renames roles that a shop has under a name that now gives rights: whoever is in one was not put there for those.
    /// Nobody is lost; the admins look who belongs in the new role.
    package static func setAside(in transaction: StoreTransaction) throws {
        guard transaction.hasClass("_Role") else { return }
        for area in OperatorArea.allCases where area != .admins {
            let named = Query(className: "_Role", where: ["name": .string(area.role)], limit: 1)
            guard let id = try transaction.documents(named, caller: .master).first?["objectId"]?.stringValue else {
                continue
            }
            _ = try transaction.update(
                "_Role", id, ["name": .string("\(area.role) before \(id)")], caller: .master)
        }
    }

    /// Whether a user has rights on the desk, by whichever role.
    static func isHeld(by userId: String, _ reader: some ObjectReading) throws -> Bool {
        try RoleHierarchy.roles(of: userId, reader).contains { OperatorArea.roles.contains($0.name) }
    }

    /// Whether somebody without the master key may make this change of a stored role, whatever its ACL says.
    /// - Throws: `.objectNotFound` (101) for anybody but the admins, `.operationForbidden` (119) for what they may not.
    package static func check(
        _ object: JSON, isDelete: Bool, ofRoleNamed name: String, isAdmin: Bool
    ) throws(ParseError) {
        guard OperatorArea.roles.contains(name) else { return }
        guard isAdmin else { throw .objectNotFound }
        let names = Set(object.objectValue?.keys.map { $0 } ?? [])
        guard !isDelete, names.isSubset(of: changeable) else {
            throw ParseError(.operationForbidden, "Of the role \(name) an admin changes users and roles alone.")
        }
    }
}
