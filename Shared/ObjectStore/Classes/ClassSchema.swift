import ParseProtocol

extension ClassInfo {
    /// The member of a stored field that holds its position.
    private static let placeMember = "place"

    /// The fields in their order. New fields that are missing in the order come last, sorted by name.
    var orderedFields: [String] {
        let known = fieldOrder.filter { fields[$0] != nil }
        return known + Set(fields.keys).subtracting(known).sorted()
    }

    /// The fields in their order after a change.
    /// - Parameters:
    ///   - names: the order of new fields; those missing here come last, sorted by name.
    ///   - before: the fields before the change.
    func orderedFields(addedAs names: [String], to before: [String: FieldType]) -> [String] {
        var added: [String] = []
        for name in names where fields[name] != nil && before[name] == nil && !added.contains(name) {
            added.append(name)
        }
        let known = fieldOrder.filter { before[$0] != nil && fields[$0] != nil }
        return known + added + Set(fields.keys).subtracting(known + added).sorted()
    }

    /// The names of stored fields in their order. Fields of an old database without positions are sorted by name.
    static func fieldOrder(stored fields: [String: JSON]) -> [String] {
        let places = fields.mapValues { $0[placeMember]?.intValue ?? -1 }
        return places.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
    }

    /// The fields in stored form: type, options and position.
    var storedFields: [String: JSON] {
        var result: [String: JSON] = [:]
        for (place, name) in orderedFields.enumerated() {
            var field = wireField(name)
            field[Self.placeMember] = .int(Int64(place))
            result[name] = field
        }
        return result
    }

    /// A field in the protocol's schema format.
    private func wireField(_ name: String) -> JSON {
        var field = fields[name]?.json ?? [:]
        if fieldOptions[name]?.isRequired == true { field["required"] = true }
        if let value = fieldOptions[name]?.defaultValue { field["defaultValue"] = value }
        return field
    }

    /// The fields that every class has, in the order in which schemas show them.
    private static let standardFields: [(name: String, field: JSON)] = [
        ("objectId", ["type": "String"]), ("createdAt", ["type": "Date"]), ("updatedAt", ["type": "Date"]),
        ("ACL", ["type": "ACL"]),
    ]

    /// A field of the schema; nil when the class has no field with this name.
    func schemaField(_ name: String) -> JSON? {
        if let standard = Self.standardFields.first(where: { $0.name == name }) { return standard.field }
        return fields[name] == nil ? nil : wireField(name)
    }

    /// The current indexes, as Parse lists them; nil if the class never had one.
    private var wireIndexes: JSON? {
        let kept = automatic.filter(\.isKept)
        guard !kept.isEmpty else { return edits.wireIndexes }
        var indexes: JSON = edits.wireIndexes ?? .object([ClassEdits.idIndexName: ClassEdits.idIndex])
        for index in kept {
            indexes[index.name] = .object(Dictionary(uniqueKeysWithValues: index.fields.all.map { ($0, JSON.int(1)) }))
        }
        return indexes
    }

    /// The creator and progress of the automatic indexes, and the unwanted ones.
    private var wireAutomaticIndexes: JSON? {
        let shown = automatic.filter { $0.isKept || $0.isUnwanted }
        // At most one index of a name is kept or unwanted at a time.
        return shown.isEmpty ? nil : .object(Dictionary(shown.map { ($0.name, $0.json) }) { _, last in last })
    }

    /// The class in the protocol's schema format (PARSE_PROTOCOL section 7), as JSON text. Standard fields come first,
    /// then the others in the order in which they were added.
    var wireSchema: [UInt8] {
        let standard = Self.standardFields.map { ($0.name, $0.field) }
        let own = orderedFields.filter { name in !standard.contains { $0.0 == name } }.map { ($0, wireField($0)) }
        var text = Array(#"{"className":"#.utf8)
        text += JSON.string(name).serialized
        text += Array(#","fields":{"#.utf8)
        for (position, (name, field)) in (standard + own).enumerated() {
            if position > 0 { text.append(UInt8(ascii: ",")) }
            text += JSON.string(name).serialized
            text.append(UInt8(ascii: ":"))
            text += field.serialized
        }
        text += Array(#"},"classLevelPermissions":"#.utf8)
        text += permissions.wire(areGiven: edits.hasPermissions).serialized
        if let indexes = wireIndexes {
            text += Array(#","indexes":"#.utf8)
            text += indexes.serialized
        }
        if let automatic = wireAutomaticIndexes {
            text += Array(#","automaticIndexes":"#.utf8)
            text += automatic.serialized
        }
        text.append(UInt8(ascii: "}"))
        return text
    }
}

extension ObjectReader {
    /// A class in the protocol's schema format, as JSON text.
    /// - Throws: `.invalidClassName` (103) when it does not exist.
    public func schema(of className: String) throws -> [UInt8] {
        try reading {
            guard let info = schema.classes[className] else { throw ClassSchemaError.missing(className) }
            return info.wireSchema
        }
    }

    /// Every class of this database, sorted by name, as the text of a JSON array.
    public func schemas() throws -> [UInt8] {
        try reading {
            let schemas = schema.classes.values.sorted { $0.name < $1.name }.map(\.wireSchema)
            return Array("[".utf8) + Array(schemas.joined(separator: Array(",".utf8))) + Array("]".utf8)
        }
    }
}

/// The errors of the schemas API, with the texts that the SDKs' tests expect.
enum ClassSchemaError {
    static func missing(_ name: String) -> ParseError {
        ParseError(.invalidClassName, "Class \(name.prefix(128)) does not exist.")
    }
}
