import ObjectStore
import ParseProtocol
import ServiceKit

/// What users are told of themselves when they sign in: what they could read with the session they get, and never less than who they are.
enum OwnAccount {
    /// - Throws: `ParseError.objectNotFound` for a user who is gone.
    static func document(of userId: String, _ key: AccountKey, _ reader: some ObjectReading) throws -> JSON {
        let roles = try RoleHierarchy.roles(of: userId, reader).map(\.name).sorted()
        do {
            return try AnonymousIds.shown(
                reader.document("_User", userId, caller: Caller(userId: userId, roles: roles)), of: userId, key,
                reader)
        } catch let error as ParseError where [.operationForbidden, .objectNotFound].contains(error.code) {
            // Class-level permissions may keep users from reading even themselves.
            let user = try JSON(parsing: reader.get("_User", userId, caller: .master))
            return .object(
                (user.objectValue ?? [:]).filter { ["objectId", "createdAt", "updatedAt"].contains($0.key) })
        }
    }
}
