import ParseProtocol

/// An object while changes are applied to it: the decision part of create and update, without the database.
struct ObjectDraft {
    var info: ClassInfo
    var document: [String: JSON]
    let isNew: Bool
    let caller: Caller
    /// Fields the class did not have.
    private(set) var newFields: [String] = []
    /// Fields changed by an operator whose result the client is told.
    private(set) var echoed: [String] = []
    private(set) var relationChanges: [RelationChange] = []
    /// Fields that the class filled in, of which the client is told.
    private(set) var defaulted: [String] = []
    private(set) var access: AccessControl

    struct RelationChange {
        let key: String
        let added: [String]
        let removed: [String]
    }

    static let documentBytesMax = 131_072
    /// Levels of arrays and objects in a document, itself included. Well below `JSON.depthMax`, so that a document can
    /// always be read again, also inside a list of results or an object that includes it.
    static let depthMax = 40
    /// Relation fields that clients may add to a class. Each of them rewrites every object of the class.
    static let relationFieldsMax = 16
    /// Elements that may lie between the end of an array and one that is set by its index.
    private static let gapMax = 1000
    /// Fields with a meaning of their own, which cannot be reached into.
    private static let wholeFields: Set<String> = ["ACL", "objectId", "createdAt", "updatedAt", "className", "id"]

    init(info: ClassInfo, document: [String: JSON], isNew: Bool, caller: Caller) throws {
        self.info = info
        self.document = document
        self.isNew = isNew
        self.caller = caller
        access = try AccessControl(document["ACL"])
    }

    /// Applies what a client sent.
    /// - Throws: `ParseError` for names, values and types that are not allowed.
    mutating func apply(_ changes: [String: JSON]) throws {
        for (key, value) in changes.sorted(by: { $0.key < $1.key }) {
            switch key {
            case "objectId", "createdAt", "updatedAt", "className", "__type": continue  // Not the client's to set.
            case "id": throw ParseError(.invalidKeyName, "id is an invalid field name.")
            case "ACL": try setAccess(value)
            default: try apply(value, to: key)
            }
        }
        for (name, type) in info.fields {
            if case .relation(let target) = type { document[name] = .relation(target) }
        }
        try applyOptions(changes)
    }

    /// Fills in defaults and refuses what lacks a required field. An update is only asked about the fields it changes.
    private mutating func applyOptions(_ changes: [String: JSON]) throws {
        guard !info.fieldOptions.isEmpty else { return }
        for (name, options) in info.fieldOptions.sorted(by: { $0.key < $1.key }) {
            if isNew, document[name] == nil, let value = options.defaultValue {
                document[name] = try WireValue.normalized(value)
                defaulted.append(name)
            }
            guard options.isRequired, isNew || changes[name] != nil, [nil, .null, ""].contains(document[name]) else {
                continue
            }
            throw ParseError(.validationError, "\(name) is required")
        }
    }

    private mutating func setAccess(_ value: JSON) throws {
        access = try AccessControl(value["__op"] == "Delete" ? nil : value)
        document["ACL"] = access.wire
    }

    private mutating func apply(_ value: JSON, to key: String) throws {
        guard let path = try? FieldPath(key), Names.isFieldName(path.root),
            !path.isDotted || !ObjectDraft.wholeFields.contains(path.root)
        else {
            throw JSON.isProhibited(key, value) ? ParseError.prohibitedKey(key) : ParseError.invalidFieldName(key)
        }
        // A client that saves all fields again repeats its relations, also those of which it does not know the class.
        if value.wireType == "Relation", value["className"]?.isNull ?? true { return }
        let (field, names) = (path.root, path.components)
        let operation = try FieldOperation(value)
        if case .relate(let target, let added, let removed) = operation {
            guard names.count == 1 else {
                throw ParseError.invalidFieldName(key)
            }
            guard let target else { return }
            try learn(.relation(target), field)
            relationChanges.append(RelationChange(key: field, added: added, removed: removed))
            return
        }
        if case .setOnInsert = operation, !caller.isMaster {
            throw ParseError(.commandUnavailable, "The SetOnInsert operator is not supported yet.")
        }
        let result: JSON?
        if names.count == 1 {
            result = try operation.result(for: document[field], isNew: isNew) {
                mismatch(field, expected: info.fields[field] ?? .object, got: $0)
            }
        } else {
            result = try nested(operation, names[...].dropFirst(), in: document[field], of: field)
        }
        if let result {
            if let type = FieldType(of: result) { try learn(type, field) }
            document[field] = result
        } else {
            document[field] = nil
        }
        if operation.isEchoed { echoed.append(field) }
    }

    /// Applies an operation to a member of an Object field, or to an element of an Array field, which is named by its
    /// index.
    private func nested(
        _ operation: FieldOperation, _ names: ArraySlice<String>, in container: JSON?, of field: String
    ) throws -> JSON? {
        guard let name = names.first else {
            return try operation.result(for: container, isNew: isNew) {
                mismatch(field, expected: .object, got: $0)
            }
        }
        try WireValue.checkNestedKey(name, .null)
        switch container {
        case nil, .null:
            if case .delete = operation { return container }
            let isArray = names.startIndex == 1 && info.fields[field] == .array && FieldPath.index(name) != nil
            return try nested(operation, names, in: isArray ? [] : [:], of: field)
        case .object(var members) where members["__type"] == nil:
            members[name] = try nested(operation, names.dropFirst(), in: members[name], of: field)
            return .object(members)
        case .array(var elements):
            guard let index = FieldPath.index(name) else { throw mismatch(field, expected: .array, got: .object) }
            let isThere = index < elements.count
            if case .delete = operation, !isThere { return container }
            guard index <= elements.count + ObjectDraft.gapMax else {
                throw ParseError(.invalidKeyName, "Invalid field name: the array \(field) has no element \(index).")
            }
            let result = try nested(operation, names.dropFirst(), in: isThere ? elements[index] : nil, of: field)
            // As in MongoDB: what lies between is null, and so is an element that is removed, so that the others keep
            // their places.
            while elements.count <= index { elements.append(.null) }
            elements[index] = result ?? .null
            return .array(elements)
        case let other?: throw mismatch(field, expected: FieldType(of: other) ?? .object, got: .object)
        }
    }

    private func mismatch(_ field: String, expected: FieldType, got: FieldType) -> ParseError {
        ParseError.schemaMismatch(info.name, field, expected: expected, got: got)
    }

    /// Checks a type against the class, which learns it when the field is new.
    private mutating func learn(_ type: FieldType, _ field: String) throws {
        if let expected = info.fields[field] {
            if expected != type { throw mismatch(field, expected: expected, got: type) }
            return
        }
        if type == .geoPoint, info.fields.values.contains(.geoPoint) {
            throw ParseError(.incorrectType, "there can only be one geopoint field in a class")
        }
        guard info.fields.count < ClassInfo.fieldsMax else {
            throw ParseError(.objectTooLarge, "A class can have at most \(ClassInfo.fieldsMax) fields.")
        }
        if case .relation = type, !caller.isMaster, info.relationFields.count >= ObjectDraft.relationFieldsMax {
            throw ParseError(
                .objectTooLarge, "A class can have at most \(ObjectDraft.relationFieldsMax) relation fields.")
        }
        info.fields[field] = type
        newFields.append(field)
    }

    /// The text to store.
    /// - Throws: `.objectTooLarge` (116) when it is too long, `.invalidJSON` (107) when it is nested too deeply.
    func serialized() throws -> [UInt8] {
        let document = JSON.object(document)
        guard !document.isNested(deeperThan: ObjectDraft.depthMax) else {
            throw ParseError(
                .invalidJSON, "The object is nested too deeply; \(ObjectDraft.depthMax) levels are possible.")
        }
        let text = document.serialized
        guard text.count <= ObjectDraft.documentBytesMax else {
            throw ParseError(.objectTooLarge, "The object is larger than \(ObjectDraft.documentBytesMax / 1024) KB.")
        }
        return text
    }

    /// True when one of the fields is a pointer to the caller, or an array that has one.
    static func namesCaller(_ caller: Caller, in document: [String: JSON], _ fields: [String]) -> Bool {
        guard let userId = caller.userId else { return false }
        let user = JSON.pointer("_User", userId)
        return fields.contains { field in
            document[field] == user || document[field]?.arrayValue?.contains(user) == true
        }
    }
}
