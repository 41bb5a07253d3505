import ObjectStore
import ParseProtocol
import ServiceKit

/// Maintains `ratingAverage` and `ratingCount` of products. The sum is stored separately as an integer: every review
/// then costs the same, and rounding errors do not accumulate.
enum ProductRatings {
    /// Applies the change of one review; nil where there is no document before or after it.
    static func change(from before: JSON?, to after: JSON?, in transaction: StoreTransaction) throws {
        let old = before.flatMap(Rating.init)
        let new = after.flatMap(Rating.init)
        guard old != new else { return }
        if let old { try add(old, sign: -1, in: transaction) }
        if let new { try add(new, sign: 1, in: transaction) }
        for productId in Set([old?.productId, new?.productId].compactMap { $0 }) {
            try publish(productId, in: transaction)
        }
    }

    static func forget(productId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM productRatings WHERE productId = ?", [.text(productId)])
    }

    /// Recounts a product's ratings from its reviews.
    /// - Returns: whether the stored values were wrong.
    static func recount(_ productId: String, in transaction: StoreTransaction) throws -> Bool {
        var (total, count): (Int64, Int64) = (0, 0)
        var last = ""
        while true {
            let page = try transaction.documents(
                Query(
                    className: "ProductReview",
                    where: ["product": .pointer("Product", productId), "objectId": ["$gt": .string(last)]],
                    order: ["objectId"], limit: 1000), caller: .master)
            for rating in page.compactMap(Rating.init) {
                total += rating.stars
                count += 1
            }
            guard let end = page.last?["objectId"]?.stringValue else { break }
            last = end
        }
        let known = try transaction.rows(
            "SELECT total, count FROM productRatings WHERE productId = ?", [.text(productId)]
        ).first
        let product = try transaction.documentIfFound("Product", productId, caller: .master)
        let shown = product?["ratingCount"]?.intValue ?? 0
        var average: Double?
        if count > 0 { average = (Double(total) / Double(count) * 100).rounded() / 100 }
        let isRight =
            try (known?.int("total") ?? 0) == total && (known?.int("count") ?? 0) == count && shown == count
            && product?["ratingAverage"]?.doubleValue == average
        if isRight { return false }
        _ = try transaction.execute(
            """
            INSERT INTO productRatings(productId, total, count) VALUES (?1, ?2, ?3)
            ON CONFLICT(productId) DO UPDATE SET total = ?2, count = ?3
            """, [.text(productId), .int(total), .int(count)])
        try publish(productId, in: transaction)
        return true
    }

    private struct Rating: Equatable {
        let productId: String
        let stars: Int64

        /// Nil for a review without a rating, and for a hidden one.
        init?(_ review: JSON) {
            guard let productId = review["product"]?.pointerTarget?.objectId, let stars = review["rating"]?.intValue,
                ReviewModeration(of: review) == .visible
            else {
                return nil
            }
            self.productId = productId
            self.stars = stars
        }
    }

    private static func add(_ rating: Rating, sign: Int64, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            """
            INSERT INTO productRatings(productId, total, count) VALUES (?1, ?2, ?3)
            ON CONFLICT(productId) DO UPDATE SET total = productRatings.total + ?2,
            count = productRatings.count + ?3
            """, [.text(rating.productId), .int(sign * rating.stars), .int(sign)])
    }

    private static func publish(_ productId: String, in transaction: StoreTransaction) throws {
        // The product of an old review may have been deleted.
        guard try transaction.documentIfFound("Product", productId, caller: .master) != nil else {
            return try forget(productId: productId, in: transaction)
        }
        let row = try transaction.rows(
            "SELECT total, count FROM productRatings WHERE productId = ?", [.text(productId)]
        ).first
        let count = try row?.int("count") ?? 0
        var average: JSON = ["__op": "Delete"]
        if let row, count > 0 {
            average = try JSON(number: (Double(row.int("total")) / Double(count) * 100).rounded() / 100)
        }
        _ = try transaction.update(
            "Product", productId, ["ratingAverage": average, "ratingCount": .int(count)], caller: .master)
    }
}
