import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// A line of a reservation as stored, with the pieces that it took out of stock.
struct ReservedLine {
    let index: Int64
    let priced: PricedLine
    let taken: Int64

    init(_ row: SQLRow) throws {
        index = try row.int("line")
        taken = try row.int("taken")
        priced = try PricedLine.with {
            $0.productID = try row.text("productId")
            $0.quantity = try UInt32(clamping: row.int("quantity"))
            $0.unitPriceMinorUnits = try row.int("unitPriceMinorUnits")
            $0.name = try row.text("name")
        }
    }
}

/// The changes of stock. Values that a transaction read are still current when it commits: there is a single writer, or
/// the transaction is serializable and is retried after a conflict.
extension Reservations {
    func state(of id: String, in transaction: StoreTransaction) throws -> ReservationState? {
        try transaction.rows("SELECT state FROM reservations WHERE id = ?", [.text(id)]).first
            .flatMap { try ReservationState(rawValue: $0.text("state")) }
    }

    /// - Parameter orderId: of a new reservation.
    func set(
        _ id: String, _ state: ReservationState, expiresAt: Timestamp? = nil, orderId: String = "",
        in transaction: StoreTransaction
    ) throws {
        let now = SQLValue.int(transaction.now.milliseconds)
        _ = try transaction.execute(
            """
            INSERT INTO reservations(id, state, expiresAt, changedAt, orderId) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT(id) DO UPDATE SET state = excluded.state, expiresAt = excluded.expiresAt, \
            changedAt = excluded.changedAt
            """,
            [.text(id), .text(state.rawValue), expiresAt.map { .int($0.milliseconds) } ?? now, now, .text(orderId)])
    }

    /// Extends a reservation; never shortens it.
    func extend(_ id: String, to expiresAt: Timestamp, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            "UPDATE reservations SET expiresAt = ?1 WHERE id = ?2 AND expiresAt < ?1",
            [.int(expiresAt.milliseconds), .text(id)])
    }

    func lines(of id: String, in transaction: StoreTransaction) throws -> [ReservedLine] {
        try transaction.rows("SELECT * FROM reservationLines WHERE reservationId = ? ORDER BY line", [.text(id)])
            .map(ReservedLine.init)
    }

    func take(
        _ line: OrderLine, index: Int, for request: ReserveRequest, caller: Caller, in transaction: StoreTransaction
    ) throws {
        let document = try transaction.document("Product", line.productID, caller: caller)
        guard let product = Product(document: document, currency: currency) else { throw ParseError.objectNotFound }
        let taken = try take(
            Int64(line.quantity), of: product, line.productID, for: request.reservationID, orderId: request.orderID,
            in: transaction)
        _ = try transaction.execute(
            """
            INSERT INTO reservationLines(reservationId, line, productId, quantity, unitPriceMinorUnits, name, taken)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(request.reservationID), .int(Int64(index)), .text(line.productID), .int(Int64(line.quantity)),
                .int(product.unitPriceMinorUnits), .text(product.name), .int(taken),
            ])
    }

    /// Takes the goods of a line out of stock again, at the line's stored price.
    func takeAgain(_ line: ReservedLine, for id: String, in transaction: StoreTransaction) throws {
        let productId = line.priced.productID
        let document = try transaction.document("Product", productId, caller: .master)
        guard let product = Product(document: document, currency: currency) else { throw ParseError.objectNotFound }
        let taken = try take(Int64(line.priced.quantity), of: product, productId, for: id, in: transaction)
        try setTaken(taken, line.index, of: id, in: transaction)
    }

    /// Takes as many pieces of a sold line as are left.
    /// - Returns: the number of missing pieces.
    func takeRemaining(_ line: ReservedLine, for id: String, in transaction: StoreTransaction) throws -> Int64 {
        let productId = line.priced.productID
        let quantity = Int64(line.priced.quantity)
        guard let product = try transaction.documentIfFound("Product", productId, caller: .master) else {
            return quantity
        }
        guard let stock = product["stock"]?.intValue else { return 0 }
        let taken = min(max(stock, 0), quantity)
        try StockLedger.change(productId, by: -taken, .sold, of: id, in: transaction)
        try setTaken(taken, line.index, of: id, in: transaction)
        return quantity - taken
    }

    func putBack(_ id: String, _ reason: StockLedger.Reason, in transaction: StoreTransaction) throws {
        for line in try lines(of: id, in: transaction) where line.taken > 0 {
            // A product that was deleted or whose stock is no longer counted has no stock to return to.
            let product = try transaction.documentIfFound("Product", line.priced.productID, caller: .master)
            if product?["stock"]?.intValue != nil {
                try StockLedger.change(line.priced.productID, by: line.taken, reason, of: id, in: transaction)
            }
            try setTaken(0, line.index, of: id, in: transaction)
        }
    }

    private func take(
        _ quantity: Int64, of product: Product, _ productId: String, for id: String, orderId: String? = nil,
        in transaction: StoreTransaction
    ) throws -> Int64 {
        guard let stock = product.stock else { return 0 }
        guard stock >= quantity else {
            throw InsufficientStock(name: product.name, available: max(stock, 0)).error(of: productId)
        }
        try StockLedger.change(productId, by: -quantity, .reserved, of: id, orderId: orderId, in: transaction)
        return quantity
    }

    private func setTaken(_ taken: Int64, _ index: Int64, of id: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            "UPDATE reservationLines SET taken = ? WHERE reservationId = ? AND line = ?",
            [.int(taken), .text(id), .int(index)])
    }
}
