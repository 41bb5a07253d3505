import ObjectStore
import ParseProtocol

/// Who holds which roles.
package enum RoleHierarchy {
    package struct Role: Hashable, Sendable {
        package let objectId: String
        package let name: String

        package init(objectId: String, name: String) {
            self.objectId = objectId
            self.name = name
        }
    }

    /// The roles that come with `direct` membership: a role's members have the rights of every role that lists it in `roles`,
    /// and so on upwards. Circles end where they began.
    package static func closure(
        of direct: [Role], parents: (_ children: [Role]) throws -> [Role]
    ) rethrows -> Set<Role> {
        var held = Set(direct)
        var newest = Array(held)
        while !newest.isEmpty {
            newest = Array(Set(try parents(newest)).subtracting(held))
            held.formUnion(newest)
        }
        return held
    }

    /// Every role a user has, inherited ones included.
    static func roles(of userId: String, _ reader: some ObjectReading) throws -> Set<Role> {
        try closure(of: direct(userId, reader)) { children in
            try find(["roles": ["$in": .array(children.map { .pointer("_Role", $0.objectId) })]], reader)
        }
    }

    /// Takes a user out of every role.
    static func remove(_ userId: String, in transaction: StoreTransaction) throws {
        for role in try direct(userId, transaction) {
            _ = try transaction.update(
                "_Role", role.objectId,
                ["users": ["__op": "RemoveRelation", "objects": [.pointer("_User", userId)]]], caller: .master)
        }
    }

    private static func direct(_ userId: String, _ reader: some ObjectReading) throws -> [Role] {
        try find(["users": .pointer("_User", userId)], reader)
    }

    private static func find(_ condition: JSON, _ reader: some ObjectReading) throws -> [Role] {
        var roles: [Role] = []
        while true {
            let page = try reader.documents(
                Query(
                    className: "_Role", where: condition, order: ["objectId"], limit: pageRows, skip: roles.count,
                    keys: ["name"]),
                caller: .master)
            roles += page.compactMap { role in
                guard let id = role["objectId"]?.stringValue, let name = role["name"]?.stringValue else { return nil }
                return Role(objectId: id, name: name)
            }
            if page.count < pageRows { return roles }
        }
    }

    private static let pageRows = 1000
}
