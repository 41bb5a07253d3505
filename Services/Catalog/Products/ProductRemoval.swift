import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Removes the reviews and favourites of a deleted product. The transaction that deletes the product removes as many as
/// fit the limit. The writer removes the rest of a very popular product in the background, also after a crash.
package enum ProductRemoval {
    /// Maximum objects that one transaction removes, because other writes wait meanwhile.
    package static let objectsMax = 10_000
    private static let classes = ["ProductReview", "FavoriteProduct"]

    /// The bag stores the product's name in its lines that have none.
    static func tellBag(
        of productId: String, _ product: JSON?, _ outbox: Outbox, in transaction: StoreTransaction
    ) throws {
        guard let name = product?["name"]?.stringValue, (1...Product.nameBytesMax).contains(name.utf8.count) else {
            return
        }
        let deleted = ProductDeleted.with {
            $0.productID = productId
            $0.name = name
        }
        try outbox.add(BagCalls.productDeleted, deleted, key: "product:\(productId):deleted", in: transaction)
    }

    static func removeDependents(of productId: String, in transaction: StoreTransaction) throws {
        try ProductRatings.forget(productId: productId, in: transaction)
        try HiddenAuthors.forget(product: productId, in: transaction)
        guard try !remove(productId, in: transaction) else { return }
        _ = try transaction.execute(
            "INSERT INTO removedProducts(productId) VALUES (?) ON CONFLICT DO NOTHING", [.text(productId)])
    }

    /// Continues an unfinished removal.
    /// - Returns: whether more remains.
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
