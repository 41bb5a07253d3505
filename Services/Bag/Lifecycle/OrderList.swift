import ObjectStore
import ParseProtocol
import ServiceKit

/// `orders {search?, status?, from?, to?, discountCode?, sort?, limit?, skip?}`: placed orders for the order desk and
/// support, with their lines and customer contacts.
///
/// Reads the entries of orders. Until all orders have one, a list without a search reads the class.
package struct OrderList: Sendable {
    package struct Page: Sendable {
        /// With whole lines in `items`.
        package let orders: [JSON]
        /// All matching orders.
        package let count: Int
        /// Whether the search may lack orders of earlier releases.
        package let isIncomplete: Bool
    }

    /// The query by which `fromClass` reads orders.
    private var classQuery: JSON
    private let order: [String]
    /// The SQL conditions by which `fromEntries` reads orders.
    private var entryConditions: [String] = []
    private var entryArguments: [SQLValue] = []
    private let sorting: String
    private let isSearch: Bool
    private let limit: Int64
    private let skip: Int64

    /// The column and the fields by which a list is sorted.
    private static let sorts = [
        "orderNo": ("orderNo", ["orderNo"]), "orderDate": ("orderedAt", ["orderDate"]), "total": ("total", ["total"]),
        "name": ("byName", ["shippingAddress.lastName", "shippingAddress.firstName"]),
    ]
    /// A page of orders with 200 lines each has several megabytes.
    private static let limitMax: Int64 = 100
    private static let skipMax: Int64 = 1_000_000
    private static let searchBytesMax = 200
    /// Compared words of a search; operators type fewer.
    private static let wordsMax = 6

    /// - Parameter parameters: `status` is an `orderState`, or the number that earlier releases used for it. `from`
    ///   (inclusive) and `to` (exclusive) bound the time when the order was placed, as ISO 8601 or Date objects.
    /// - Throws: `.validationError` (142) for other values.
    package init(_ parameters: JSON) throws {
        classQuery = ["orderStatus": ["$ne": .int(OrderStatus.open.wireStatus)]]
        let sorted = try Self.sorting(parameters["sort"])
        sorting = sorted.sql
        order = sorted.order
        limit = try parameters.listLimit(standard: 50, maximum: Self.limitMax)
        guard let skip = (parameters["skip"] ?? 0).intValue, (0...Self.skipMax).contains(skip) else {
            throw ParseError(.validationError, "skip must be a whole number from 0 to \(Self.skipMax).")
        }
        self.skip = skip
        let search = try parameters.textParameter("search", bytesMax: Self.searchBytesMax) ?? ""
        let words = CustomerProfile.words(of: search).prefix(Self.wordsMax)
        isSearch = !words.isEmpty
        for word in words {
            entryConditions.append("orderId IN (SELECT orderId FROM orderWords WHERE word >= ? AND word < ?)")
            // All words with the prefix sort below the prefix plus the highest character.
            entryArguments += [.text(word), .text(word + "\u{10FFFF}")]
        }
        if let value = parameters["status"], !value.isNull {
            guard let status = Self.status(value), let state = status.state else {
                let states = OrderStatus.ofMadeOrders.compactMap(\.state).joined(separator: ", ")
                throw ParseError(.validationError, "status must be one of \(states).")
            }
            // An imported order may be marked as placed by `orderStatus` alone.
            let others = OrderStatus.ofMadeOrders.filter { $0 != .made }.compactMap(\.state)
            classQuery["orderState"] = status == .made ? ["$nin": .array(others.map(JSON.string))] : .string(state)
            entryConditions.append("state = ?")
            entryArguments.append(.text(state))
        }
        let (from, to) = (try parameters.momentParameter("from"), try parameters.momentParameter("to"))
        if from != nil || to != nil {
            var dates: JSON = [:]
            dates["$gte"] = from?.wire
            dates["$lt"] = to?.wire
            classQuery["orderDate"] = dates
            entryConditions.append("orderedAt >= ? AND orderedAt < ?")
            entryArguments += [.int(from?.milliseconds ?? OrderEntry.noDate + 1), .int(to?.milliseconds ?? .max)]
        }
        if let code = try parameters.textParameter("discountCode") {
            classQuery["discountCode"] = .string(code)
            entryConditions.append("code = ?")
            entryArguments.append(.text(code))
        }
    }

    private static func status(_ value: JSON) -> OrderStatus? {
        value.stringValue.flatMap(OrderStatus.init(state:)) ?? value.intValue.flatMap(OrderStatus.init(rawValue:))
    }

    private static func sorting(_ value: JSON?) throws -> (sql: String, order: [String]) {
        let text = value?.isNull ?? true ? "-orderNo" : value?.stringValue ?? ""
        let isDescending = text.hasPrefix("-")
        guard let (column, fields) = sorts[String(text.dropFirst(isDescending ? 1 : 0))] else {
            let all = sorts.keys.sorted().joined(separator: ", ")
            throw ParseError(.validationError, "sort must be one of \(all), with - before it for descending order.")
        }
        let direction = isDescending ? "DESC" : "ASC"
        return ("\(column) \(direction), orderId \(direction)", fields.map { isDescending ? "-\($0)" : $0 })
    }

    package func read(in store: ObjectReader) throws -> Page {
        let isIncomplete = try OrderEntries.areIncomplete(in: store)
        let (orders, count) = try isIncomplete && !isSearch ? fromClass(in: store) : fromEntries(in: store)
        let lines = try store.fetch("OrderItem", ids: orders.flatMap(\.itemIds), keys: [], caller: .master).map {
            ($0, try JSON(parsing: $1))
        }
        let byId = Dictionary(lines, uniquingKeysWith: { first, _ in first })
        let whole = orders.map { order in
            var order = order
            order["items"] = .array(order.itemIds.compactMap { byId[$0] })
            return order
        }
        return Page(orders: whole, count: count, isIncomplete: isIncomplete && isSearch)
    }

    private func fromEntries(in store: ObjectReader) throws -> (orders: [JSON], count: Int) {
        let filter = entryConditions.isEmpty ? "" : "WHERE \(entryConditions.joined(separator: " AND "))"
        let ids = try store.rows(
            "SELECT orderId FROM orderEntries \(filter) ORDER BY \(sorting) LIMIT ? OFFSET ?",
            entryArguments + [.int(limit), .int(skip)]
        ).map { try $0.text("orderId") }
        let count =
            try store.rows("SELECT count(*) AS found FROM orderEntries \(filter)", entryArguments).first?
            .int("found") ?? 0
        let orders = try store.fetch("Order", ids: ids, keys: [], caller: .master).map { try JSON(parsing: $1) }
        return (orders, Int(count))
    }

    private func fromClass(in store: ObjectReader) throws -> (orders: [JSON], count: Int) {
        let query = Query(
            className: "Order", where: classQuery, order: order, limit: Int(limit), skip: Int(skip))
        return (try store.documents(query, caller: .master), try store.count(query, caller: .master))
    }

    /// - Parameter contacts: by customer id. An order whose customer's account was deleted has no entry.
    package static func json(_ page: Page, contacts: [String: JSON]) -> JSON {
        let results = page.orders.map { order in
            var order = order
            order["contact"] = order["customer"]?.pointerTarget.flatMap { contacts[$0.objectId] } ?? .null
            return order
        }
        return [
            "results": .array(results), "count": .int(Int64(page.count)), "counting": .bool(page.isIncomplete),
        ]
    }
}
