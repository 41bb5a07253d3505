import Messages
import ObjectStore
import ParseProtocol

/// The roles of users, direct and inherited ones.
package enum RoleHierarchy {
    package struct Role: Hashable, Sendable {
        package let objectId: String
        package let name: String

        package init(objectId: String, name: String) {
            self.objectId = objectId
            self.name = name
        }
    }

    /// Limits of a user's roles: the oldest 200 direct ones, and 1000 with inherited ones. A creator of roles can add
    /// any user to them, and must not be able to slow down that user's sign-ins.
    static let directMax = 200
    package static let rolesMax = 1000

    /// The roles implied by `direct` membership. The members of a role also have every role that lists it in `roles`,
    /// and so on transitively. Cycles are detected, and the result is limited to `rolesMax`.
    package static func closure(
        of direct: [Role], parents: (_ children: [Role]) throws -> [Role]
    ) rethrows -> Set<Role> {
        var held = Set(direct)
        var newest = direct
        while !newest.isEmpty, held.count < rolesMax {
            newest = try parents(newest).filter { held.count < rolesMax && held.insert($0).inserted }
        }
        return held
    }

    /// All roles of a user, inherited ones included.
    static func roles(of userId: String, _ reader: ObjectReader) throws -> Set<Role> {
        try granted(by: direct(userId, reader), reader)
    }

    /// These roles and all roles that their members inherit.
    static func granted(by roles: [Role], _ reader: ObjectReader) throws -> Set<Role> {
        try closure(of: roles) { children in
            let pointers = children.map { JSON.pointer("_Role", $0.objectId) }
            return try oldest(rolesMax, where: ["roles": ["$in": .array(pointers)]], reader)
        }
    }

    /// The users who are admins, directly or through a role.
    static func admins(_ reader: ObjectReader) throws -> Set<String> { try members(of: adminsRole, reader) }

    /// The users who have the role of this name, directly or through a role. Limited to the first `rolesMax` of each
    /// query.
    static func members(of name: String, _ reader: ObjectReader) throws -> Set<String> {
        let named = try oldest(1, where: ["name": .string(name)], reader)
        let granting = try closure(of: named) { parents in
            try parents.flatMap { try oldest(rolesMax, where: related(to: $0, by: "roles"), reader) }
        }
        let users = try granting.flatMap { role in
            try reader.documents(
                Query(
                    className: "_User", where: related(to: role, by: "users"), limit: rolesMax, keys: ["objectId"]),
                caller: .master)
        }
        return Set(users.compactMap { $0["objectId"]?.stringValue })
    }

    private static func related(to role: Role, by key: String) -> JSON {
        ["$relatedTo": ["object": .pointer("_Role", role.objectId), "key": .string(key)]]
    }

    /// Removes a user from every role.
    static func remove(_ userId: String, in transaction: StoreTransaction) throws {
        while case let roles = try direct(userId, transaction), !roles.isEmpty {
            for role in roles {
                _ = try transaction.update(
                    "_Role", role.objectId,
                    ["users": ["__op": "RemoveRelation", "objects": [.pointer("_User", userId)]]], caller: .master)
            }
        }
    }

    static func direct(_ userId: String, _ reader: ObjectReader) throws -> [Role] {
        try oldest(directMax, where: ["users": .pointer("_User", userId)], reader)
    }

    private static func oldest(_ limit: Int, where condition: JSON, _ reader: ObjectReader) throws -> [Role] {
        try reader.documents(
            Query(className: "_Role", where: condition, order: ["createdAt"], limit: limit, keys: ["name"]),
            caller: .master
        ).map { role in
            Role(objectId: role["objectId"]?.stringValue ?? "", name: role["name"]?.stringValue ?? "")
        }
    }
}
