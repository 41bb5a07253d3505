import ObjectStore
import ParseProtocol

/// The ban of a user: an operator removed the user's right to read the user object, as Parse dashboards do with an
/// empty ACL. A banned user's sessions end, and no new ones are created.
package enum Ban {
    /// - Parameter user: the complete document.
    static func applies(to user: JSON, _ reader: ObjectReader) throws -> Bool {
        // The ACL almost always names the user; the roles are read only if it does not.
        guard applies(to: user, roles: []), let userId = user["objectId"]?.stringValue else { return false }
        return try applies(to: user, roles: RoleHierarchy.roles(of: userId, reader).map(\.name))
    }

    /// - Parameter roles: the user's roles, without the `role:` prefix.
    package static func applies(to user: JSON, roles: [String]) -> Bool {
        guard let acl = user["ACL"], !acl.isNull else { return false }
        let holders = ["*", user["objectId"]?.stringValue ?? ""] + roles.map { "role:\($0)" }
        return !holders.contains { acl[$0]?["read"] == true }
    }
}
