import Messages
import ObjectStore
import ParseProtocol

/// The pieces of an order that a refund is for, by line: the parameter `lines` of `refundOrder`.
package struct RefundLines: Sendable, Equatable {
    /// Pieces by the id of their `OrderItem`; empty when the refund names none.
    package let pieces: [String: Int]

    private static let linesMax = 200

    package init(_ pieces: [String: Int] = [:]) { self.pieces = pieces }

    /// - Parameter value: `[{itemId, quantity}]`, 1 to 200 different lines.
    /// - Throws: `.validationError` (142) for anything else.
    package init(_ value: JSON?) throws {
        guard let value, !value.isNull else {
            self.init()
            return
        }
        guard let lines = value.arrayValue, (1...Self.linesMax).contains(lines.count) else {
            throw ParseError(.validationError, "lines must be a list of 1 to \(Self.linesMax) objects.")
        }
        var pieces: [String: Int] = [:]
        for line in lines {
            guard let id = line["itemId"]?.stringValue, let quantity = line["quantity"]?.intValue,
                (1...Int64(Quantity.max)).contains(quantity), pieces.updateValue(Int(quantity), forKey: id) == nil
            else {
                throw ParseError(
                    .validationError,
                    "Each of lines is {\"itemId\": …, \"quantity\": 1 to \(Quantity.max)}, each item once.")
            }
        }
        self.init(pieces)
    }

    /// From the column `refunds.lines`.
    init(stored text: String?) throws {
        guard let text else {
            self.init()
            return
        }
        try self.init(JSON(parsing: text))
    }

    package var isEmpty: Bool { pieces.isEmpty }

    /// Whether other lines name all of these pieces.
    func isPart(of other: RefundLines) -> Bool {
        pieces.allSatisfy { $0.value <= other.pieces[$0.key] ?? 0 }
    }

    /// Sorted by item, so that equal lines have equal texts.
    var json: JSON {
        .array(
            pieces.sorted { $0.key < $1.key }.map {
                ["itemId": .string($0.key), "quantity": .int(Int64($0.value))]
            })
    }

    /// What was paid for these pieces, after the discount.
    /// - Parameter claimed: pieces that earlier refunds name.
    /// - Throws: `.validationError` (142) for a line that the order does not have, and for more pieces than remain.
    func amount(in priced: PricedOrder, claimed: [String: Int]) throws -> Int64 {
        let lines = Dictionary(priced.lines.map { ($0.itemId, $0) }) { first, _ in first }
        return try pieces.reduce(0) { sum, piece in
            guard let line = lines[piece.key] else {
                throw ParseError(.validationError, "The order has no line \(piece.key).")
            }
            let before = claimed[piece.key] ?? 0
            let left = line.quantity - before
            guard piece.value <= left else {
                throw ParseError(
                    .validationError, "\(left) of \(line.quantity) pieces of \(line.name) are left to refund.")
            }
            return sum + line.paid(for: piece.value, after: before)
        }
    }
}

extension RefundLedger {
    /// Whether a reversed refund has returned goods to stock.
    static func isInStock(_ row: SQLRow) throws -> Bool { try wasReversed(row) && row.int("restock") == 1 }

    /// - Throws: `.validationError` (142) when refunds, one of which the bank reversed, returned all goods to stock.
    static func requireGoods(of order: OrderRecord, in store: ObjectReader) throws {
        guard let payment = order.payment, try rows(of: order.objectId, in: store).contains(where: isInStock),
            try ClaimedPieces(of: order.objectId, in: store).areAll(of: payment.priced)
        else { return }
        throw ParseError(
            .validationError, "The goods of this order were returned to stock with a refund. Cancel the order.")
    }

    /// The newest refund that names pieces of a line of which `lines` needs more than are left; nil when enough are
    /// left.
    static func refund(claiming lines: RefundLines, of order: OrderRecord, in store: ObjectReader) throws -> String? {
        let claimed = try ClaimedPieces(of: order.objectId, in: store).claimed
        let missing = (order.payment?.priced.lines ?? []).filter {
            (lines.pieces[$0.itemId] ?? 0) + (claimed[$0.itemId] ?? 0) > $0.quantity
        }
        return try rows(of: order.objectId, in: store).last { row in
            guard try row.text("state") != "failed" else { return false }
            let pieces = try RefundLines(stored: row["lines"].textValue).pieces
            return missing.contains { pieces[$0.itemId] != nil }
        }?.text("id")
    }

    /// - Throws: `.validationError` (142) when a reversed refund has already returned pieces to stock that another
    ///   refund will return.
    static func requireOutOfStock(_ lines: RefundLines, of order: OrderRecord, in store: ObjectReader) throws {
        let pieces = try ClaimedPieces(of: order.objectId, in: store)
        for line in order.payment?.priced.lines ?? [] {
            let known = min(pieces.inStock(line.itemId), lines.pieces[line.itemId] ?? 0)
            guard known > 0 else { continue }
            throw ParseError(
                .validationError,
                """
                \(known) of these pieces of \(line.name) are in stock already: an earlier refund, which the bank \
                reversed, returned them. Refund them without restock.
                """)
        }
    }
}

/// The pieces that the pending and done refunds of an order claim. Goods that a reversed refund returned stay in stock,
/// and the next refund is assumed to be for them.
struct ClaimedPieces {
    /// Pieces that these refunds name, by line.
    private(set) var claimed: [String: Int] = [:]
    /// Pieces that these refunds return to stock, by line; nil when a refund without lines returns all.
    private(set) var restocked: [String: Int]? = [:]

    /// Pieces of a line that are in stock and that no refund claims.
    func inStock(_ itemId: String) -> Int { max(0, (restocked?[itemId] ?? 0) - (claimed[itemId] ?? 0)) }

    /// Whether all pieces of the order are claimed or in stock.
    func areAll(of order: PricedOrder) -> Bool {
        guard let restocked else { return true }
        return order.lines.allSatisfy {
            max(restocked[$0.itemId] ?? 0, claimed[$0.itemId] ?? 0) >= $0.quantity
        }
    }

    /// - Parameter id: a refund that is left out.
    init(of orderId: String, except id: String? = nil, in store: ObjectReader) throws {
        for row in try RefundLedger.rows(of: orderId, in: store) {
            let hasFailed = try row.text("state") == "failed"
            guard try !hasFailed || RefundLedger.wasReversed(row), try row.text("id") != id else { continue }
            let lines = try RefundLines(stored: row["lines"].textValue)
            if !hasFailed { claimed.merge(lines.pieces, uniquingKeysWith: +) }
            guard try row.int("restock") == 1 else { continue }
            if lines.isEmpty { restocked = nil } else { restocked?.merge(lines.pieces, uniquingKeysWith: +) }
        }
    }
}
