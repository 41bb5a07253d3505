import ParseProtocol

/// Objects in the form that hooks get, and the effect of a hook's result.
package enum HookedObject {
    /// Ignored in results; only cloud code gets any of them.
    static let secrets: Set<String> = ["password", "authData", "sessionToken"]
    /// The secrets that the object never includes. Cloud code gets `authData` of users, reduced to ids.
    private static func hidden(of className: String) -> Set<String> {
        className == "_User" ? secrets.subtracting(["authData"]) : secrets
    }
    /// Only the service sets these fields; their values in results are ignored.
    private static let fixed: Set<String> = ["objectId", "createdAt", "updatedAt", "className", "__type", "id"]

    /// An object in the form that a hook gets.
    static func forHook(_ object: JSON, of className: String) -> JSON {
        let hidden = hidden(of: className)
        var members = (object.objectValue ?? [:]).filter { !hidden.contains($0.key) }
        members["className"] = .string(className)
        return .object(members)
    }

    /// The object that a change would produce, before the service checks it. Operators are applied as far as they fit.
    package static func merged(_ changes: JSON, into original: JSON?, of className: String) -> JSON {
        var object = original?.objectValue ?? [:]
        for (key, value) in (changes.objectValue ?? [:]).sorted(by: { $0.key < $1.key }) {
            if fixed.contains(key) && key != "objectId" { continue }
            let path = key.split(separator: ".").map(String.init)
            guard let first = path.first else { continue }
            if className == "_User", first == "authData" {
                if path.count == 1 { object[first] = links(object[first], without: value) }
                continue
            }
            apply(value, to: &object[first], path.dropFirst())
        }
        return forHook(.object(object), of: className)
    }

    /// Elements that a path may add past the end of an array, as in the store.
    private static let gapMax = 1000

    private static func apply(_ value: JSON, to current: inout JSON?, _ path: ArraySlice<String>) {
        guard let name = path.first else {
            current = result(of: value, current)
            return
        }
        let isDelete = value["__op"] == "Delete"
        switch JSONContainer(current) {
        case .missing where isDelete: return
        case .missing, .object:
            var members = current.takeMembers()
            apply(value, to: &members[name], path.dropFirst())
            current = .object(members)
        case .array(let count):
            // The service refuses a value that does not fit.
            guard let index = index(name), index <= count + gapMax, index < count || !isDelete else { return }
            var elements = current.takeElements()
            while elements.count <= index { elements.append(.null) }
            var element: JSON? = index < count ? elements[index] : nil
            elements[index] = .null
            apply(value, to: &element, path.dropFirst())
            elements[index] = element ?? .null
            current = .array(elements)
        case .other: return
        }
    }

    private static func index(_ name: String) -> Int? {
        guard let index = Int(name), index >= 0, String(index) == name else { return nil }
        return index
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
        case "AddUnique":
            var present = Set(elements)
            return .array(elements + objects.filter { present.insert($0).inserted })
        case "Remove":
            let gone = Set(objects)
            return .array(elements.filter { !gone.contains($0) })
        case "SetOnInsert": return current ?? value["amount"]
        default: return current
        }
    }

    /// An object from `merged`, with the change's operators that depend on the stored value. Code that adds to the same
    /// field then does not overwrite another client's concurrent change.
    package static func withOperators(of changes: JSON, _ object: JSON) -> JSON {
        var object = object
        for (key, value) in changes.objectValue ?? [:] where !key.contains(".") && !secrets.contains(key) {
            if isAdding(value) || relatedClasses(of: value)?.count == 1 { object[key] = value }
        }
        return object
    }

    /// Levels of a path to a member that code gets as an operation: as many as the store supports.
    private static let pathDepthMax = 16

    /// The operations of a change on members of fields (`stats.red`), by path. Code gets the operations themselves, so
    /// that its own and the client's are combined. A field is left out when the change sets it as a whole, or when one
    /// of its operations cannot be passed on: then the code gets its value.
    package static func members(of changes: JSON, sent object: JSON) -> [String: JSON] {
        var members: [String: JSON] = [:]
        var excluded: Set<String> = []
        for (path, value) in changes.objectValue ?? [:] {
            guard path.contains(".") else {
                if value["__op"] == nil || object[path] != value { excluded.insert(path) }
                continue
            }
            if secrets.contains(root(of: path)) { continue }
            let names = path.split(separator: ".", omittingEmptySubsequences: false)
            let isNamed =
                names.count <= pathDepthMax
                && !names.contains { $0.isEmpty || JSON.isProhibited(String($0), .null) }
            let isIncluded = isNamed && (value["__op"] == nil || value["__op"] == "Delete" || isAdding(value))
            if isIncluded { members[path] = value } else { excluded.insert(root(of: path)) }
        }
        excluded.formUnion(secrets.union(fixed))
        return members.filter { !excluded.contains(root(of: $0.key)) }
    }

    /// The field that a path leads into.
    private static func root(of path: String) -> String { String(path.prefix { $0 != "." }) }

    /// The classes of the objects in an operator on a relation; nil for another operator, and for one the service
    /// will refuse.
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
                // A `Batch` cannot contain another one.
                guard part["__op"] != "Batch", let named = relatedClasses(of: part), !named.isEmpty else { return nil }
                classes.formUnion(named)
            }
        default: return nil
        }
        return classes
    }

    /// Whether a value is a valid operator whose outcome depends on the stored value.
    private static func isAdding(_ value: JSON) -> Bool {
        switch value["__op"] {
        case "Increment": value["amount"]?.doubleValue != nil
        case "Add", "AddUnique", "Remove": value["objects"]?.arrayValue != nil
        default: false
        }
    }

    /// The operators whose outcome `merged` computes.
    private static let shownOperators: Set<String> = [
        "Delete", "Increment", "Add", "AddUnique", "Remove", "SetOnInsert",
    ]

    /// The written fields that code can get: the fields in `merged`, the removed fields, and the fields passed as
    /// operators.
    package static func written(by changes: JSON, sent object: JSON) -> Set<String> {
        let fields = (changes.objectValue ?? [:]).filter { key, value in
            guard let name = value["__op"]?.stringValue else { return true }
            return shownOperators.contains(name) || object[key] == value
        }
        let links: Set<String> = object["className"] == "_User" && object["authData"] != nil ? ["authData"] : []
        return Set(fields.keys.map(root)).subtracting(secrets.subtracting(links)).subtracting(fixed)
    }

    /// The fields, and members of fields by path, that a result changes: their value differs from `sent`. A hook that
    /// returns the whole object therefore changes nothing, and an operator of the client remains an operator.
    package static func replaced(by answer: JSON, sent: JSON, members: [String: JSON] = [:]) -> [String: JSON] {
        let answered = (answer.objectValue ?? [:]).filter { key, value in
            !fixed.contains(key) && !secrets.contains(root(of: key)) && value.wireType != "Relation"
        }
        // An operation on a member applies to the value of its field in the same result.
        let reached = Set(
            answered.filter { $0.key.contains(".") && !isStoredAlike(members[$0.key], $0.value) }.keys.map(root))
        let fields = answered.filter { key, value in
            guard !key.contains(".") else { return false }
            if value["__op"] == "Delete", sent[key] == nil { return false }
            return !isStoredAlike(sent[key], value) || (reached.contains(key) && value["__op"] == nil)
        }
        return answered.filter { key, value in
            key.contains(".")
                ? !isStoredAlike(members[key], value) || fields[root(of: key)] != nil : fields[key] != nil
        }
    }

    /// The fields that code changed, for the client's response.
    package struct Changed: Sendable {
        /// The fields whose stored value the response includes.
        package private(set) var fields: Set<String> = []
        /// Fields of `fields` that count as removed when the client can read no value: the code removed them, or undid
        /// the client's change of a field that did not exist before.
        fileprivate var gone: Set<String> = []

        /// - Parameters:
        ///   - replaced: the values that the code set, by path.
        ///   - removedByCode: the paths of the client's changes that the code removed.
        ///   - original: the stored object before the change; nil for a create.
        package init(
            replaced: [String: JSON] = [:], removedByCode: Set<String> = [], original: JSON? = nil
        ) {
            for (path, value) in replaced {
                fields.insert(HookedObject.root(of: path))
                if value["__op"] == "Delete", !path.contains(".") { gone.insert(path) }
            }
            for field in removedByCode.map(HookedObject.root) {
                fields.insert(field)
                if original?[field] == nil { gone.insert(field) }
            }
            fields.subtract(HookedObject.fixed.union(HookedObject.secrets))
            gone.formIntersection(fields)
        }

        var isEmpty: Bool { fields.isEmpty }
    }

    /// A client's response with the fields that code set or removed.
    /// - Parameters:
    ///   - stored: the object as the client may read it.
    ///   - supportsRemovals: whether the client's SDK understands `{"__op":"Delete"}` in a response.
    package static func response(_ answer: JSON, with changed: Changed, stored: JSON, supportsRemovals: Bool) -> JSON {
        var answer = answer
        for field in changed.fields {
            if let value = stored[field] {
                answer[field] = value
            } else if changed.gone.contains(field) {
                answer[field] = supportsRemovals ? ["__op": "Delete"] : nil
            }
        }
        return answer
    }

    /// A client's response after `afterSave`: `{"answer": {…}}` replaces all of it except the object's identity;
    /// `{"changes": {…}}` are added.
    package static func response(_ answer: JSON, afterSave result: JSON, supportsRemovals: Bool) -> JSON {
        if case .object(let members)? = result["answer"] {
            let kept = (answer.objectValue ?? [:]).filter { identity.contains($0.key) || secrets.contains($0.key) }
            return .object(kept.merging(members) { _, new in new })
        }
        var answer = answer
        for (field, value) in result["changes"]?.objectValue ?? [:]
        where !fixed.contains(field) && !secrets.contains(field) {
            let isSent = value["__op"] != "Delete" || supportsRemovals
            answer[field] = isSent ? value : nil
        }
        return answer
    }

    private static let identity: Set<String> = ["objectId", "createdAt", "updatedAt"]

    /// The client's document with a hook's fields.
    /// - Parameter removedByCode: the fields, and paths of members, that the client must not write.
    package static func document(
        _ document: JSON, replacing fields: [String: JSON], without removedByCode: Set<String> = []
    ) -> JSON {
        guard !fields.isEmpty || !removedByCode.isEmpty, case .object(var members) = document else { return document }
        for key in members.keys {
            // A new value of a field replaces the client's changes inside the field.
            let field = root(of: key)
            if fields[field] != nil || removedByCode.contains(field) || removedByCode.contains(key) {
                members[key] = nil
            }
        }
        return .object(members.merging(fields) { _, new in new })
    }
}
