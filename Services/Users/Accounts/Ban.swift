import ObjectStore
import ParseProtocol

/// The ban of a user: an operator took away the right to read the own object, as dashboards of Parse do with an empty
/// ACL. A banned user has no session and gets none.
package enum Ban {
    /// - Parameter user: the whole document.
    static func applies(to user: JSON, _ reader: some ObjectReading) throws -> Bool {
        // Nearly everybody is named by the own ACL; only for the others it matters which roles they have.
        guard applies(to: user, roles: []), let userId = user["objectId"]?.stringValue else { return false }
        return try applies(to: user, roles: RoleHierarchy.roles(of: userId, reader).map(\.name))
    }

    /// - Parameter roles: of the user, without the `role:` prefix.
    package static func applies(to user: JSON, roles: [String]) -> Bool {
        guard let acl = user["ACL"], !acl.isNull else { return false }
        let holders = ["*", user["objectId"]?.stringValue ?? ""] + roles.map { "role:\($0)" }
        return !holders.contains { acl[$0]?["read"] == true }
    }
}
