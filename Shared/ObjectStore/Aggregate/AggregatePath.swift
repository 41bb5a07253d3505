import ParseProtocol

/// A field as a pipeline names it: by Parse's name, or by that of the database other servers keep it in (`_id`,
/// `_created_at`, `_p_owner`).
///
/// In a running pipeline an object's id is its `_id`, as in the results of `$group`; on the way out it becomes
/// `objectId`.
struct AggregatePath {
    let components: [String]
    /// `_p_owner` means the text `Class$id` and not the Pointer.
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
    /// The field of a stored document that is read.
    var storedRoot: String { root == "_id" ? "objectId" : root }

    /// The value in a document; nil when there is none. Of an array on the way every element is asked.
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
    /// The moment of a Date hash.
    var timestamp: Timestamp? {
        wireType == "Date" ? self["iso"]?.stringValue.flatMap(Timestamp.init(iso:)) : nil
    }
}
