import ObjectStore
import ParseProtocol

/// Converts orders of earlier builds, and the changes that the master key saves, to this release's form: a placed order
/// has `orderState` and its two dimensions, `fulfillmentStatus` and `paymentStatus`. In builds before 0.1.0
/// `orderStatus` said that an order was shipped, delivered, cancelled or refunded.
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

    /// Gives every placed order `fulfillmentStatus` and `paymentStatus`. Earlier releases set `orderState` to
    /// `refunded` after any refund; a partly refunded order gets back the state of its goods.
    package static func addDimensions(in transaction: StoreTransaction) throws {
        guard transaction.hasClass(className) else { return }
        var last = ""
        while true {
            let condition: JSON = [
                "orderStatus": .int(OrderStatus.made.wireStatus), "objectId": ["$gt": .string(last)],
            ]
            let page = try transaction.documents(
                Query(className: className, where: condition, order: ["objectId"], limit: pageRows), caller: .master)
            for order in page {
                guard let id = order["objectId"]?.stringValue else { throw ParseError.internalError }
                last = id
                guard let dimensions = OrderDimensions(order: order) else { continue }
                var changes = JSON.object(dimensions.fields)
                changes["updatedAt"] = order["updatedAt"]
                _ = try transaction.update(className, id, changes, keepsTimes: true, caller: .master)
            }
            guard page.count == pageRows else { return }
        }
    }

    /// Values of `orderStatus` that only builds before 0.1.0 store.
    private static let former = OrderStatus.ofMadeOrders.filter { $0 != .made }.map { JSON.int($0.rawValue) }

    /// Converts the state in a save with the master key to this release's form, so that exports of earlier releases can
    /// be imported and operators' tools keep working.
    /// - Parameter isNew: whether the save creates the order, so that the object is whole.
    /// - Throws: `.validationError` (142) for an unknown `orderState`, `fulfillmentStatus` or `paymentStatus`.
    static func normalize(_ object: inout JSON, isNew: Bool) throws {
        try require(object, "orderState", OrderStatus.ofMadeOrders.compactMap(\.state))
        try require(object, "fulfillmentStatus", OrderDimensions.Fulfillment.allCases.map(\.rawValue))
        try require(object, "paymentStatus", OrderDimensions.Payment.allCases.map(\.rawValue))
        if object["orderState"] == nil, let number = object["orderStatus"]?.intValue, former.contains(.int(number)),
            let status = OrderStatus(rawValue: number)
        {
            for (name, value) in status.fields { object[name] = value }
        }
        guard object["orderState"] != nil else { return }
        if isNew {
            for (name, value) in OrderDimensions(order: object)?.fields ?? [:] { object[name] = value }
            return
        }
        // For a tool that writes only `orderState`, also sets the matching `fulfillmentStatus` or `paymentStatus`.
        switch object["orderState"]?.stringValue.flatMap(OrderStatus.init(state:)) {
        case .shipped: set("fulfillmentStatus", "shipped", in: &object)
        case .delivered: set("fulfillmentStatus", "delivered", in: &object)
        case .refunded: set("paymentStatus", "refunded", in: &object)
        case .made, .cancelled, .open, nil: break
        }
    }

    private static func set(_ name: String, _ value: JSON, in object: inout JSON) {
        if object[name] == nil { object[name] = value }
    }

    private static func require(_ object: JSON, _ name: String, _ values: [String]) throws {
        guard let value = object[name], !value.isNull, value["__op"] == nil else { return }
        guard let text = value.stringValue, values.contains(text) else {
            throw ParseError(.validationError, "\(name) must be one of \(values.joined(separator: ", ")).")
        }
    }
}
