import ParseProtocol

/// The change that a client's `items` value makes to the lines of an order: a new list, or an operation on the current
/// list.
package enum ItemsChange: Equatable, Sendable {
    case set([String])
    case add([String])
    case remove([String])

    /// - Throws: `.incorrectType` (111) for anything other than a list of pointers to `OrderItem`, `.invalidJSON` (107)
    ///   for an operation that arrays do not have.
    package init(_ value: JSON) throws {
        switch value {
        case .null: self = .set([])
        case .array(let elements): self = .set(try Self.ids(elements))
        default:
            let objects = try Self.ids(value["objects"]?.arrayValue ?? [])
            switch value["__op"]?.stringValue {
            // An order contains a line at most once, so Add equals AddUnique.
            case "Add", "AddUnique": self = .add(objects)
            case "Remove": self = .remove(objects)
            case "Delete": self = .set([])
            case nil: throw Self.notItems
            default: throw ParseError(.invalidJSON, "items must be changed by an array operation.")
            }
        }
    }

    /// The lines after the change, without duplicates.
    package func applied(to present: [String]) -> [String] {
        var seen: Set<String> = []
        let ids =
            switch self {
            case .set(let ids): ids
            case .add(let ids): present + ids
            case .remove(let ids): present.filter { !ids.contains($0) }
            }
        return ids.filter { seen.insert($0).inserted }
    }

    /// Lines that the client names; they must be the client's own.
    package var named: [String] {
        switch self {
        case .set(let ids), .add(let ids): ids
        case .remove: []
        }
    }

    private static func ids(_ elements: [JSON]) throws -> [String] {
        guard elements.count <= OpenOrder.itemsMax else { throw OpenOrder.tooManyItems }
        return try elements.map { element in
            guard let target = element.pointerTarget, target.className == "OrderItem", Names.isObjectId(target.objectId)
            else { throw notItems }
            return target.objectId
        }
    }

    private static let notItems = ParseError(.incorrectType, "items must be an array of pointers to OrderItem.")
}
