import ObjectStore
import ParseProtocol
import ServiceKit

/// The deletion of an account (`catalog.userDeleted.v1`): favourites belong to the user alone and are deleted; reviews
/// stay, with their ratings but without the name.
package enum AccountDeletion {
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        try transaction.forEach("FavoriteProduct", of: userId, "customer") { id, _ in
            _ = try transaction.delete("FavoriteProduct", id, caller: .master)
        }
        try transaction.forEach("ProductReview", of: userId, "user") { id, review in
            let changes: JSON = [
                "user": ["__op": "Delete"], "authorName": ["__op": "Delete"],
                "ACL": (ReviewModeration(of: review) ?? .hidden).acl(author: nil),
            ]
            _ = try transaction.update("ProductReview", id, changes, caller: .master)
        }
        try ReviewReports.forget(user: userId, in: transaction)
        try HiddenAuthors.forget(user: userId, in: transaction)
        try AuthorRenames.forget(user: userId, in: transaction)
        try StockLedger.forget(user: userId, in: transaction)
    }
}
