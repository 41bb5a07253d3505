import Messages
import ObjectStore
import ParseProtocol

/// `catalog.userRenamed.v1`: the new public name of a review author. Reviews with a former name of the account get the
/// newest name, in background batches. A name that the author entered for a single review is kept.
///
/// Messages may arrive twice and in any order: the newest name is stored once, and each former name once. Nothing is
/// stored of an author without reviews.
package enum AuthorRenames {
    /// Maximum reviews that one transaction changes, because other writes wait meanwhile.
    package static let reviewsMax = 200

    package static func take(_ renamed: UserRenamed, in transaction: StoreTransaction) throws {
        // After the deletion of the account no review is the user's, and a late message must not store the name again.
        let own = Query(className: "ProductReview", where: ["user": .pointer("_User", renamed.userID)], limit: 1)
        guard try !transaction.documents(own, caller: .master).isEmpty else { return }
        // A name that cannot be shown counts as no name.
        let name = PublicName(renamed.name)?.text ?? ""
        _ = try transaction.execute(
            """
            INSERT INTO renamedAuthors(userId, name, renamedAt) VALUES (?, ?, ?)
            ON CONFLICT(userId) DO UPDATE SET name = excluded.name, renamedAt = excluded.renamedAt
            WHERE excluded.renamedAt >= renamedAuthors.renamedAt
            """, [.text(renamed.userID), .text(name), .int(renamed.renamedAt)])
        guard let former = PublicName(renamed.formerName)?.text else { return }
        _ = try transaction.execute(
            "INSERT INTO formerNames(userId, name) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [.text(renamed.userID), .text(former)])
    }

    /// Continues with one former name.
    /// - Returns: whether more work may remain.
    package static func goOn(in transaction: StoreTransaction) throws -> Bool {
        guard let row = try transaction.rows("SELECT userId, name FROM formerNames LIMIT 1").first else { return false }
        let (userId, former) = (try row.text("userId"), try row.text("name"))
        let newest = try transaction.rows("SELECT name FROM renamedAuthors WHERE userId = ?", [.text(userId)])
            .first?.text("name")
        if let newest, newest != former {
            guard try rename(former, newest, of: userId, in: transaction) < reviewsMax else { return true }
        }
        _ = try transaction.execute(
            "DELETE FROM formerNames WHERE userId = ? AND name = ?", [.text(userId), .text(former)])
        return true
    }

    /// - Returns: the number of changed reviews, at most `reviewsMax`.
    private static func rename(
        _ former: String, _ newest: String, of userId: String, in transaction: StoreTransaction
    ) throws -> Int {
        let named: JSON = ["user": .pointer("_User", userId), "authorName": .string(former)]
        let reviews = try transaction.documents(
            Query(className: "ProductReview", where: named, limit: reviewsMax, keys: ["updatedAt"]), caller: .master)
        for review in reviews {
            guard let id = review["objectId"]?.stringValue else { throw ParseError.internalError }
            // The review keeps its `updatedAt`.
            let changes: JSON = [
                "authorName": newest.isEmpty ? ["__op": "Delete"] : .string(newest),
                "updatedAt": review["updatedAt"] ?? .null,
            ]
            _ = try transaction.update("ProductReview", id, changes, keepsTimes: true, caller: .master)
        }
        return reviews.count
    }

    static func forget(user userId: String, in transaction: StoreTransaction) throws {
        for table in ["renamedAuthors", "formerNames"] {
            _ = try transaction.execute("DELETE FROM \(table) WHERE userId = ?", [.text(userId)])
        }
    }
}
