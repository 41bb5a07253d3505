import Messages
import ObjectStore
import ParseProtocol

/// The roles that grant operator rights. Their names are reserved.
package enum OperatorRoles {
    /// Only the admins and the master key can read the roles and change their members.
    static let acl: JSON = ["role:\(adminsRole)": ["read": true, "write": true]]

    /// The fields of such a role that an admin may change. Another ACL would give control of the role away.
    private static let changeable: Set<String> = ["users", "roles", "name"]

    /// Creates the role if it is missing. A role created by an earlier release is opened to the admins, unless its ACL
    /// was changed.
    static func make(_ name: String, in transaction: StoreTransaction) throws {
        let named = Query(className: "_Role", where: ["name": .string(name)], limit: 1)
        guard let role = try transaction.documents(named, caller: .master).first else {
            _ = try transaction.create("_Role", ["name": .string(name), "ACL": acl], caller: .master)
            return
        }
        guard role["ACL"] == [:], let id = role["objectId"]?.stringValue else { return }
        _ = try transaction.update("_Role", id, ["ACL": acl], caller: .master)
    }

    /// Renames existing roles whose names now grant rights: their members were not chosen for those rights. The renamed
    /// roles keep their members, and the admins decide who belongs in the new roles.
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

    /// Whether a user has operator rights through any role.
    static func isHeld(by userId: String, _ reader: ObjectReader) throws -> Bool {
        try RoleHierarchy.roles(of: userId, reader).contains { OperatorArea.roles.contains($0.name) }
    }

    /// Adds a user to an operators' role.
    static func add(_ userId: String, to name: String, in transaction: StoreTransaction) throws {
        let named = Query(className: "_Role", where: ["name": .string(name)], limit: 1)
        guard OperatorArea.roles.contains(name),
            let id = try transaction.documents(named, caller: .master).first?["objectId"]?.stringValue
        else { throw ParseError.objectNotFound }
        try change("AddRelation", userId, ofRole: id, in: transaction)
    }

    /// Removes a user from every role that grants operator rights, directly or through another role.
    /// - Returns: the names of the roles.
    static func removeAll(of userId: String, in transaction: StoreTransaction) throws -> [String] {
        var names: [String] = []
        // Only the oldest roles of a user count, so that a removal may bring others in.
        while true {
            let granting = try RoleHierarchy.direct(userId, transaction).filter { role in
                try RoleHierarchy.granted(by: [role], transaction).contains { OperatorArea.roles.contains($0.name) }
            }
            guard !granting.isEmpty else { return names }
            for role in granting { try change("RemoveRelation", userId, ofRole: role.objectId, in: transaction) }
            names += granting.map(\.name)
        }
    }

    private static func change(
        _ operation: String, _ userId: String, ofRole id: String, in transaction: StoreTransaction
    ) throws {
        _ = try transaction.update(
            "_Role", id, ["users": ["__op": .string(operation), "objects": [.pointer("_User", userId)]]],
            caller: .master)
    }

    /// Checks a change of a stored role without the master key, regardless of the role's ACL.
    /// - Throws: `.objectNotFound` (101) unless the caller is an admin, `.operationForbidden` (119) for a change that
    ///   admins cannot make.
    package static func check(
        _ object: JSON, isDelete: Bool, ofRoleNamed name: String, isAdmin: Bool
    ) throws(ParseError) {
        guard OperatorArea.roles.contains(name) else { return }
        guard isAdmin else { throw .objectNotFound }
        let names = Set(object.objectValue?.keys.map { $0 } ?? [])
        guard !isDelete, names.isSubset(of: changeable) else {
            throw ParseError(.operationForbidden, "An admin can change only the users and roles of the role \(name).")
        }
    }
}
