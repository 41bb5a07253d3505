import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Returns goods of cancelled or refunded orders to stock (`catalog.restock.v1`). Idempotent by the restock's id, which
/// is stored permanently: the same goods return once.
package enum Restocks {
    /// Adds the lines to the stock. A product that was deleted or whose stock is no longer counted has no stock to
    /// return to.
    /// - Throws: `.validationError` (142) for a request that exceeds a limit.
    package static func add(_ request: RestockRequest, in transaction: StoreTransaction) throws {
        guard (1...128).contains(request.restockID.utf8.count) else {
            throw ParseError(.validationError, "A restock's id has 1 to 128 bytes.")
        }
        guard (1...PriceList.linesMax).contains(request.lines.count),
            request.lines.allSatisfy({ PriceList.quantities.contains($0.quantity) })
        else {
            throw ParseError(.validationError, "A restock has 1 to \(PriceList.linesMax) lines of 1 to 999 pieces.")
        }
        let taken = try taken(of: request.reservationID, in: transaction)
        let isNew = try transaction.execute(
            "INSERT INTO restocks(id, restockedAt) VALUES (?, ?) ON CONFLICT(id) DO NOTHING",
            [.text(request.restockID), .int(transaction.now.milliseconds)])
        guard isNew == 1 else { return }
        let named = Dictionary(request.lines.map { ($0.productID, Int64($0.quantity)) }, uniquingKeysWith: +)
        var pieces = request.isPart ? named : taken ?? named
        if let taken {
            pieces = try rest(of: pieces, taken, request.reservationID, in: transaction)
        }
        for (productId, count) in pieces where count > 0 {
            let product = try transaction.documentIfFound("Product", productId, caller: .master)
            guard product?["stock"]?.intValue != nil else { continue }
            try StockLedger.change(productId, by: count, .returned, of: request.reservationID, in: transaction)
        }
    }

    /// The pieces that may return: at most what the reservation took and did not return before. Records them.
    private static func rest(
        of pieces: [String: Int64], _ taken: [String: Int64], _ reservationId: String, in transaction: StoreTransaction
    ) throws -> [String: Int64] {
        let rows = try transaction.rows(
            "SELECT productId, pieces FROM restockedPieces WHERE reservationId = ?", [.text(reservationId)])
        let returned = Dictionary(try rows.map { try ($0.text("productId"), $0.int("pieces")) }) { first, _ in first }
        var rest: [String: Int64] = [:]
        for (productId, count) in pieces {
            let returns = min(count, (taken[productId] ?? 0) - (returned[productId] ?? 0))
            guard returns > 0 else { continue }
            rest[productId] = returns
            try transaction.execute(
                """
                INSERT INTO restockedPieces(reservationId, productId, pieces) VALUES (?, ?, ?)
                ON CONFLICT(reservationId, productId) DO UPDATE SET pieces = restockedPieces.pieces + excluded.pieces
                """, [.text(reservationId), .text(productId), .int(returns)])
        }
        return rest
    }

    /// The pieces that the reservation took out of stock, by product: an order that got only the remaining stock
    /// returns no more than that. Nil when the reservation is no longer stored.
    /// - Throws: `.serviceUnavailable` (2) while the sale is not committed; its message may arrive after this one.
    private static func taken(of reservationId: String, in transaction: StoreTransaction) throws -> [String: Int64]? {
        guard !reservationId.isEmpty,
            let row = try transaction.rows("SELECT state FROM reservations WHERE id = ?", [.text(reservationId)]).first
        else { return nil }
        guard try row.text("state") == "committed" else {
            throw ParseError(.serviceUnavailable, "The sale is not committed yet.")
        }
        let lines = try transaction.rows(
            "SELECT productId, SUM(taken) AS pieces FROM reservationLines WHERE reservationId = ? GROUP BY productId",
            [.text(reservationId)])
        return Dictionary(try lines.map { try ($0.text("productId"), $0.int("pieces")) }, uniquingKeysWith: +)
    }
}
