import ObjectStore
import ParseProtocol

/// Converts orders of builds before 0.1.0, whose `orderStatus` says that they were shipped, delivered, cancelled or
/// refunded. They get the field `orderState`.
package enum OrderStates {
    private static let className = "Order"
    /// Orders loaded at once.
    private static let pageRows = 200

    /// Converts every order to the new form. Skips orders that already have it.
    package static func convert(in transaction: StoreTransaction) throws {
        guard transaction.hasClass(className) else { return }
        while try convertPage(in: transaction) {}
    }

    /// - Returns: whether more may remain.
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

    /// Values of `orderStatus` that only builds before 0.1.0 store.
    private static let former = OrderStatus.ofMadeOrders.filter { $0 != .made }.map { JSON.int($0.rawValue) }

    /// Converts the state in a save with the master key to this release's form, so that exports of earlier releases can
    /// be imported and operators' tools keep working.
    /// - Throws: `.validationError` (142) for an unknown `orderState`.
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
