import ParseProtocol

/// The schemas API (PARSE_PROTOCOL section 7). The callers have checked that the request has the master key.
extension StoreTransaction {
    /// Creates a class from a schema.
    /// - Parameter wish: `fields`, `classLevelPermissions` and `indexes`, each optional. `_fieldOrder`, a list of
    ///   names, gives the order of new fields, because a JSON object has none.
    /// - Returns: the schema as JSON text.
    /// - Throws: `.invalidClassName` (103) when it exists or the name is invalid, else as `changeClass`.
    public func createClass(_ name: String, _ wish: JSON) throws -> [UInt8] {
        guard schema.classes[name] == nil else {
            throw ParseError(.invalidClassName, "Class \(name.prefix(128)) already exists.")
        }
        _ = try classForCreating(name, .master)
        return try changeClass(name, wish, keeping: [])
    }

    /// Adds and removes fields and indexes. Replaces the permissions if the change has any; null restores the ones
    /// before any edit.
    /// - Parameter keeping: fields that the service's own code needs.
    /// - Throws: `.invalidClassName` (103) for an unknown class, `.classNotEmpty` (255) for adding an existing field or
    ///   deleting a missing one, `.incorrectType` (111) and `.missingRequiredField` (135) for types, `.invalidKeyName`
    ///   (105) for names, `.changedImmutableField` (136) for fields that cannot be changed, `.invalidQuery` (102) for
    ///   indexes, `.duplicateValue` (137) when stored objects are not unique, `.invalidJSON` (107) for bad JSON.
    public func changeClass(_ name: String, _ wish: JSON, keeping: Set<String>) throws -> [UInt8] {
        guard var info = schema.classes[name] else { throw ClassSchemaError.missing(name) }
        for (field, change) in try members(wish, "fields") {
            try changeField(field, change, of: &info, keeping: keeping)
        }
        let named = wish["_fieldOrder"]?.arrayValue?.compactMap(\.stringValue) ?? []
        info.fieldOrder = info.orderedFields(addedAs: named, to: schema.classes[name]?.fields ?? [:])
        switch wish["classLevelPermissions"] {
        case nil: break
        case .null?:
            info.permissions = definitions[name]?.permissions ?? .open
            info.edits.hasPermissions = false
        case let permissions?:
            var edited = try ClassPermissions(wire: permissions, fields: info.fields)
            edited.displayFields = info.permissions.displayFields
            // Dashboards send permissions without protected fields. In the protocol's built-in classes the stored ones
            // remain.
            if permissions["protectedFields"] == nil, name.hasPrefix("_") {
                edited.protectedFields = info.permissions.protectedFields
            }
            info.permissions = edited.adding(
                builtInProtection: definitions[name]?.permissions.protectedFields ?? [:])
            info.edits.hasPermissions = true
        }
        for (index, change) in try members(wish, "indexes") { try changeIndex(index, change, of: &info) }
        try writer.save(info, in: &schema)
        return info.wireSchema
    }

    /// Removes an empty class. Does nothing if the class does not exist.
    /// - Throws: `.classNotEmpty` (255) when it has objects.
    public func dropClass(_ name: String) throws {
        guard let info = schema.classes[name] else { return }
        let count = try rows("SELECT count(*) AS n FROM o\(info.id)", [])[0].int("n")
        guard count == 0 else {
            throw ParseError(
                .classNotEmpty, "Class \(name) is not empty, contains \(count) objects, cannot drop schema.")
        }
        try writer.drop(info, in: &schema)
    }

    /// The fields of a class that its permissions hide from any group of callers.
    public func protectedFields(of name: String) -> Set<String> {
        schema.classes[name]?.permissions.protectedFields.values.reduce(into: []) { $0.formUnion($1) } ?? []
    }

    /// The ids of up to `max` objects of a class, regardless of their ACLs.
    public func objectIds(_ name: String, max: Int) throws -> [String] {
        guard let info = schema.classes[name] else { return [] }
        return try rows("SELECT objectId FROM o\(info.id) LIMIT ?", [.int(Int64(max))]).map { try $0.text("objectId") }
    }

    private func members(_ wish: JSON, _ name: String) throws -> [(key: String, value: JSON)] {
        guard let value = wish[name], !value.isNull else { return [] }
        // PHP writes an empty object as an empty array.
        if value == [] { return [] }
        guard let members = value.objectValue else { throw ParseError(.invalidJSON, "\(name) must be an object.") }
        return members.sorted { $0.key < $1.key }
    }

    // MARK: Fields

    private static let standardFields: Set<String> = ["objectId", "createdAt", "updatedAt", "ACL"]

    private func changeField(
        _ field: String, _ change: JSON, of info: inout ClassInfo, keeping: Set<String>
    ) throws {
        if change["__op"] == "Delete" {
            guard !Self.standardFields.contains(field), !keeping.contains(field) else {
                throw ParseError(.changedImmutableField, "field \(field.prefix(128)) cannot be changed")
            }
            guard let type = info.fields.removeValue(forKey: field) else {
                throw ParseError(.classNotEmpty, "Field \(field.prefix(128)) does not exist, cannot delete.")
            }
            info.fieldOptions[field] = nil
            try dropIndexes(on: field, of: &info)
            try writer.removeField(field, type: type, of: info)
            return
        }
        guard !Self.standardFields.contains(field) else {
            // A client that sends back an unchanged schema changes nothing.
            if info.schemaField(field) == change { return }
            throw ParseError(.changedImmutableField, "field \(field) cannot be added")
        }
        guard Names.isFieldName(field) else {
            throw ParseError(.invalidKeyName, "invalid field name: \(field.prefix(200))")
        }
        let type = try fieldType(change)
        if let existing = info.fields[field] {
            guard existing.label == type.label else {
                throw ParseError(.classNotEmpty, "Field \(field) exists, cannot update.")
            }
        } else {
            try addField(field, type, to: &info)
        }
        info.fieldOptions[field] = try options(change, type, field, info)
    }

    /// Drops the operators' indexes that contain the field, and retires the automatic ones.
    func dropIndexes(on field: String, of info: inout ClassInfo) throws {
        for (name, index) in info.edits.indexes where index.fields.contains(where: { $0.name == field }) {
            try writer.dropIndex(name, of: info)
            info.edits.indexes[name] = nil
        }
        for place in info.automatic.indices
        where info.automatic[place].isKept && info.automatic[place].fields.all.contains(field) {
            try info.automatic[place].retire(isUnwanted: false, connection)
        }
    }

    private func addField(_ field: String, _ type: FieldType, to info: inout ClassInfo) throws {
        if type == .geoPoint, let other = info.fields.first(where: { $0.value == .geoPoint })?.key {
            throw ParseError(
                .incorrectType,
                """
                currently, only one GeoPoint field may exist in an object. Adding \(field) when \(other) already exists.
                """
            )
        }
        guard info.fields.count < ClassInfo.fieldsMax else {
            throw ParseError(.objectTooLarge, "A class can have at most \(ClassInfo.fieldsMax) fields.")
        }
        info.fields[field] = type
        if type == .geoPoint { try GeoIndex.create(info, ofNewField: true, connection) }
    }

    func fieldType(_ json: JSON) throws -> FieldType {
        guard let name = json["type"]?.stringValue else { throw ParseError(.invalidJSON, "invalid JSON") }
        if name == "Pointer" || name == "Relation" {
            guard let target = json["targetClass"], !target.isNull, target != "" else {
                throw ParseError(.missingRequiredField, "type \(name) needs a class name")
            }
            guard let target = target.stringValue else { throw ParseError(.invalidJSON, "invalid JSON") }
            guard Names.isClassName(target) else { throw ParseError.invalidClassName(target) }
        }
        guard let type = FieldType(json: json) else {
            throw ParseError(.incorrectType, "invalid field type: \(name.prefix(64))")
        }
        return type
    }

    private func options(_ json: JSON, _ type: FieldType, _ field: String, _ info: ClassInfo) throws -> FieldOptions? {
        if let required = json["required"], required.boolValue == nil {
            throw ParseError(.incorrectType, "required must be true or false")
        }
        guard let options = FieldOptions(json: json) else { return nil }
        if case .relation = type {
            let option = options.defaultValue == nil ? "required" : "default value"
            throw ParseError(.incorrectType, "The '\(option)' option is not applicable for \(type.label)")
        }
        if let value = options.defaultValue {
            let found = FieldType(of: try WireValue.normalized(value))
            guard found == type else {
                throw ParseError(
                    .incorrectType,
                    "schema mismatch for \(info.name).\(field) default value; "
                        + "expected \(type.label) but got \(found?.label ?? "null")")
            }
        }
        return options
    }

    // MARK: Indexes

    /// Limit of an operator's indexes per class: each makes every write of the class slower.
    private static let indexesMax = 16
    private static let indexFieldsMax = 8

    private func changeIndex(_ name: String, _ change: JSON, of info: inout ClassInfo) throws {
        if name == ClassEdits.idIndexName, change == ClassEdits.idIndex { return }
        if name.hasPrefix(AutomaticIndex.prefix), info.edits.indexes[name] == nil {
            return try changeAutomaticIndex(name, change, of: &info)
        }
        if change["__op"] == "Delete" {
            guard info.edits.indexes.removeValue(forKey: name) != nil else {
                throw ParseError(.invalidQuery, "Index \(name.prefix(128)) does not exist, cannot delete.")
            }
            try writer.dropIndex(name, of: info)
            return
        }
        guard Names.isIdentifier(name) else {
            throw ParseError(.invalidQuery, "Invalid index name: \(name.prefix(128)).")
        }
        guard let index = ClassIndex(json: change), index.fields.count <= Self.indexFieldsMax else {
            throw ParseError(.invalidQuery, "Index \(name) must map up to \(Self.indexFieldsMax) fields to 1 or -1.")
        }
        if let existing = info.edits.indexes[name] {
            if existing.hasSameFields(as: index) { return }
            throw ParseError(.invalidQuery, "Index \(name) exists, cannot update.")
        }
        for field in index.fields where info.fields[field.name] == nil && BuiltInField(rawValue: field.name) == nil {
            throw ParseError(.invalidQuery, "Field \(field.name.prefix(128)) does not exist, cannot add index.")
        }
        guard info.edits.indexes.count < Self.indexesMax else {
            throw ParseError(.invalidQuery, "A class can have at most \(Self.indexesMax) indexes.")
        }
        do {
            try writer.addIndex(name, index, to: info)
        } catch let error as StoreError where error.isUniqueViolation {
            throw ParseError(.duplicateValue, "Index \(name) cannot be unique: stored objects have the same values.")
        } catch let error as StoreError where error.isTooLongForIndex {
            throw ParseError(
                .objectTooLarge,
                "Index \(name) may have values of about 2,700 bytes at most, and stored ones are longer.")
        }
        info.edits.indexes[name] = index
    }
}
