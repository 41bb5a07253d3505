import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// A page of bag's `soldOrders`, with which `scripts/verify --rebuild sales` writes the sales anew. The page replaces
/// the sales of all orders in its range. The last page also adds up the sums by hour again.
package struct SalesRebuild: Sendable {
    private struct Sale: Sendable {
        let made: OrderMade
        let changes: [OrderChanged]
    }

    private let sales: [Sale]
    /// The range: the orders after `after`, up to `until`; nil for the last page.
    private let after: String
    private let until: String?
    /// When bag read the page.
    private let readAt: Int64

    /// Messages of bag about orders of the last minute before the page was read may have arrived before the page, or
    /// not yet: their rows stay.
    private static let youngest: Int64 = 60_000
    private static let salesMax = 1000

    /// - Throws: `.validationError` (142) for anything but such a page.
    package init(_ parameters: JSON) throws {
        guard let after = parameters["after"]?.stringValue, let readAt = parameters["at"]?.intValue,
            let sales = parameters["sales"]?.arrayValue, sales.count <= Self.salesMax
        else { throw ParseError(.validationError, "after, at and sales must be those of soldOrders.") }
        self.after = after
        self.readAt = readAt
        until = try parameters.textParameter("until")
        self.sales = try sales.map { sale in
            guard let made = OrderMade(sale) else { throw Self.invalidSale }
            let changes = try (sale["changes"]?.arrayValue ?? []).map { change in
                guard let changed = OrderChanged(change, of: made) else { throw Self.invalidSale }
                return changed
            }
            return Sale(made: made, changes: changes)
        }
    }

    private static let invalidSale = ParseError(.validationError, "A sale must be one of soldOrders.")

    /// The number of sales in the page.
    package var count: Int { sales.count }

    package func write(zone: ShopZone = .utc, in transaction: StoreTransaction) throws {
        try removeOthers(in: transaction)
        for sale in sales {
            if try SalesLog.restate(sale.made, in: transaction) {
                try PushTaps.credit(order: sale.made.orderID, in: transaction)
            }
            try transaction.execute(
                "DELETE FROM refunds WHERE orderId = ? AND changedAt < ?",
                [.text(sale.made.orderID), .int(readAt - Self.youngest)])
            for change in sale.changes { _ = try SalesLog.insert(change, in: transaction) }
        }
        if until == nil { try SalesLog.addUpHours(zone, in: transaction) }
    }

    /// Removes the sales of orders that bag does not have. Refunds without a sale belong to orders that were paid
    /// elsewhere, and stay.
    private func removeOthers(in transaction: StoreTransaction) throws {
        let ids = JSON.array(sales.map { .string($0.made.orderID) }).serializedText
        let condition = """
            orderId > ? \(until == nil ? "" : "AND orderId <= ?") AND madeAt < ?
            AND orderId\(transaction.dialect.isNotIn("?", as: .text))
            """
        let arguments: [SQLValue] =
            [.text(after)] + (until.map { [.text($0)] } ?? []) + [.int(readAt - Self.youngest), .text(ids)]
        try transaction.execute(
            "DELETE FROM refunds WHERE orderId IN (SELECT orderId FROM sales WHERE \(condition))", arguments)
        try transaction.execute("DELETE FROM sales WHERE \(condition)", arguments)
    }
}

extension OrderMade {
    fileprivate init?(_ sale: JSON) {
        guard let orderId = sale["orderId"]?.stringValue, !orderId.isEmpty,
            let number = sale["orderNumber"]?.intValue, let userId = sale["userId"]?.stringValue,
            let total = sale["totalMinorUnits"]?.intValue, let currency = sale["currency"]?.stringValue,
            let pieces = sale["pieces"]?.intValue, let madeAt = sale["madeAt"]?.intValue
        else { return nil }
        self.init()
        (orderID, orderNumber, userID) = (orderId, number, userId)
        (totalMinorUnits, self.currency, self.pieces) = (total, currency, UInt32(clamping: pieces))
        self.madeAt = madeAt
    }
}

extension OrderChanged {
    fileprivate init?(_ change: JSON, of order: OrderMade) {
        guard let status = change["status"]?.intValue, let refunded = change["refundedMinorUnits"]?.intValue,
            let changedAt = change["changedAt"]?.intValue
        else { return nil }
        self.init()
        (orderID, currency) = (order.orderID, order.currency)
        (self.status, refundedMinorUnits, self.changedAt) = (Int32(clamping: status), refunded, changedAt)
    }
}
