import ObjectStore
import ParseProtocol

extension UserRules {
    /// The hashes of the old server that no sign-in has replaced, and the ids of anonymous users. No other server can
    /// check Satchel's own hashes, so they stay here.
    package func secrets(
        after id: String, limit: Int, in transaction: StoreTransaction
    ) throws -> [(objectId: String, secrets: JSON)] {
        let rows = try transaction.rows(
            """
            SELECT userId FROM movedPasswords WHERE userId > ? UNION SELECT userId FROM anonymousIds WHERE userId > ?
            ORDER BY userId LIMIT ?
            """, [.text(id), .text(id), .int(Int64(limit))])
        return try rows.map { row in
            let userId = try row.text(0)
            var secrets: JSON = [:]
            if let hash = try Credentials.hash(of: userId, transaction), BcryptHash(hash) != nil {
                secrets["_hashed_password"] = .string(hash)
            }
            if let anonymous = try AnonymousIds.id(of: userId, key, transaction) {
                secrets["authData"] = [AnonymousIds.name: ["id": .string(anonymous)]]
            }
            return (objectId: userId, secrets: secrets)
        }
    }
}
