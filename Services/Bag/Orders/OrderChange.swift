import ParseProtocol

/// The decision about a client's save of an `Order`, apart from the store.
package struct OrderChange: Sendable, Equatable {
    /// Fields that are stored as the client sent them.
    package private(set) var fields: [String: JSON] = [:]
    package private(set) var items: ItemsChange?

    private static let noteBytesMax = 2000
    /// Written by the server alone.
    private static let serversFields: Set<String> = Set(
        ["orderNo", "orderDate", "orderStatus", "total", "stripePaymentId", "currency", "email"] + OrderRecord.fields)
    /// Clients that send whole objects back send these too; they mean nothing.
    private static let ignored: Set<String> = ["ACL", "objectId", "createdAt", "updatedAt", "className", "__type"]

    /// - Parameter present: the order before, nil when it is created.
    /// - Throws: `.operationForbidden` (119) for what only the server writes, `.incorrectType` (111) and
    ///   `.validationError` (142) for values that cannot be.
    package init(_ object: JSON, present: JSON?, customerId: String) throws {
        let whole = present ?? ["orderStatus": .int(OrderStatus.open.wireStatus)]
        for (name, value) in object.objectValue ?? [:] {
            switch name {
            case "items": items = try ItemsChange(value)
            case "customer":
                guard value.pointerTarget?.className == "_User", value.pointerTarget?.objectId == customerId else {
                    throw Self.forbidden(name)
                }
            case "note", "giftMessage": fields[name] = try Self.text(value, name)
            case "shippingAddress":
                fields[name] = Self.removes(value) ? ["__op": "Delete"] : try ShippingAddress(value).json
            case _ where Self.ignored.contains(name): continue
            case _ where Self.serversFields.contains(name):
                guard value == whole[name] || (value.isNull && whole[name] == nil) else { throw Self.forbidden(name) }
            default:
                throw ParseError(.operationForbidden, "Permission denied for action addField on class Order: \(name).")
            }
        }
    }

    /// Adds to the present lines instead.
    mutating func add(_ ids: [String]) { items = .add(ids) }

    private static func text(_ value: JSON, _ name: String) throws -> JSON {
        if removes(value) { return ["__op": "Delete"] }
        return .string(try PlainText.parse(value, name, bytesMax: noteBytesMax))
    }

    private static func removes(_ value: JSON) -> Bool { value.isNull || value["__op"] == "Delete" }

    private static func forbidden(_ name: String) -> ParseError {
        ParseError(.operationForbidden, "\(name) is written by the server only.")
    }
}
