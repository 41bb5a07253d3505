import ObjectStore
import ParseProtocol

/// The ids in `authData.anonymous`: whoever knows one is that user, so that they are kept like passwords. Sign-ins find
/// the user by a keyed hash (`Identities`); for the user's own answers the id is kept encrypted. The object only says
/// that there is one.
enum AnonymousIds {
    static let name = AuthProvider.anonymous.rawValue
    /// The value that the user's object holds in place of the id.
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

    static func id(of userId: String, _ key: AccountKey, _ reader: some ObjectReading) throws -> String? {
        let row = try reader.rows("SELECT sealed FROM anonymousIds WHERE userId = ?", [.text(userId)]).first
        return try row.flatMap { try key.open($0.blob("sealed"), for: .anonymousId, of: userId) }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// A user's document for deciding about a change. An id that cannot be opened any more is one that no client sends.
    static func opened(_ user: JSON, of userId: String, _ key: AccountKey, _ reader: some ObjectReading) throws -> JSON
    {
        guard user["authData"]?[name] == mark else { return user }
        var user = user
        user["authData"]?[name] = ["id": .string(try id(of: userId, key, reader) ?? "")]
        return user
    }

    /// `authData` as it is stored.
    static func marked(_ authData: JSON) -> JSON {
        guard authData["__op"] == nil, authData[name] != nil else { return authData }
        var authData = authData
        authData[name] = mark
        return authData
    }
}

extension AccountUpdate {
    /// Gives and takes the names that a change is about, and hides what is secret in it.
    /// - Returns: the changes for the object.
    /// - Throws: `.usernameTaken` (202), `.emailTaken` (203) or `.accountAlreadyLinked` (208) when a name is another
    ///   user's.
    func settleNames(
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
