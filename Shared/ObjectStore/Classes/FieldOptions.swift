import ParseProtocol

/// The demands of a field beyond its type (PARSE_PROTOCOL section 7).
struct FieldOptions: Sendable, Hashable {
    /// Whether a create without it, or a change that takes it away, is refused with `.validationError` (142).
    var isRequired = false
    /// The value that the field gets in a create without it, as it was sent: the schema shows it so.
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

    /// In the order of the index.
    let fields: [Field]
    /// Whether a second object with the same values is refused with `.duplicateValue` (137). Objects that lack one of
    /// the fields never collide.
    let isUnique: Bool

    /// Members of an index that are no fields; no field has such a name.
    static let uniqueMember = "_unique"
    static let orderMember = "_order"

    /// - Parameter json: `{"code": 1, "price": -1, "_unique": true}`, nil when it is something else. Because a JSON
    ///   object has no order, `"_order": ["price", "code"]` says that of the index; without it the names do.
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

    /// Whether it is the same index but for the order, which a schema that was read does not tell.
    func hasSameFields(as other: ClassIndex) -> Bool {
        isUnique == other.isUnique && Set(fields) == Set(other.fields)
    }

    /// As it is stored.
    var stored: JSON {
        var stored = json
        if fields.count > 1 { stored[ClassIndex.orderMember] = .array(fields.map { .string($0.name) }) }
        return stored
    }

    /// As clients see it.
    var json: JSON {
        var members = Dictionary(uniqueKeysWithValues: fields.map { ($0.name, JSON.int($0.isDescending ? -1 : 1)) })
        if isUnique { members[ClassIndex.uniqueMember] = true }
        return .object(members)
    }
}

/// The changes that operators made to a class.
struct ClassEdits: Sendable, Hashable {
    /// The permissions are an operator's; the definition in code no longer replaces them.
    var hasPermissions = false
    var indexes: [String: ClassIndex] = [:] {
        didSet { if !indexes.isEmpty { hadIndexes = true } }
    }
    /// The class has or had an index of an operator. From then on its schema names the index of its ids, too, as Parse
    /// Server's does.
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

    /// As clients see them; nil where nobody ever made one.
    var wireIndexes: JSON? { hadIndexes ? .object(named(indexes.mapValues(\.json))) : nil }

    private func named(_ indexes: [String: JSON]) -> [String: JSON] {
        hadIndexes ? indexes.merging([Self.idIndexName: Self.idIndex]) { own, _ in own } : indexes
    }
}
