import ParseProtocol

/// The decision about a client's save of an `Order`. No I/O.
package struct OrderChange: Sendable, Equatable {
    /// Fields that are stored as sent by the client.
    package private(set) var fields: [String: JSON] = [:]
    package private(set) var items: ItemsChange?

    private static let noteBytesMax = 2000
    /// Fields that only the server writes.
    private static let serversFields: Set<String> = Set(
        ["orderNo", "orderDate", "orderStatus", "total", "stripePaymentId", "currency", "email", "trackingCorrections"]
            + OrderRecord.fields)
    /// Clients that send whole objects back include these; they are ignored.
    private static let ignored: Set<String> = ["ACL", "objectId", "createdAt", "updatedAt", "className", "__type"]

    /// The order with `customerNote`, the name in the published reference app, renamed to `note`.
    static func named(_ object: JSON) -> JSON {
        guard let note = object["customerNote"] else { return object }
        var object = object
        object["customerNote"] = nil
        if object["note"] == nil { object["note"] = note }
        return object
    }

    /// - Parameter present: the order before the change; nil when it is created.
    /// - Throws: `.operationForbidden` (119) for fields that only the server writes, `.incorrectType` (111) and
    ///   `.validationError` (142) for invalid values.
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

    /// Makes the change add these lines to the current ones.
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
