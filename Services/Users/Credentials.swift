import ObjectStore

/// The users' password hashes, apart from the objects so that no read of an object can carry one.
/// An anonymous user has no row.
enum Credentials {
    static let tables = [
        "CREATE TABLE IF NOT EXISTS credentials(userId TEXT PRIMARY KEY, hash TEXT NOT NULL) WITHOUT ROWID"
    ]

    static func hash(of userId: String, _ reader: some ObjectReading) throws -> String? {
        try reader.rows("SELECT hash FROM credentials WHERE userId = ?", [.text(userId)]).first?.text("hash")
    }

    static func set(_ hash: String, of userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            "INSERT INTO credentials(userId, hash) VALUES (?, ?) ON CONFLICT(userId) DO UPDATE SET hash = excluded.hash",
            [.text(userId), .text(hash)])
    }

    static func remove(of userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM credentials WHERE userId = ?", [.text(userId)])
    }
}
