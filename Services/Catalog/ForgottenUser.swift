import ObjectStore
import ParseProtocol
import ServiceKit

/// `catalog.userDeleted.v1`: an account is gone. Favourites were only the user's and go; reviews stay, with their ratings and
/// without the name.
package enum ForgottenUser {
    /// Objects looked up at once.
    private static let pageSize = 500

    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        let user = JSON.pointer("_User", userId)
        try forEach("FavoriteProduct", ["customer": user], in: transaction) { favorite, id in
            _ = try transaction.delete("FavoriteProduct", id, caller: .master)
        }
        try forEach("ProductReview", ["user": user], in: transaction) { review, id in
            let changes: JSON = [
                "user": ["__op": "Delete"], "authorName": ["__op": "Delete"],
                "ACL": (ReviewModeration(of: review) ?? .hidden).acl(author: nil),
            ]
            _ = try transaction.update("ProductReview", id, changes, caller: .master)
        }
        try ReviewReports.forget(user: userId, in: transaction)
        try HiddenAuthors.forget(user: userId, in: transaction)
        try AuthorRenames.forget(user: userId, in: transaction)
    }

    /// Each page is looked up anew: what was done no longer matches.
    private static func forEach(
        _ className: String, _ condition: JSON, in transaction: StoreTransaction, _ body: (JSON, String) throws -> Void
    ) throws {
        var found: [JSON]
        repeat {
            found = try transaction.documents(
                Query(className: className, where: condition, limit: pageSize), caller: .master)
            for document in found { try body(document, document["objectId"]?.stringValue ?? "") }
        } while found.count == pageSize
    }
}
