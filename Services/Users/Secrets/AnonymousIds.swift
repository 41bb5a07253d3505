import ObjectStore
import ParseProtocol

/// The ids in `authData.anonymous`. Such an id alone signs its user in, so it is protected like a password. Sign-ins
/// find the user by a keyed hash (`Identities`), and the id is stored encrypted for answers to the user. The object
/// only records that there is one.
enum AnonymousIds {
    static let name = AuthProvider.anonymous.rawValue
    /// The value in the user's object that replaces the id.
    static let mark: JSON = [:]

    static func keep(
        _ id: String, of userId: String, _ key: AccountKey, in transaction: StoreTransaction
    ) throws {
        let sealed = try key.seal(Array(id.utf8), for: .anonymousId, of: userId)
        try transaction.execute(
            """
            INSERT INTO anonymousIds(userId, sealed) VALUES (?, ?)
            ON CONFLICT(userId) DO UPDATE SET sealed = excluded.sealed
            """, [.text(userId), .blob(sealed)])
    }

    static func remove(of userId: String, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM anonymousIds WHERE userId = ?", [.text(userId)])
    }

    static func id(of userId: String, _ key: AccountKey, _ reader: ObjectReader) throws -> String? {
        let row = try reader.rows("SELECT sealed FROM anonymousIds WHERE userId = ?", [.text(userId)]).first
        return try row.flatMap { try key.open($0.blob("sealed"), for: .anonymousId, of: userId) }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// A user's document with the decrypted id, for checks of a change. An id that cannot be decrypted becomes empty,
    /// which matches no client's id.
    static func opened(_ user: JSON, of userId: String, _ key: AccountKey, _ reader: ObjectReader) throws -> JSON {
        guard user["authData"]?[name] == mark else { return user }
        var user = user
        user["authData"]?[name] = ["id": .string(try id(of: userId, key, reader) ?? "")]
        return user
    }

    /// The stored form of `authData`.
    static func marked(_ authData: JSON) -> JSON {
        guard authData["__op"] == nil, authData[name] != nil else { return authData }
        var authData = authData
        authData[name] = mark
        return authData
    }
}

extension AccountUpdate {
    /// Updates the identities of a change and removes secrets from it.
    /// - Returns: the changes for the object.
    /// - Throws: `.usernameTaken` (202), `.emailTaken` (203) or `.accountAlreadyLinked` (208) when a name is another
    ///   user's.
    func updateIdentities(
        of userId: String, _ key: AccountKey, in transaction: StoreTransaction
    ) throws -> [String: JSON] {
        for kind in given {
            try Identities.give(kind, of: userId, in: transaction)
            if kind == .anonymous { try AnonymousIds.remove(of: userId, in: transaction) }
        }
        for identity in taken {
            try Identities.take(identity, for: userId, key, in: transaction)
            if identity.kind == .anonymous {
                try AnonymousIds.keep(identity.value, of: userId, key, in: transaction)
            }
        }
        var changes = changes
        changes["authData"] = changes["authData"].map(AnonymousIds.marked)
        return changes
    }
}
