import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The account in the answer to a sign-in: everything that the user can read with the new session, and at least the id
/// and times.
enum OwnAccount {
    /// - Parameter proofs: the proofs of this sign-in.
    /// - Throws: `ParseError.objectNotFound` for a deleted user.
    static func document(
        of userId: String, with proofs: [AuthProof] = [], _ key: AccountKey, _ reader: ObjectReader
    ) throws -> JSON {
        let roles = try RoleHierarchy.roles(of: userId, reader).map(\.name).sorted()
        do {
            let user = try reader.document("_User", userId, caller: Caller(userId: userId, roles: roles))
            return try shown(
                user, of: userId, isAdmin: roles.contains(adminsRole), with: proofs, key, reader)
        } catch let error as ParseError where [.operationForbidden, .objectNotFound].contains(error.code) {
            // Class-level permissions may prevent users from reading their own object.
            let user = try JSON(parsing: reader.get("_User", userId, caller: .master))
            return .object(
                (user.objectValue ?? [:]).filter { ["objectId", "createdAt", "updatedAt"].contains($0.key) })
        }
    }

    /// A stored document as shown to its user.
    /// - Parameter isAdmin: whether to add `isAdmin: true`. The field is only informative: the role decides about
    ///   rights.
    static func shown(
        _ user: JSON, of userId: String, isAdmin: Bool, with proofs: [AuthProof] = [], _ key: AccountKey,
        _ reader: ObjectReader
    ) throws -> JSON {
        var user = try OwnAuthData.shown(user, of: userId, with: proofs, key, reader)
        if isAdmin { user["isAdmin"] = true }
        return user
    }
}
