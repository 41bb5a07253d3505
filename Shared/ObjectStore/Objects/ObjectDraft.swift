import ParseProtocol

/// An object while changes are applied to it: the logic of create and update without the database.
struct ObjectDraft {
    var info: ClassInfo
    var document: [String: JSON]
    let isNew: Bool
    let caller: Caller
    /// Fields that the class did not have.
    private(set) var newFields: [String] = []
    /// Fields changed by an operator whose result is part of the response.
    private(set) var echoed: [String] = []
    private(set) var relationChanges: [RelationChange] = []
    /// Fields that the class filled in and that are part of the response.
    private(set) var defaulted: [String] = []
    private(set) var access: AccessControl

    struct RelationChange {
        let key: String
        let added: [String]
        let removed: [String]
    }

    static let documentBytesMax = 131_072
    /// Limit of nested arrays and objects in a document, itself included. It is well below `JSON.depthMax`, so that the
    /// document can be parsed again inside a list of results or an including object.
    static let depthMax = 40
    /// Limit of relation fields that clients may add to a class. Every object of the class shows each of them.
    static let relationFieldsMax = 16
    /// Limit of the gap between the end of an array and an element that is set by its index.
    private static let gapMax = 1000
    /// Special fields whose members cannot be changed by dotted names.
    private static let wholeFields: Set<String> = ["ACL", "objectId", "createdAt", "updatedAt", "className", "id"]

    init(info: ClassInfo, document: [String: JSON], isNew: Bool, caller: Caller) throws {
        self.info = info
        self.document = document
        self.isNew = isNew
        self.caller = caller
        access = try AccessControl(document["ACL"])
    }

    /// Applies a client's changes.
    /// - Throws: `ParseError` for names, values and types that are not allowed.
    mutating func apply(_ changes: [String: JSON]) throws {
        for (key, value) in changes.sorted(by: { $0.key < $1.key }) {
            switch key {
            case "objectId", "createdAt", "updatedAt", "className", "__type": continue  // Clients cannot set these.
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

    /// Fills in defaults and refuses an object that lacks a required field. An update is checked only for the fields
    /// that it changes.
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

    /// Sets the class's default ACL on a new object without an ACL.
    mutating func applyDefaultACL() throws {
        guard document["ACL"]?.isNull ?? true, let acl = info.permissions.initialACL(of: caller) else { return }
        try setAccess(acl)
        defaulted.append("ACL")
    }

    private mutating func setAccess(_ value: JSON) throws {
        access = try AccessControl(value["__op"] == "Delete" ? nil : value)
        document["ACL"] = access.wire
    }

    private mutating func apply(_ value: JSON, to key: String) throws {
        guard let path = try? FieldPath(inMemory: key), Names.isFieldName(path.root),
            !path.isDotted || !ObjectDraft.wholeFields.contains(path.root)
        else {
            throw JSON.isProhibited(key, value) ? ParseError.prohibitedKey(key) : ParseError.invalidFieldName(key)
        }
        // A client that saves all fields again sends its relations too, even some whose target class it does not know.
        if value.wireType == "Relation", value["className"]?.isNull ?? true, case .relation? = info.fields[path.root] {
            return
        }
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
        // Removed from the document, so that each of many changes to members of one value happens in place.
        var result = document.removeValue(forKey: field)
        if names.count == 1 {
            result = try operation.result(for: result, isNew: isNew) {
                mismatch(field, expected: info.fields[field] ?? .object, got: $0)
            }
        } else {
            try nested(operation, names[...].dropFirst(), in: &result, of: field)
        }
        if let type = result.flatMap(FieldType.init(of:)) { try learn(type, field) }
        document[field] = result
        if operation.isEchoed { echoed.append(field) }
    }

    /// Applies an operation to a member of an Object field, or to an element of an Array field given by its index.
    private func nested(
        _ operation: FieldOperation, _ names: ArraySlice<String>, in container: inout JSON?, of field: String
    ) throws {
        guard let name = names.first else {
            container = try operation.result(for: container, isNew: isNew) {
                mismatch(field, expected: .object, got: $0)
            }
            return
        }
        try WireValue.checkNestedKey(name, .null)
        switch JSONContainer(container) {
        case .missing:
            if case .delete = operation { return }
            let isArray = names.startIndex == 1 && info.fields[field] == .array && FieldPath.index(name) != nil
            container = isArray ? [] : [:]
            try nested(operation, names, in: &container, of: field)
        case .object:
            var members = container.takeMembers()
            var member = members.removeValue(forKey: name)
            try nested(operation, names.dropFirst(), in: &member, of: field)
            members[name] = member
            container = .object(members)
        case .array(let count):
            guard let index = FieldPath.index(name) else { throw mismatch(field, expected: .array, got: .object) }
            let isThere = index < count
            if case .delete = operation, !isThere { return }
            guard index <= count + ObjectDraft.gapMax else {
                throw ParseError(.invalidKeyName, "Invalid field name: the array \(field) has no element \(index).")
            }
            var elements = container.takeElements()
            // As in MongoDB, the elements of the gap are null, and a removed element becomes null, so that the others
            // keep their positions.
            while elements.count <= index { elements.append(.null) }
            var element = isThere ? elements[index] : nil
            elements[index] = .null
            try nested(operation, names.dropFirst(), in: &element, of: field)
            elements[index] = element ?? .null
            container = .array(elements)
        case .other:
            throw mismatch(field, expected: container.flatMap(FieldType.init(of:)) ?? .object, got: .object)
        }
    }

    private func mismatch(_ field: String, expected: FieldType, got: FieldType) -> ParseError {
        ParseError.schemaMismatch(info.name, field, expected: expected, got: got)
    }

    /// Checks a type against the class; adds a new field to the class.
    private mutating func learn(_ type: FieldType, _ field: String) throws {
        if let expected = info.fields[field] {
            if !expected.accepts(type) { throw mismatch(field, expected: expected, got: type) }
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

    /// True when one of the fields is a pointer to the caller, or an array that contains one.
    static func namesCaller(_ caller: Caller, in document: [String: JSON], _ fields: [String]) -> Bool {
        guard let userId = caller.userId else { return false }
        let user = JSON.pointer("_User", userId)
        return fields.contains { field in
            document[field] == user || document[field]?.arrayValue?.contains(user) == true
        }
    }
}
