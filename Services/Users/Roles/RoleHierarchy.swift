import Messages
import ObjectStore
import ParseProtocol

/// The roles that users hold, directly and through other roles.
package enum RoleHierarchy {
    package struct Role: Hashable, Sendable {
        package let objectId: String
        package let name: String

        package init(objectId: String, name: String) {
            self.objectId = objectId
            self.name = name
        }
    }

    /// Roles of one user that count: of the direct ones the oldest 200, with inherited ones 1000. Whoever makes a role
    /// can put anybody into it, and must not be able to make somebody else's every sign-in long.
    static let directMax = 200
    package static let rolesMax = 1000

    /// The roles that come with `direct` membership: a role's members have the rights of every role that lists it in
    /// `roles`, and so on upwards. Circles end where they began, and everything ends at `rolesMax`.
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

    /// Every role a user has, inherited ones included.
    static func roles(of userId: String, _ reader: some ObjectReading) throws -> Set<Role> {
        try closure(of: direct(userId, reader)) { children in
            let pointers = children.map { JSON.pointer("_Role", $0.objectId) }
            return try oldest(rolesMax, where: ["roles": ["$in": .array(pointers)]], reader)
        }
    }

    /// The users that hold the role of the shop's operators, directly or by a role in it. There are few; of more the
    /// first ones count.
    static func admins(_ reader: some ObjectReading) throws -> Set<String> {
        let named = try oldest(1, where: ["name": .string(adminsRole)], reader)
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

    /// Takes a user out of every role.
    static func remove(_ userId: String, in transaction: StoreTransaction) throws {
        while case let roles = try direct(userId, transaction), !roles.isEmpty {
            for role in roles {
                _ = try transaction.update(
                    "_Role", role.objectId,
                    ["users": ["__op": "RemoveRelation", "objects": [.pointer("_User", userId)]]], caller: .master)
            }
        }
    }

    private static func direct(_ userId: String, _ reader: some ObjectReading) throws -> [Role] {
        try oldest(directMax, where: ["users": .pointer("_User", userId)], reader)
    }

    private static func oldest(_ limit: Int, where condition: JSON, _ reader: some ObjectReading) throws -> [Role] {
        try reader.documents(
            Query(className: "_Role", where: condition, order: ["createdAt"], limit: limit, keys: ["name"]),
            caller: .master
        ).map { role in
            Role(objectId: role["objectId"]?.stringValue ?? "", name: role["name"]?.stringValue ?? "")
        }
    }
}
