import ObjectStore
import ParseProtocol

/// A line of an order: one product and its quantity (class `OrderItem`).
package struct BagItem: Sendable, Equatable {
    package let objectId: String
    package let customerId: String
    package let productId: String
    package let quantity: Int
    /// True once the order is placed; from then on clients cannot change the line.
    package let isPlaced: Bool

    /// Nil for a document that Satchel's rules did not validate.
    package init?(document: JSON) {
        guard let objectId = document["objectId"]?.stringValue,
            let customer = document["customer"]?.pointerTarget, let product = document["product"]?.pointerTarget,
            let quantity = document["quantity"]?.intValue.flatMap(Int.init(exactly:)),
            (0...Quantity.max).contains(quantity)
        else { return nil }
        self.objectId = objectId
        customerId = customer.objectId
        productId = product.objectId
        self.quantity = quantity
        isPlaced = document["unitPriceMinorUnits"]?.intValue != nil
    }

    /// The existing items among these ids, in the order of the list.
    static func load(_ ids: [String], in store: ObjectReader) throws -> [BagItem] {
        let found = try store.fetch("OrderItem", ids: ids, keys: [], caller: .master)
        let items = try found.compactMap { BagItem(document: try JSON(parsing: $0.document)) }
        let byId = Dictionary(items.map { ($0.objectId, $0) }, uniquingKeysWith: { first, _ in first })
        return ids.compactMap { byId[$0] }
    }

    /// A new line of `customerId`.
    static func create(
        product: String, quantity: Int, customerId: String, in transaction: StoreTransaction
    ) throws -> BagItem? {
        let created = try transaction.create(
            "OrderItem",
            [
                "product": .pointer("Product", product), "quantity": .int(Int64(quantity)),
                "customer": .pointer("_User", customerId), "ACL": Privacy.acl(customerId),
            ], caller: .master)
        return BagItem(document: created.document)
    }
}

/// The permissions of a customer's objects: the customer and the shop's admins may read them. Only the class rules
/// allow writes.
enum Privacy {
    static func acl(_ customerId: String) -> JSON {
        [customerId: ["read": true], "role:admins": ["read": true]]
    }

    /// The ACL of orders and lines whose customer's account was deleted, and of operators' notes.
    static let adminsOnly: JSON = ["role:admins": ["read": true]]
}
