import ObjectStore

/// The deleted accounts that a service knows (table `deletedUsers`). A user's data may arrive after the deletion and is
/// stored without the user.
package enum DeletedUsers {
    /// For a service's migrations.
    package static let table =
        "CREATE TABLE deletedUsers(userId TEXT PRIMARY KEY, since INTEGER NOT NULL) WITHOUT ROWID"

    package static func add(_ userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            "INSERT INTO deletedUsers(userId, since) VALUES (?, ?) ON CONFLICT(userId) DO NOTHING",
            [.text(userId), .int(transaction.now.milliseconds)])
    }

    package static func contains(_ userId: String, in reader: ObjectReader) throws -> Bool {
        guard !userId.isEmpty else { return false }
        return try !reader.rows("SELECT 1 FROM deletedUsers WHERE userId = ?", [.text(userId)]).isEmpty
    }
}
