import ObjectStore

/// The users' password hashes, stored outside the objects so that no read of an object can contain one. An anonymous
/// user has no row.
enum Credentials {
    static func hash(of userId: String, _ reader: some ObjectReading) throws -> String? {
        try reader.rows("SELECT hash FROM credentials WHERE userId = ?", [.text(userId)]).first?.text("hash")
    }

    /// - Parameter historyMax: number of the user's hashes kept for comparison with new passwords.
    static func set(_ hash: String, of userId: String, historyMax: Int, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            """
            INSERT INTO credentials(userId, hash) VALUES (?, ?) ON CONFLICT(userId) DO UPDATE SET hash = excluded.hash
            """,
            [.text(userId), .text(hash)])
        try PasswordHistory.add(hash, of: userId, keeping: historyMax, in: transaction)
    }

    static func remove(of userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM credentials WHERE userId = ?", [.text(userId)])
        try PasswordHistory.remove(of: userId, in: transaction)
    }
}
