import ParseProtocol

/// Objects as webhooks are told of them, and what a webhook's answer changes.
package enum HookedObject {
    /// Never told, and never taken from an answer.
    private static let secrets: Set<String> = ["password", "authData", "sessionToken"]
    /// The service's to set, whatever an answer says.
    private static let fixed: Set<String> = ["objectId", "createdAt", "updatedAt", "className", "__type", "id"]

    static func told(_ object: JSON, of className: String) -> JSON {
        var members = (object.objectValue ?? [:]).filter { !secrets.contains($0.key) }
        members["className"] = .string(className)
        return .object(members)
    }

    /// The object that a change would make of another, before the service looks at it: operators are applied as far as
    /// they fit.
    static func merged(_ changes: JSON, into original: JSON?, of className: String) -> JSON {
        var object = original ?? [:]
        for (key, value) in (changes.objectValue ?? [:]).sorted(by: { $0.key < $1.key }) {
            if fixed.contains(key) && key != "objectId" { continue }
            let path = key.split(separator: ".").map(String.init)
            guard let first = path.first else { continue }
            object[first] = applied(value, to: object[first], path.dropFirst())
        }
        return told(object, of: className)
    }

    private static func applied(_ value: JSON, to current: JSON?, _ path: ArraySlice<String>) -> JSON? {
        guard let name = path.first else { return result(of: value, current) }
        var container = current?.objectValue == nil ? [:] : current ?? [:]
        container[name] = applied(value, to: container[name], path.dropFirst())
        return container
    }

    private static func result(of value: JSON, _ current: JSON?) -> JSON? {
        let objects = value["objects"]?.arrayValue ?? []
        let elements = current?.arrayValue ?? []
        switch value["__op"]?.stringValue {
        case nil: return value
        case "Delete": return nil
        case "Increment":
            guard let amount = value["amount"]?.doubleValue else { return current }
            let sum = (current?.doubleValue ?? 0) + amount
            return sum.isFinite ? JSON(number: sum) : current
        case "Add": return .array(elements + objects)
        case "AddUnique": return .array(elements + objects.filter { !elements.contains($0) })
        case "Remove": return .array(elements.filter { !objects.contains($0) })
        case "SetOnInsert": return current ?? value["amount"]
        default: return current
        }
    }

    /// An object that `merged` made, with those operators of the change in it that depend on what is stored: what
    /// another client writes meanwhile is then not lost where code has added to the field as well.
    package static func withOperators(of changes: JSON, _ object: JSON) -> JSON {
        var object = object
        for (key, value) in changes.objectValue ?? [:] where !key.contains(".") && !secrets.contains(key) {
            guard let name = value["__op"]?.stringValue else { continue }
            if addingOperators.contains(name) || relatedClasses(of: value)?.count == 1 { object[key] = value }
        }
        return object
    }

    /// The classes of the objects that an operator on a relation names; nil for another operator, and for one that the
    /// service will refuse.
    private static func relatedClasses(of value: JSON) -> Set<String>? {
        var classes: Set<String> = []
        switch value["__op"] {
        case "AddRelation", "RemoveRelation":
            for object in value["objects"]?.arrayValue ?? [] {
                guard object.wireType == "Pointer", let name = object["className"]?.stringValue,
                    object["objectId"]?.stringValue != nil
                else { return nil }
                classes.insert(name)
            }
        case "Batch":
            for part in value["ops"]?.arrayValue ?? [] {
                // None is inside of another one.
                guard part["__op"] != "Batch", let named = relatedClasses(of: part), !named.isEmpty else { return nil }
                classes.formUnion(named)
            }
        default: return nil
        }
        return classes
    }

    private static let addingOperators: Set<String> = ["Increment", "Add", "AddUnique", "Remove"]

    /// The operators that `merged` shows the outcome of.
    private static let shownOperators: Set<String> = [
        "Delete", "Increment", "Add", "AddUnique", "Remove", "SetOnInsert",
    ]

    /// The fields that a change writes and that can be told: those that `merged` has, those that it removes, and those
    /// that are told as operators.
    package static func written(by changes: JSON, told object: JSON) -> Set<String> {
        let fields = (changes.objectValue ?? [:]).filter { key, value in
            guard let name = value["__op"]?.stringValue else { return true }
            return shownOperators.contains(name) || object[key] == value
        }
        return Set(fields.keys.map { String($0.prefix { $0 != "." }) }).subtracting(secrets).subtracting(fixed)
    }

    /// The fields that an answer changes: those whose value is not what the webhook was told. A webhook that sends the
    /// whole object back changes nothing by it, and an operator of the client's stays one.
    static func replaced(by answer: JSON, told: JSON) -> [String: JSON] {
        (answer.objectValue ?? [:]).filter { key, value in
            !fixed.contains(key) && !secrets.contains(key) && value.wireType != "Relation" && told[key] != value
                // Nothing is not removed once more.
                && !(value["__op"] == "Delete" && told[key] == nil)
        }
    }

    /// A client's answer with the fields that a webhook set.
    /// - Parameters:
    ///   - stored: the object as the client may read it.
    ///   - tellsRemovals: whether the client knows what `{"__op":"Delete"}` in an answer is.
    package static func told(
        _ answer: JSON, _ fields: [String: JSON], stored: JSON, tellsRemovals: Bool
    ) -> JSON {
        var answer = answer
        for (field, value) in fields {
            if value["__op"] == "Delete" {
                answer[field] = tellsRemovals ? ["__op": "Delete"] : nil
            } else {
                answer[field] = stored[field] ?? answer[field]
            }
        }
        return answer
    }

    /// The client's document with a webhook's fields in it.
    /// - Parameter takenBack: the fields that the client shall not write.
    static func document(
        _ document: JSON, replacing fields: [String: JSON], without takenBack: Set<String> = []
    ) -> JSON {
        guard !fields.isEmpty || !takenBack.isEmpty, case .object(var members) = document else { return document }
        for key in members.keys {
            // What the client set inside a field is replaced with the field.
            let field = String(key.prefix { $0 != "." })
            if fields[field] != nil || takenBack.contains(field) { members[key] = nil }
        }
        return .object(members.merging(fields) { _, new in new })
    }
}
