import ObjectStore
import ParseProtocol
import ServiceKit

/// What sold in a period, by product, in one currency: the lines of the orders placed in it, and the refunds made in
/// it. The sums are computed from all orders, so they also count imported and changed ones.
package struct ProductSales: Sendable {
    package struct Sum: Sendable, Equatable {
        /// The newest name in the lines; empty when they have none.
        package var name: String
        package var pieces: Int64
        /// After discounts.
        package var grossMinorUnits: Int64
        package var refundedMinorUnits: Int64

        package var netMinorUnits: Int64 { grossMinorUnits &- refundedMinorUnits }

        package init(
            name: String = "", pieces: Int64 = 0, grossMinorUnits: Int64 = 0, refundedMinorUnits: Int64 = 0
        ) {
            self.name = name
            self.pieces = pieces
            self.grossMinorUnits = grossMinorUnits
            self.refundedMinorUnits = refundedMinorUnits
        }

        /// No overflow check: a shop's sums stay far below 2^63.
        mutating func add(_ other: Sum) {
            if !other.name.isEmpty { name = other.name }
            pieces &+= other.pieces
            grossMinorUnits &+= other.grossMinorUnits
            refundedMinorUnits &+= other.refundedMinorUnits
        }

        var json: JSON {
            [
                "pieces": .int(pieces), "grossMinorUnits": .int(grossMinorUnits),
                "refundedMinorUnits": .int(refundedMinorUnits), "netMinorUnits": .int(netMinorUnits),
            ]
        }
    }

    /// By the objectId of the product; empty for lines without a product.
    package private(set) var sums: [String: Sum] = [:]

    package init() {}

    package mutating func add(_ sum: Sum, to id: String) { sums[id, default: Sum()].add(sum) }

    package mutating func add(_ other: ProductSales) {
        for (id, sum) in other.sums { add(sum, to: id) }
    }

    /// The best sellers by net sales, the sum of all others with their number, and the total.
    package func json(limit: Int) -> JSON {
        let ranked = sums.sorted {
            ($1.value.netMinorUnits, $1.value.pieces, $0.key) < ($0.value.netMinorUnits, $0.value.pieces, $1.key)
        }
        var (others, total) = (Sum(), Sum())
        for (_, sum) in ranked { total.add(sum) }
        for (_, sum) in ranked.dropFirst(limit) { others.add(sum) }
        var rest = others.json
        rest["count"] = .int(Int64(max(0, ranked.count - limit)))
        let results = ranked.prefix(limit).map { id, sum in
            var row = sum.json
            row["objectId"] = .string(id)
            row["name"] = .string(sum.name)
            return row
        }
        return ["results": .array(results), "others": rest, "total": total.json]
    }
}

/// Reads the sums of one currency.
package struct ProductSalesReading: Sendable {
    /// Orders that are read at once.
    private static let pageOrders = 2000
    /// Lines that are read at once.
    private static let pageLines = 5000

    private let currency: String
    /// The shop's currency, in which an order without a currency was paid.
    private let shopCurrency: String

    package init(currency: Currency, shopCurrency: Currency) {
        self.currency = currency.code
        self.shopCurrency = shopCurrency.code
    }

    // MARK: Orders

    /// The orders placed from `from` to before `to`. A refunded amount without a row in `refunds`, as in imported
    /// orders, counts in the order's period.
    package func orders(from: Timestamp, to: Timestamp, in store: ObjectReader) throws -> ProductSales {
        // `$ne` instead of `= 1`, so that SQLite uses the index on `orderDate` and not the one on `orderStatus`.
        let placed: JSON = [
            "orderStatus": ["$ne": .int(OrderStatus.open.wireStatus)],
            "orderDate": ["$gte": from.wire, "$lt": to.wire],
        ]
        var sales = ProductSales()
        var query = Query(
            className: "Order", where: placed, order: ["orderDate"], limit: Self.pageOrders,
            keys: ["items", "currency", "refundedTotal"])
        while true {
            let page = try store.documents(query, caller: .master)
            let orders = page.filter(isCounted)
            let lines = try self.lines(of: orders, in: store)
            for order in orders {
                let lines = order.itemIds.compactMap { lines[$0] }
                for line in lines {
                    let sum = ProductSales.Sum(
                        name: line.name, pieces: Int64(line.quantity), grossMinorUnits: line.paidMinorUnits)
                    sales.add(sum, to: line.productId)
                }
                try addUnrecorded(order, lines, to: &sales, in: store)
            }
            guard page.count == Self.pageOrders else { return sales }
            query.skip += Self.pageOrders
        }
    }

    private func isCounted(_ order: JSON) -> Bool { order.orderCurrency(shopCurrency) == currency }

    private func addUnrecorded(
        _ order: JSON, _ lines: [PricedOrder.Line], to sales: inout ProductSales, in store: ObjectReader
    ) throws {
        guard let id = order["objectId"]?.stringValue, let total = order["refundedTotal"]?.intValue, total > 0 else {
            return
        }
        let recorded = try Self.refunds(of: id, in: store).reduce(Int64(0)) { $0 &+ $1.amount }
        guard total > recorded else { return }
        let paid = lines.map(\.paidMinorUnits)
        add(Self.shares(of: total &- recorded, over: paid), of: lines, to: &sales)
    }

    // MARK: Refunds

    /// The refunds that were done from `from` to before `to`.
    package func refunds(from: Timestamp, to: Timestamp, in store: ObjectReader) throws -> ProductSales {
        var sales = ProductSales()
        var last = ""
        while true {
            let ids = try store.rows(
                """
                SELECT DISTINCT orderId FROM refunds WHERE orderId > ? AND state = 'done'
                AND changedAt >= ? AND changedAt < ? ORDER BY orderId LIMIT ?
                """,
                [.text(last), .int(from.milliseconds), .int(to.milliseconds), .int(Int64(Self.pageOrders))]
            ).map { try $0.text("orderId") }
            guard let end = ids.last else { return sales }
            last = end
            let orders = try store.fetch("Order", ids: ids, keys: ["items", "currency"], caller: .master)
                .map { try JSON(parsing: $0.document) }.filter(isCounted)
            let lines = try self.lines(of: orders, in: store)
            for order in orders {
                guard let id = order["objectId"]?.stringValue else { continue }
                try addRefunds(
                    of: id, order.itemIds.compactMap { lines[$0] }, from: from, to: to, to: &sales, in: store)
            }
        }
    }

    /// Adds the refunds of an order that were done in the period. The earlier ones decide how much of each line is
    /// left.
    private func addRefunds(
        of orderId: String, _ lines: [PricedOrder.Line], from: Timestamp, to: Timestamp,
        to sales: inout ProductSales, in store: ObjectReader
    ) throws {
        var left = lines.map(\.paidMinorUnits)
        var before: [String: Int] = [:]
        for refund in try Self.refunds(of: orderId, in: store) {
            let named = refund.lines.pieces
            var weights = left
            if !named.isEmpty {
                weights = lines.indices.map { index in
                    let id = lines[index].itemId
                    return min(left[index], lines[index].paid(for: named[id] ?? 0, after: before[id] ?? 0))
                }
                before.merge(named, uniquingKeysWith: +)
                // The operator refunded more than these pieces cost.
                if weights.reduce(0, +) < refund.amount { weights = left }
            }
            let shares = Self.shares(of: refund.amount, over: weights)
            for index in shares.indices { left[index] -= shares[index] }
            if refund.changedAt >= from, refund.changedAt < to { add(shares, of: lines, to: &sales) }
        }
    }

    private func add(_ shares: [Int64], of lines: [PricedOrder.Line], to sales: inout ProductSales) {
        for (line, share) in zip(lines, shares) where share > 0 {
            sales.add(.init(name: line.name, refundedMinorUnits: share), to: line.productId)
        }
    }

    /// Splits an amount over the lines in proportion to the weights.
    private static func shares(of amount: Int64, over weights: [Int64]) -> [Int64] {
        DiscountTerms.distribute(min(max(0, amount), weights.reduce(0, +)), over: weights)
    }

    private struct DoneRefund {
        let amount: Int64
        let lines: RefundLines
        let changedAt: Timestamp
    }

    /// The refunds of an order that are done, oldest first.
    private static func refunds(of orderId: String, in store: ObjectReader) throws -> [DoneRefund] {
        try RefundLedger.rows(of: orderId, in: store).filter { try $0.text("state") == "done" }.map { row in
            try DoneRefund(
                amount: row.int("amount"), lines: RefundLines(stored: row["lines"].textValue),
                changedAt: Timestamp(milliseconds: row.int("changedAt")))
        }
    }

    // MARK: Lines

    private func lines(of orders: [JSON], in store: ObjectReader) throws -> [String: PricedOrder.Line] {
        let ids = orders.flatMap(\.itemIds)
        var lines: [String: PricedOrder.Line] = [:]
        for start in stride(from: 0, to: ids.count, by: Self.pageLines) {
            let some = Array(ids[start..<min(start + Self.pageLines, ids.count)])
            let found = try store.fetch(
                "OrderItem", ids: some,
                keys: ["product", "name", "quantity", "unitPriceMinorUnits", "discountMinorUnits"], caller: .master)
            for (id, text) in found { lines[id] = Self.line(id, try JSON(parsing: text)) }
        }
        return lines
    }

    /// A line as it is stored; its customer may be deleted, and an import may lack a price.
    /// - Returns: nil for values that no line can have.
    private static func line(_ id: String, _ document: JSON) -> PricedOrder.Line? {
        guard let quantity = document["quantity"]?.intValue, (0...Int64(Quantity.max)).contains(quantity) else {
            return nil
        }
        let unit = min(max(0, document["unitPriceMinorUnits"]?.intValue ?? 0), Price.minorUnitsMax)
        let discount = min(max(0, document["discountMinorUnits"]?.intValue ?? 0), quantity * unit)
        return PricedOrder.Line(
            itemId: id, productId: document["product"]?.pointerTarget?.objectId ?? "",
            name: document["name"]?.stringValue ?? "", quantity: Int(quantity), unitPriceMinorUnits: unit,
            discountMinorUnits: discount)
    }
}
