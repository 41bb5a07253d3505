import ObjectStore
import ParseProtocol
import ServiceKit

/// The removal of what goes with a deleted product: its reviews and favourites. So many as one transaction should hold
/// go in the transaction that deletes the product; the writer removes the rest of a very popular product in the
/// background, also after a crash.
package enum ProductRemoval {
    /// Objects that one transaction removes: other writes wait meanwhile.
    package static let objectsMax = 10_000
    private static let classes = ["ProductReview", "FavoriteProduct"]

    static func removeDependents(of productId: String, in transaction: StoreTransaction) throws {
        try ProductRatings.forget(productId: productId, in: transaction)
        try HiddenAuthors.forget(product: productId, in: transaction)
        guard try !remove(productId, in: transaction) else { return }
        _ = try transaction.execute(
            "INSERT INTO removedProducts(productId) VALUES (?) ON CONFLICT DO NOTHING", [.text(productId)])
    }

    /// Goes on with what was left.
    /// - Returns: whether there is more.
    package static func goOn(in transaction: StoreTransaction) throws -> Bool {
        guard let productId = try transaction.rows("SELECT productId FROM removedProducts LIMIT 1").first?.text(0)
        else {
            return false
        }
        if try remove(productId, in: transaction) {
            _ = try transaction.execute("DELETE FROM removedProducts WHERE productId = ?", [.text(productId)])
        }
        return true
    }

    /// - Returns: whether nothing is left.
    private static func remove(_ productId: String, in transaction: StoreTransaction) throws -> Bool {
        var room = objectsMax
        for className in classes {
            let dependents = Query(
                className: className, where: ["product": .pointer("Product", productId)], limit: room,
                keys: ["objectId"])
            for document in try transaction.documents(dependents, caller: .master) {
                guard let id = document["objectId"]?.stringValue else { continue }
                _ = try transaction.delete(className, id, caller: .master)
                if className == "ProductReview" { try ReviewReports.forget(review: id, in: transaction) }
                room -= 1
            }
            if room <= 0 { return false }
        }
        return true
    }
}
