import ObjectStore
import ParseProtocol
import ServiceKit

/// `orders {status?, from?, to?, limit?, skip?}`: placed orders for the shop's admins, newest first, with their lines
/// and customer contacts.
package struct OrderList: Sendable {
    private let condition: JSON
    private let limit: Int
    private let skip: Int

    /// A page of orders with 200 lines each has several megabytes.
    private static let limitMax: Int64 = 100
    private static let skipMax: Int64 = 1_000_000

    /// - Parameter parameters: `status` is an `orderState`, or the number that earlier releases used for it. `from`
    ///   (inclusive) and `to` (exclusive) bound the time when the order was placed, as ISO 8601 or Date objects.
    /// - Throws: `.validationError` (142) for other values.
    package init(_ parameters: JSON) throws {
        var condition: JSON = ["orderStatus": ["$ne": .int(OrderStatus.open.wireStatus)]]
        if let value = parameters["status"], !value.isNull {
            guard let status = Self.status(value), let state = status.state else {
                let states = OrderStatus.ofMadeOrders.compactMap(\.state).joined(separator: ", ")
                throw ParseError(.validationError, "status must be one of \(states).")
            }
            // An imported order may be marked as placed by `orderStatus` alone.
            let others = OrderStatus.ofMadeOrders.filter { $0 != .made }.compactMap(\.state)
            condition["orderState"] = status == .made ? ["$nin": .array(others.map(JSON.string))] : .string(state)
        }
        var dates: JSON = [:]
        for (name, comparison) in [("from", "$gte"), ("to", "$lt")] {
            dates[comparison] = try parameters.momentParameter(name)?.wire
        }
        if dates != [:] { condition["orderDate"] = dates }
        self.condition = condition
        limit = Int(try parameters.listLimit(standard: 50, maximum: Self.limitMax))
        guard let skip = (parameters["skip"] ?? 0).intValue, (0...Self.skipMax).contains(skip) else {
            throw ParseError(.validationError, "skip must be a whole number from 0 to \(Self.skipMax).")
        }
        self.skip = Int(skip)
    }

    private static func status(_ value: JSON) -> OrderStatus? {
        value.stringValue.flatMap(OrderStatus.init(state:)) ?? value.intValue.flatMap(OrderStatus.init(rawValue:))
    }

    /// The page, with whole lines in `items`, and the count of all matching orders.
    package func read(in store: some ObjectReading) throws -> (orders: [JSON], count: Int) {
        let query = Query(className: "Order", where: condition, order: ["-orderNo"], limit: limit, skip: skip)
        let orders = try store.documents(query, caller: .master)
        let ids = orders.flatMap(\.itemIds)
        let lines = try store.fetch("OrderItem", ids: ids, keys: [], caller: .master).map { id, text in
            (id, try JSON(parsing: text))
        }
        let byId = Dictionary(lines, uniquingKeysWith: { first, _ in first })
        let whole = orders.map { order in
            var order = order
            order["items"] = .array(order.itemIds.compactMap { byId[$0] })
            return order
        }
        return (whole, try store.count(query, caller: .master))
    }

    /// - Parameter contacts: by customer id. An order whose customer's account was deleted has no entry.
    package static func json(_ orders: [JSON], contacts: [String: JSON], count: Int) -> JSON {
        let results = orders.map { order in
            var order = order
            order["contact"] = order["customer"]?.pointerTarget.flatMap { contacts[$0.objectId] } ?? .null
            return order
        }
        return ["results": .array(results), "count": .int(Int64(count))]
    }
}
