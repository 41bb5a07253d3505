import ObjectStore
import ParseProtocol

/// Orders of builds before 0.1.0, which say by `orderStatus` that they were shipped, delivered, cancelled or refunded:
/// they get the field `orderState`.
package enum OrderStates {
    private static let className = "Order"
    /// Orders in memory at once.
    private static let pageRows = 200

    /// Gives every order the new form. What has it already is left as it is.
    package static func convert(in transaction: StoreTransaction) throws {
        guard transaction.hasClass(className) else { return }
        while try convertPage(in: transaction) {}
    }

    /// - Returns: whether there may be more.
    private static func convertPage(in transaction: StoreTransaction) throws -> Bool {
        let condition: JSON = [
            "$or": [
                ["orderStatus": ["$in": .array(former)]],
                ["orderStatus": .int(OrderStatus.made.wireStatus), "orderState": ["$exists": false]],
            ]
        ]
        let page = try transaction.documents(
            Query(className: className, where: condition, limit: pageRows), caller: .master)
        for order in page {
            guard let id = order["objectId"]?.stringValue, let status = OrderStatus(order: order) else {
                throw ParseError.internalError
            }
            var changes = JSON.object(status.fields)
            changes["updatedAt"] = order["updatedAt"]
            _ = try transaction.update(className, id, changes, keepsTimes: true, caller: .master)
        }
        return page.count == pageRows
    }

    /// Values of `orderStatus` that are not the bag's and not a made order's.
    private static let former = OrderStatus.ofMadeOrders.filter { $0 != .made }.map { JSON.int($0.rawValue) }

    /// Puts the state that a save with the master key gives an order into the form of this release: exports of earlier
    /// ones are imported, and an operator's own tools go on.
    /// - Throws: `.validationError` (142) for an `orderState` that is none.
    static func normalize(_ object: inout JSON) throws {
        if let state = object["orderState"], !state.isNull, state["__op"] == nil {
            guard let text = state.stringValue, OrderStatus(state: text) != nil else {
                let states = OrderStatus.ofMadeOrders.compactMap(\.state).joined(separator: ", ")
                throw ParseError(.validationError, "orderState must be one of \(states).")
            }
            return
        }
        guard object["orderState"] == nil, let number = object["orderStatus"]?.intValue, former.contains(.int(number)),
            let status = OrderStatus(rawValue: number)
        else { return }
        for (name, value) in status.fields { object[name] = value }
    }
}
