import ObjectStore
import ParseProtocol
import ServiceKit

/// An order with its lines: the one that a customer is filling, which is the bag, with status 0. A customer has at most
/// one bag, because lookup and creation are one transaction. A checkout also loads an order that is placed already.
struct OpenOrder: Sendable {
    /// Maximum lines; equals the limit of one reservation.
    static let itemsMax = 200

    let objectId: String
    let customerId: String
    let document: JSON
    private(set) var items: [BagItem]

    init(document: JSON, in store: ObjectReader) throws {
        self.init(document: document, items: try BagItem.load(document.itemIds, in: store))
    }

    private init(document: JSON, items: [BagItem]) {
        objectId = document["objectId"]?.stringValue ?? ""
        customerId = document["customer"]?.pointerTarget?.objectId ?? ""
        self.document = document
        self.items = items
    }

    static func find(for customerId: String, in store: ObjectReader) throws -> OpenOrder? {
        let query = Query(
            className: "Order",
            where: ["customer": .pointer("_User", customerId), "orderStatus": .int(OrderStatus.open.wireStatus)],
            limit: 1)
        return try store.documents(query, caller: .master).first.map { try OpenOrder(document: $0, in: store) }
    }

    /// Creates the customer's open order with its first line. The customer must have no open order.
    /// - Throws: `.requestLimitExceeded` (155) when `caller` begins too many.
    static func create(
        with product: String, _ quantity: Int, for customerId: String, currency: String, by caller: Caller,
        in transaction: StoreTransaction
    ) throws -> OpenOrder {
        try transaction.quotas.take(of: .carts, by: caller)
        guard
            let item = try BagItem.create(
                product: product, quantity: quantity, customerId: customerId, in: transaction)
        else { throw ParseError.internalError }
        let order = initial(
            customerId, items: [item.objectId], total: try KnownPrices.total([item], in: transaction),
            currency: currency)
        return OpenOrder(
            document: try transaction.create("Order", order, caller: .master).document, items: [item])
    }

    /// The customer's open order; created without lines if there is none.
    /// - Throws: `.requestLimitExceeded` (155) when `caller` begins too many.
    static func findOrCreate(
        for customerId: String, currency: String, by caller: Caller, in transaction: StoreTransaction
    ) throws -> OpenOrder {
        if let order = try find(for: customerId, in: transaction) { return order }
        try transaction.quotas.take(of: .carts, by: caller)
        let created = try transaction.create(
            "Order", Self.initial(customerId, items: [], total: 0, currency: currency), caller: .master)
        return try OpenOrder(document: created.document, in: transaction)
    }

    /// The fields of a new order.
    static func initial(_ customerId: String, items: [String], total: Int64, currency: String) -> JSON {
        [
            "customer": .pointer("_User", customerId), "orderStatus": .int(OrderStatus.open.wireStatus),
            "items": .orderItems(items), "total": .int(total), "currency": .string(currency),
            "ACL": Privacy.acl(customerId),
        ]
    }

    /// - Throws: `.validationError` (142) while a checkout of this order runs.
    func requireNotBeingPaid(in store: ObjectReader) throws {
        try CheckoutLedger.requireNotBeingPaid(objectId, in: store)
    }

    /// The code that the customer set (`setDiscountCode`).
    var discountCode: String? { document["discountCode"]?.stringValue }

    // MARK: Changes

    /// Stores the code, or removes it.
    func setting(discountCode code: String?, in transaction: StoreTransaction) throws -> OpenOrder {
        let value: JSON = code.map(JSON.string) ?? ["__op": "Delete"]
        let updated = try transaction.update("Order", objectId, ["discountCode": value], caller: .master)
        return OpenOrder(document: updated.document, items: items)
    }

    /// Sets the quantity of `product`; 0 removes its line.
    mutating func set(_ product: String, to quantity: Int, in transaction: StoreTransaction) throws {
        let present = items.filter { $0.productId == product }
        guard let first = present.first else {
            if quantity > 0 { try append(product, quantity, in: transaction) }
            return
        }
        // A client that saves items itself may have created two lines of one product.
        for extra in quantity == 0 ? present[...] : present.dropFirst() {
            _ = try transaction.delete("OrderItem", extra.objectId, caller: .master)
        }
        if quantity > 0 {
            _ = try transaction.update(
                "OrderItem", first.objectId, ["quantity": .int(Int64(quantity))], caller: .master)
        }
        try reload(
            items.map(\.objectId).filter { id in
                !present.contains { $0.objectId == id } || (quantity > 0 && id == first.objectId)
            },
            in: transaction)
    }

    func quantity(of product: String) -> Int {
        items.filter { $0.productId == product }.reduce(0) { $0 + $1.quantity }
    }

    private mutating func append(_ product: String, _ quantity: Int, in transaction: StoreTransaction) throws {
        guard items.count < Self.itemsMax else { throw Self.tooManyItems }
        if let item = try BagItem.create(
            product: product, quantity: quantity, customerId: customerId, in: transaction)
        {
            items.append(item)
        }
    }

    private mutating func reload(_ ids: [String], in transaction: StoreTransaction) throws {
        items = try BagItem.load(ids, in: transaction)
    }

    /// Stores the lines and the resulting total.
    func save(in transaction: StoreTransaction) throws {
        _ = try transaction.update(
            "Order", objectId,
            [
                "items": .orderItems(items.map(\.objectId)),
                "total": .int(try KnownPrices.total(items, in: transaction)),
            ], caller: .master)
    }

    /// Removes the order and its lines.
    func delete(in transaction: StoreTransaction) throws {
        for item in items { _ = try transaction.delete("OrderItem", item.objectId, caller: .master) }
        _ = try transaction.delete("Order", objectId, caller: .master)
    }

    static let tooManyItems = ParseError(.validationError, "An order has at most \(itemsMax) items.")
}

extension JSON {
    /// The ids to which an order's `items` point.
    var itemIds: [String] { self["items"]?.arrayValue?.compactMap { $0.pointerTarget?.objectId } ?? [] }

    /// An order's currency in lower case. An import may name none, or write one in any letter case.
    /// - Parameter shop: the shop's currency, of an order that names none.
    func orderCurrency(_ shop: String) -> String {
        let code = self["currency"]?.stringValue?.lowercased() ?? ""
        return code.isEmpty ? shop : code
    }

    static func orderItems(_ ids: [String]) -> JSON { .array(ids.map { .pointer("OrderItem", $0) }) }
}
