import ObjectStore
import ParseProtocol

/// The users whose password hash is still the old server's, with its cost.
///
/// While there are any, each sign-in takes as long as one of theirs (`PasswordHasher.check`).
enum MovedPasswords {
    static let tables = [
        "CREATE TABLE movedPasswords(userId TEXT PRIMARY KEY, cost INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE INDEX movedPasswordsByCost ON movedPasswords(cost)",
    ]

    /// The highest cost; nil without such users.
    static func costMax(_ reader: ObjectReader) throws -> Int? {
        try reader.rows("SELECT cost FROM movedPasswords ORDER BY cost DESC LIMIT 1", []).first.map {
            try Int($0.int("cost"))
        }
    }

    /// Records the kind of a user's new hash.
    static func note(_ hash: String, of userId: String, in transaction: StoreTransaction) throws {
        guard let moved = BcryptHash(hash) else { return try forget(userId, in: transaction) }
        try transaction.execute(
            """
            INSERT INTO movedPasswords(userId, cost) VALUES (?, ?)
            ON CONFLICT(userId) DO UPDATE SET cost = excluded.cost
            """, [.text(userId), .int(Int64(moved.cost))])
    }

    static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM movedPasswords WHERE userId = ?", [.text(userId)])
    }
}
