import ParseProtocol

/// What a field demands beyond its type (PARSE_PROTOCOL section 7).
struct FieldOptions: Sendable, Hashable {
    /// A create without it, or a change that takes it away, is refused with 142.
    var isRequired = false
    /// What a create without the field gets.
    var defaultValue: JSON?

    /// The options in a field's schema; nil when there are none.
    init?(json: JSON) {
        isRequired = json["required"] == true
        defaultValue = json["defaultValue"]
        guard isRequired || defaultValue != nil else { return nil }
    }
}

/// An index that an operator asked for.
struct ClassIndex: Sendable, Hashable {
    struct Field: Sendable, Hashable {
        let name: String
        let isDescending: Bool
    }

    /// In the order of their names: a JSON object has no order.
    let fields: [Field]
    /// Two objects with the same values are refused with 137; objects that lack one of the fields never collide.
    let isUnique: Bool

    /// The member of an index that makes it unique; no field has such a name.
    static let uniqueMember = "_unique"

    /// - Parameter json: `{"code": 1, "price": -1, "_unique": true}`; nil when it is something else.
    init?(json: JSON) {
        guard var members = json.objectValue else { return nil }
        let unique = members.removeValue(forKey: ClassIndex.uniqueMember)
        guard unique == nil || unique?.boolValue != nil, !members.isEmpty,
            members.values.allSatisfy({ $0 == 1 || $0 == -1 || $0 == "text" })
        else { return nil }
        isUnique = unique == true
        fields = members.sorted { $0.key < $1.key }.map { Field(name: $0.key, isDescending: $0.value == -1) }
    }

    var json: JSON {
        var members = Dictionary(uniqueKeysWithValues: fields.map { ($0.name, JSON.int($0.isDescending ? -1 : 1)) })
        if isUnique { members[ClassIndex.uniqueMember] = true }
        return .object(members)
    }
}

/// What operators changed of a class.
struct ClassEdits: Sendable, Hashable {
    /// The permissions are an operator's; the definition in code no longer replaces them.
    var hasPermissions = false
    var indexes: [String: ClassIndex] = [:]
}
