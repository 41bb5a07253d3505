import ObjectStore
import ParseProtocol
import ServiceKit

extension ClassDefinition {
    /// The class `Address`: a customer's shipping addresses.
    static let address = ClassDefinition(
        AddressBook.className,
        fields: Dictionary(
            uniqueKeysWithValues: AddressBook.texts.map { ($0, .string) } + [
                ("default", .boolean), ("owner", .pointer("_User")),
            ]),
        indexes: [["owner", "createdAt"]],
        permissions: ClassPermissions(
            find: .signedIn, count: .signedIn, get: .signedIn, create: .signedIn, update: .signedIn, delete: .signedIn))
}

/// A customer's addresses. Exactly one is the default while there is at least one.
package enum AddressBook {
    static let className = "Address"
    static let texts = ShippingAddress.names + ["country", "label"]
    /// Maximum addresses per customer. Bounds the cost of changing the default.
    package static let perCustomerMax = 50

    /// Newest first.
    static func all(of owner: String, in store: ObjectReader) throws -> [JSON] {
        // The master key may have created more than a client can.
        let query = Query(
            className: className, where: ["owner": .pointer("_User", owner)], order: ["-createdAt"],
            limit: 10 * perCustomerMax)
        return try store.documents(query, caller: .master)
    }

    /// Makes an address of `owner` the default and clears the flag of the others.
    static func makeDefault(_ objectId: String, owner: String, in transaction: StoreTransaction) throws {
        for address in try all(of: owner, in: transaction) {
            guard let id = address["objectId"]?.stringValue else { continue }
            let isWanted = id == objectId
            guard (address["default"]?.boolValue ?? false) != isWanted else { continue }
            _ = try transaction.update(className, id, ["default": .bool(isWanted)], caller: .master)
        }
    }

    /// A copy of the customer's default address for an order; nil when the customer has no address.
    static func defaultAddress(of owner: String, in store: ObjectReader) throws -> ShippingAddress? {
        let query = Query(
            className: className, where: ["owner": .pointer("_User", owner), "default": true], limit: 1)
        return try store.documents(query, caller: .master).first.map(shippingAddress)
    }

    /// A copy of an address for an order.
    /// - Throws: `.objectNotFound` (101) when it is missing or belongs to another customer.
    static func shippingAddress(
        _ objectId: String, of owner: String, in store: ObjectReader
    ) throws -> ShippingAddress {
        let address = try store.document(className, objectId, caller: .master)
        guard address["owner"]?.pointerTarget?.objectId == owner else { throw ParseError.objectNotFound }
        return try shippingAddress(address)
    }

    private static func shippingAddress(_ address: JSON) throws -> ShippingAddress {
        var sent: JSON = [:]
        for name in ShippingAddress.names + ["country"] { sent[name] = address[name] }
        return try ShippingAddress(sent)
    }
}
