import ObjectStore
import ParseProtocol

/// Gives orders of earlier releases, which say by `orderStatus` that they were shipped, delivered, cancelled or refunded, the field
/// `orderState`. Until it is done, `OrderStatus.init(order:)` reads both forms.
package struct OrderStates: Sendable {
    let store: ClassStore

    package init(store: ClassStore) { self.store = store }

    /// Rows in one transaction: some milliseconds, so that other writes get their turn.
    private static let pageRows = 200

    /// Returns when every order has the new form. What was done stays done when it is begun anew.
    /// - Throws: what the store throws; `CancellationError`.
    package func convert() async throws {
        while try await store.write({ try Self.convertPage(in: $0) }) { try Task.checkCancellation() }
    }

    /// - Returns: whether there may be more.
    private static func convertPage(in transaction: StoreTransaction) throws -> Bool {
        let condition: JSON = [
            "$or": [
                ["orderStatus": ["$in": .array(former)]], ["orderStatus": 1, "orderState": ["$exists": false]],
            ]
        ]
        let page = try transaction.documents(
            Query(className: "Order", where: condition, limit: pageRows), caller: .master)
        for order in page {
            guard let id = order["objectId"]?.stringValue, let status = OrderStatus(order: order) else {
                throw ParseError.internalError
            }
            var changes = JSON.object(status.fields)
            changes["updatedAt"] = order["updatedAt"]
            _ = try transaction.update("Order", id, changes, keepsTimes: true, caller: .master)
        }
        return page.count == pageRows
    }

    /// Values of `orderStatus` that are not the bag's and not a made order's.
    private static let former = OrderStatus.ofMadeOrders.map(\.rawValue).filter { $0 != 1 }.map(JSON.int)

    /// What a save with the master key says of an order's state, in the form of this release: exports of earlier ones are imported,
    /// and an operator's own tools go on.
    /// - Throws: 142 for an `orderState` that is none.
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
