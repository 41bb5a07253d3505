import ParseProtocol

/// A change of one field, as in `{"__op": …}` (PARSE_PROTOCOL section 2.1).
enum FieldOperation {
    case set(JSON)
    case delete
    case increment(JSON)
    case add([JSON])
    case addUnique([JSON])
    case remove([JSON])
    /// Target ids of pointers, all to one class (nil when both lists are empty).
    case relate(target: String?, added: [String], removed: [String])
    /// Takes effect only when the object is created.
    case setOnInsert(JSON)

    /// - Throws: `.invalidJSON` (107) for a malformed operator, `.commandUnavailable` (108) for an unknown one,
    ///   `.incorrectType` (111) for invalid values.
    init(_ value: JSON) throws {
        guard case .object(let members) = value, let name = members["__op"] else {
            self = .set(try WireValue.normalized(value))
            return
        }
        switch name.stringValue {
        case "Delete": self = .delete
        case "Increment":
            guard let amount = members["amount"], amount.doubleValue != nil else {
                throw ParseError(.invalidJSON, "incrementing must provide a number")
            }
            self = .increment(try WireValue.normalized(amount))
        case "SetOnInsert": self = .setOnInsert(try WireValue.normalized(members["amount"] ?? .null))
        case "Add": self = .add(try FieldOperation.objects(members))
        case "AddUnique": self = .addUnique(try FieldOperation.objects(members))
        case "Remove": self = .remove(try FieldOperation.objects(members))
        case "AddRelation":
            let targets = try FieldOperation.targets(members)
            self = .relate(target: targets.className, added: targets.ids, removed: [])
        case "RemoveRelation":
            let targets = try FieldOperation.targets(members)
            self = .relate(target: targets.className, added: [], removed: targets.ids)
        case "Batch": self = try FieldOperation.batch(members)
        case let name:
            throw ParseError(
                .commandUnavailable, "The \((name ?? "given").prefix(40)) operator is not supported yet.")
        }
    }

    /// True when the response includes the resulting value.
    var isEchoed: Bool {
        switch self {
        case .increment, .add, .addUnique, .remove: true
        default: false
        }
    }

    private static func objects(_ members: [String: JSON]) throws -> [JSON] {
        guard let objects = members["objects"]?.arrayValue else {
            throw ParseError(.invalidJSON, "objects to add must be an array")
        }
        return try objects.map(WireValue.normalized)
    }

    private static func targets(_ members: [String: JSON]) throws -> (className: String?, ids: [String]) {
        var className: String?
        let ids = try objects(members).map { object -> String in
            guard let target = object.pointerTarget, className == nil || className == target.className else {
                throw ParseError(.incorrectType, "The objects of a relation must be pointers to one class.")
            }
            className = target.className
            return target.objectId
        }
        return (className, ids)
    }

    private static func batch(_ members: [String: JSON]) throws -> FieldOperation {
        guard let operations = members["ops"]?.arrayValue, operations.count <= 100 else {
            throw ParseError(.invalidJSON, "The ops of a Batch operator must be an array.")
        }
        var target: String?
        // The last operation on an object wins.
        var isAdded: [String: Bool] = [:]
        for operation in operations {
            guard operation["__op"] != "Batch",
                case .relate(let className, let more, let fewer) = try FieldOperation(operation),
                className == nil || target == nil || className == target
            else { throw ParseError(.incorrectType, "A Batch operator changes one relation.") }
            target = className ?? target
            for id in fewer { isAdded[id] = false }
            for id in more { isAdded[id] = true }
        }
        return .relate(
            target: target, added: isAdded.compactMap { $1 ? $0 : nil }, removed: isAdded.compactMap { $1 ? nil : $0 })
    }
}

extension JSON {
    /// The new value after a client's change, with or without an operator, for a value that is not a field; nil when it
    /// is deleted.
    /// - Parameter current: the value before; nil when there is none.
    /// - Throws: `ParseError` as for a field; `.invalidJSON` (107) for an operator on relations, `.incorrectType` (111)
    ///   for an operator that does not fit the current value.
    public func applied(to current: JSON?, named name: String) throws -> JSON? {
        let operation = try FieldOperation(self)
        if case .relate = operation {
            throw ParseError(.invalidJSON, "A relation is only possible as a field of an object.")
        }
        return try operation.result(for: current, isNew: current == nil) { needed in
            ParseError(.incorrectType, "The operator cannot be applied to \(name): it needs \(needed.label).")
        }
    }
}

// MARK: - Results

extension FieldOperation {
    /// The value after the change; nil for a deleted field.
    /// - Throws: `.incorrectType` (111) when the operator does not fit the current value.
    func result(for current: JSON?, isNew: Bool, mismatch: (FieldType) -> ParseError) throws -> JSON? {
        switch self {
        case .set(let value): return value
        case .delete: return nil
        case .setOnInsert(let value): return isNew ? value : current
        case .increment(let amount): return try FieldOperation.sum(current, amount, mismatch)
        case .add(let objects): return .array(try FieldOperation.array(current, mismatch) + objects)
        case .addUnique(let objects):
            var elements = try FieldOperation.array(current, mismatch)
            var known = Set(elements)
            for object in objects where known.insert(object).inserted { elements.append(object) }
            return .array(elements)
        case .remove(let objects):
            let gone = Set(objects)
            return .array(try FieldOperation.array(current, mismatch).filter { !gone.contains($0) })
        case .relate: return current
        }
    }

    private static func array(_ current: JSON?, _ mismatch: (FieldType) -> ParseError) throws -> [JSON] {
        switch current {
        case nil, .null: return []
        case .array(let elements): return elements
        default: throw mismatch(.array)
        }
    }

    private static func sum(_ current: JSON?, _ amount: JSON, _ mismatch: (FieldType) -> ParseError) throws -> JSON {
        switch (current, amount) {
        case (nil, _), (.null, _): return amount
        default:
            guard let a = current?.doubleValue, let b = amount.doubleValue else { throw mismatch(.number) }
            let sum = a + b
            guard sum.isFinite else { throw ParseError(.invalidJSON, "The number is too large.") }
            return JSON(number: sum)
        }
    }
}
