import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Goods that come back from orders that were cancelled or refunded (`catalog.restock.v1`). Idempotent by the restock's id, which is
/// kept for good: the same goods come back once.
package enum Restocks {
    package static let tables = [
        "CREATE TABLE IF NOT EXISTS restocks(id TEXT PRIMARY KEY, restockedAt INTEGER NOT NULL) WITHOUT ROWID"
    ]

    /// Puts the lines back into stock. A product that was deleted, or that is no longer counted, has no stock to go back to.
    /// - Throws: 142 for a request that is out of bounds.
    package static func add(_ request: RestockRequest, in transaction: StoreTransaction) throws {
        guard (1...128).contains(request.restockID.utf8.count) else {
            throw ParseError(.validationError, "A restock's id has 1 to 128 bytes.")
        }
        guard (1...PriceList.linesMax).contains(request.lines.count),
            request.lines.allSatisfy({ PriceList.quantities.contains($0.quantity) })
        else {
            throw ParseError(.validationError, "A restock has 1 to \(PriceList.linesMax) lines of 1 to 999 pieces.")
        }
        let isNew = try transaction.execute(
            "INSERT INTO restocks(id, restockedAt) VALUES (?, ?) ON CONFLICT(id) DO NOTHING",
            [.text(request.restockID), .int(transaction.now.milliseconds)])
        guard isNew == 1 else { return }
        for line in request.lines {
            let product = try transaction.documentIfFound("Product", line.productID, caller: .master)
            guard product?["stock"]?.intValue != nil else { continue }
            _ = try transaction.update(
                "Product", line.productID, ["stock": ["__op": "Increment", "amount": .int(Int64(line.quantity))]],
                caller: .master)
        }
    }
}
