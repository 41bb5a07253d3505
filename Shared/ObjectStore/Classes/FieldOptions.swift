import ParseProtocol

/// The requirements of a field beyond its type (PARSE_PROTOCOL section 7).
struct FieldOptions: Sendable, Hashable {
    /// Whether a create without the field, or a change that removes it, is refused with `.validationError` (142).
    var isRequired = false
    /// The field's value in a create without it, in the form in which it was sent; the schema shows that form.
    var defaultValue: JSON?

    /// The options in a field's schema; nil when there are none.
    init?(json: JSON) {
        isRequired = json["required"] == true
        defaultValue = json["defaultValue"]
        guard isRequired || defaultValue != nil else { return nil }
    }
}

/// An index that an operator created.
struct ClassIndex: Sendable, Hashable {
    struct Field: Sendable, Hashable {
        let name: String
        let isDescending: Bool
    }

    /// The fields in the order of the index.
    let fields: [Field]
    /// Whether a second object with the same values is refused with `.duplicateValue` (137). Objects that lack one of
    /// the fields never collide.
    let isUnique: Bool

    /// Members of an index that are not fields; no field has such a name.
    static let uniqueMember = "_unique"
    static let orderMember = "_order"

    /// - Parameter json: `{"code": 1, "price": -1, "_unique": true}`; the result is nil for anything else. A JSON
    ///   object has no order, so `"_order": ["price", "code"]` gives the order of the index; without it the fields are
    ///   sorted by name.
    init?(json: JSON) {
        guard var members = json.objectValue else { return nil }
        let unique = members.removeValue(forKey: ClassIndex.uniqueMember)
        let order = members.removeValue(forKey: ClassIndex.orderMember)
        guard unique == nil || unique?.boolValue != nil, !members.isEmpty,
            members.values.allSatisfy({ $0 == 1 || $0 == -1 || $0 == "text" })
        else { return nil }
        isUnique = unique == true
        let names = order == nil ? members.keys.sorted() : order?.arrayValue?.compactMap(\.stringValue) ?? []
        guard names.count == members.count, Set(names) == Set(members.keys) else { return nil }
        fields = names.map { Field(name: $0, isDescending: members[$0] == -1) }
    }

    /// Whether both are the same index apart from the order, which a schema does not show.
    func hasSameFields(as other: ClassIndex) -> Bool {
        isUnique == other.isUnique && Set(fields) == Set(other.fields)
    }

    /// The stored form.
    var stored: JSON {
        var stored = json
        if fields.count > 1 { stored[ClassIndex.orderMember] = .array(fields.map { .string($0.name) }) }
        return stored
    }

    /// The form that clients see.
    var json: JSON {
        var members = Dictionary(uniqueKeysWithValues: fields.map { ($0.name, JSON.int($0.isDescending ? -1 : 1)) })
        if isUnique { members[ClassIndex.uniqueMember] = true }
        return .object(members)
    }
}

/// The changes that operators made to a class.
struct ClassEdits: Sendable, Hashable {
    /// An operator set the permissions; the definition in code no longer replaces them.
    var hasPermissions = false
    var indexes: [String: ClassIndex] = [:] {
        didSet { if !indexes.isEmpty { hadIndexes = true } }
    }
    /// An operator created an index of the class at some time. From then on the schema also lists the index of ids, as
    /// Parse Server's does.
    private(set) var hadIndexes = false

    /// The index of ids, as schemas show it.
    static let idIndexName = "_id_"
    static let idIndex: JSON = ["_id": 1]
}

extension ClassEdits {
    init(hasPermissions: Bool, storedIndexes: [String: JSON]) {
        self.hasPermissions = hasPermissions
        indexes = storedIndexes.filter { $0.key != Self.idIndexName }.compactMapValues(ClassIndex.init(json:))
        hadIndexes = !storedIndexes.isEmpty
    }

    var storedIndexes: [String: JSON] { named(indexes.mapValues(\.stored)) }

    /// The form that clients see; nil if the class never had an operator's index.
    var wireIndexes: JSON? { hadIndexes ? .object(named(indexes.mapValues(\.json))) : nil }

    private func named(_ indexes: [String: JSON]) -> [String: JSON] {
        hadIndexes ? indexes.merging([Self.idIndexName: Self.idIndex]) { own, _ in own } : indexes
    }
}
