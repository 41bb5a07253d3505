import ObjectStore
import ParseProtocol
import ServiceKit

extension ClassDefinition {
    /// The addresses that a customer has orders sent to.
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

/// A customer's addresses. Exactly one is the default as long as there is any.
package enum AddressBook {
    static let className = "Address"
    /// The members of a shipping address.
    static let members = ShippingAddress.required + ["address2"]
    static let texts = members + ["label"]
    /// More than anybody has; it bounds the work of changing the default.
    package static let perCustomerMax = 50

    /// Newest first.
    static func all(of owner: String, in store: some ObjectReading) throws -> [JSON] {
        // The master key may have made more than a client can.
        let query = Query(
            className: className, where: ["owner": .pointer("_User", owner)], order: ["-createdAt"],
            limit: 10 * perCustomerMax)
        return try store.documents(query, caller: .master)
    }

    /// Makes an address of `owner` the default, and no other.
    static func makeDefault(_ objectId: String, owner: String, in transaction: StoreTransaction) throws {
        for address in try all(of: owner, in: transaction) {
            guard let id = address["objectId"]?.stringValue else { continue }
            let isWanted = id == objectId
            guard (address["default"]?.boolValue ?? false) != isWanted else { continue }
            _ = try transaction.update(className, id, ["default": .bool(isWanted)], caller: .master)
        }
    }

    /// A copy of an address for an order.
    /// - Throws: `.objectNotFound` (101) when it is missing or somebody else's.
    static func shippingAddress(
        _ objectId: String, of owner: String, in store: some ObjectReading
    ) throws -> ShippingAddress {
        let address = try store.document(className, objectId, caller: .master)
        guard address["owner"]?.pointerTarget?.objectId == owner else { throw ParseError.objectNotFound }
        var sent: JSON = [:]
        for name in members { sent[name] = address[name] }
        return try ShippingAddress(sent)
    }
}
