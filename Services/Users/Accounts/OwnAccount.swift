import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The account as users are shown it when they sign in: what they could read with the session they get, and never less
/// than who they are.
enum OwnAccount {
    /// - Parameter proofs: those that the user signed in with.
    /// - Throws: `ParseError.objectNotFound` for a user who is gone.
    static func document(
        of userId: String, with proofs: [AuthProof] = [], _ key: AccountKey, _ reader: some ObjectReading
    ) throws -> JSON {
        let roles = try RoleHierarchy.roles(of: userId, reader).map(\.name).sorted()
        do {
            let user = try reader.document("_User", userId, caller: Caller(userId: userId, roles: roles))
            return try shown(
                user, of: userId, isAdmin: roles.contains(adminsRole), with: proofs, key, reader)
        } catch let error as ParseError where [.operationForbidden, .objectNotFound].contains(error.code) {
            // Class-level permissions may keep users from reading even themselves.
            let user = try JSON(parsing: reader.get("_User", userId, caller: .master))
            return .object(
                (user.objectValue ?? [:]).filter { ["objectId", "createdAt", "updatedAt"].contains($0.key) })
        }
    }

    /// A stored document as its user is told it.
    /// - Parameter isAdmin: whether to say that the user is one of the shop's operators. Nothing asks that field: the
    ///   role decides.
    static func shown(
        _ user: JSON, of userId: String, isAdmin: Bool, with proofs: [AuthProof] = [], _ key: AccountKey,
        _ reader: some ObjectReading
    ) throws -> JSON {
        var user = try OwnAuthData.shown(user, of: userId, with: proofs, key, reader)
        if isAdmin { user["isAdmin"] = true }
        return user
    }
}
