import ObjectStore

/// The users' password hashes, stored outside the objects so that no read of an object can contain one. An anonymous
/// user has no row.
enum Credentials {
    static func hash(of userId: String, _ reader: ObjectReader) throws -> String? {
        try reader.rows("SELECT hash FROM credentials WHERE userId = ?", [.text(userId)]).first?.text("hash")
    }

    /// - Parameter historyMax: number of the user's hashes kept for comparison with new passwords.
    static func set(_ hash: String, of userId: String, historyMax: Int, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            """
            INSERT INTO credentials(userId, hash) VALUES (?, ?) ON CONFLICT(userId) DO UPDATE SET hash = excluded.hash
            """,
            [.text(userId), .text(hash)])
        try MovedPasswords.note(hash, of: userId, in: transaction)
        try PasswordHistory.add(hash, of: userId, keeping: historyMax, in: transaction)
    }

    /// Replaces the hash by another one of the same password, whose age does not change.
    static func replace(
        _ former: String, by hash: String, of userId: String, in transaction: StoreTransaction
    ) throws {
        for table in ["credentials", "passwordHistory"] {
            try transaction.execute(
                "UPDATE \(table) SET hash = ? WHERE userId = ? AND hash = ?",
                [.text(hash), .text(userId), .text(former)])
        }
        try MovedPasswords.note(hash, of: userId, in: transaction)
    }

    static func remove(of userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM credentials WHERE userId = ?", [.text(userId)])
        try MovedPasswords.forget(userId, in: transaction)
        try PasswordHistory.remove(of: userId, in: transaction)
    }
}
