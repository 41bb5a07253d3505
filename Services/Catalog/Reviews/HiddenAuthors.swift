import ObjectStore

/// Authors whose review of a product was hidden. Without this list, an author could delete the hidden review and write
/// the same text again.
enum HiddenAuthors {
    static func contains(_ userId: String, of productId: String, in transaction: StoreTransaction) throws -> Bool {
        try !transaction.rows(
            "SELECT 1 FROM hiddenAuthors WHERE productId = ? AND userId = ?", [.text(productId), .text(userId)]
        ).isEmpty
    }

    /// Records an admin's decision.
    static func set(
        _ isHidden: Bool, _ userId: String, of productId: String, in transaction: StoreTransaction
    ) throws {
        _ = try transaction.execute(
            isHidden
                ? "INSERT INTO hiddenAuthors(productId, userId) VALUES (?, ?) ON CONFLICT DO NOTHING"
                : "DELETE FROM hiddenAuthors WHERE productId = ? AND userId = ?", [.text(productId), .text(userId)])
    }

    static func forget(product productId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM hiddenAuthors WHERE productId = ?", [.text(productId)])
    }

    static func forget(user userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM hiddenAuthors WHERE userId = ?", [.text(userId)])
    }
}
