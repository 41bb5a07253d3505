import ParseProtocol

/// A field in a pipeline, by Parse's name or by its name in Parse Server's MongoDB (`_id`, `_created_at`, `_p_owner`).
///
/// Inside a pipeline an object's id is `_id`, as in the results of `$group`; in the response it becomes `objectId`.
struct AggregatePath {
    let components: [String]
    /// `_p_owner` is the text `Class$id` instead of the Pointer.
    let isPointerText: Bool

    /// - Throws: `.invalidKeyName` (105) when a component is not an identifier.
    init(_ name: String) throws {
        var components = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        var isPointerText = false
        switch components[0] {
        case "objectId": components[0] = "_id"
        case "_created_at": components[0] = "createdAt"
        case "_updated_at": components[0] = "updatedAt"
        case let root where root.hasPrefix("_p_"):
            components[0] = String(root.dropFirst(3))
            isPointerText = true
        default: break
        }
        guard components.count <= FieldPath.depthMax, components[0] == "_id" || Names.isIdentifier(components[0]),
            components.dropFirst().allSatisfy(Names.isIdentifier)
        else { throw ParseError(.invalidKeyName, "Invalid key name: \(name.prefix(200))") }
        self.components = components
        self.isPointerText = isPointerText
    }

    var root: String { components[0] }
    var isDotted: Bool { components.count > 1 }
    /// The field of the stored document that the path reads.
    var storedRoot: String { root == "_id" ? "objectId" : root }

    /// The value in a document; nil when it is missing. The path continues into every element of an array.
    func value(in document: JSON) -> JSON? {
        let value = AggregatePath.value(at: components[...], of: document)
        guard isPointerText else { return value }
        return value?.pointerTarget.map { .string("\($0.className)$\($0.objectId)") }
    }

    private static func value(at components: ArraySlice<String>, of value: JSON) -> JSON? {
        guard let first = components.first else { return value }
        switch value {
        case .object(let members): return members[first].flatMap { self.value(at: components.dropFirst(), of: $0) }
        case .array(let elements): return .array(elements.compactMap { self.value(at: components, of: $0) })
        default: return nil
        }
    }
}

extension JSON {
    /// The time of a Date value; nil for anything else.
    var timestamp: Timestamp? {
        wireType == "Date" ? self["iso"]?.stringValue.flatMap(Timestamp.init(iso:)) : nil
    }
}
