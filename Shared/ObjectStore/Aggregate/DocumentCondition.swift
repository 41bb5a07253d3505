import ParseProtocol

/// A `$match` after stages that create new documents, evaluated in memory. The first `$match` of a pipeline is SQL.
indirect enum DocumentCondition {
    case all([DocumentCondition])
    case any([DocumentCondition])
    case not(DocumentCondition)
    case field(AggregatePath, Test)
    case expression(AggregateExpression)

    enum Test {
        case equals(JSON)
        case compares(JSON, @Sendable (Int) -> Bool)
        case isIn([JSON])
        case hasAll([JSON])
        case exists(Bool)
        case matches(Regex)
        case hasSize(Int64)
    }

    /// - Throws: `.invalidQuery` (102) or `.invalidJSON` (107) for an invalid condition, `.invalidKeyName` (105) for an
    ///   invalid name.
    init(_ json: JSON, depth: Int = 0) throws {
        guard case .object(let members) = json else { throw ParseError(.invalidQuery, "$match needs an object.") }
        guard depth < ConditionCompiler.depthMax else {
            throw ParseError(.invalidQuery, "A query may nest at most \(ConditionCompiler.depthMax) levels.")
        }
        var parts: [DocumentCondition] = []
        for (name, value) in members {
            switch name {
            case "$and": parts.append(.all(try DocumentCondition.clauses(name, value, depth)))
            case "$or": parts.append(.any(try DocumentCondition.clauses(name, value, depth)))
            case "$nor": parts.append(.not(.any(try DocumentCondition.clauses(name, value, depth))))
            case "$expr": parts.append(.expression(try AggregateExpression(value)))
            default: parts.append(.all(try DocumentCondition.tests(of: try AggregatePath(name), value)))
            }
        }
        self = .all(parts)
    }

    private static func clauses(_ name: String, _ value: JSON, _ depth: Int) throws -> [DocumentCondition] {
        guard case .array(let clauses) = value, !clauses.isEmpty else {
            throw ParseError(.invalidQuery, "Bad \(name) format - use an array value.")
        }
        return try clauses.map { try DocumentCondition($0, depth: depth + 1) }
    }

    private static func tests(of path: AggregatePath, _ value: JSON) throws -> [DocumentCondition] {
        guard case .object(let members) = value, members.keys.contains(where: { $0.hasPrefix("$") }) else {
            return [.field(path, .equals(try operand(value, path)))]
        }
        return try members.compactMap { name, operand in
            try test(name, operand, siblings: members, path)
        }
    }

    private static func test(
        _ name: String, _ raw: JSON, siblings: [String: JSON], _ path: AggregatePath
    ) throws -> DocumentCondition? {
        func list() throws -> [JSON] {
            guard case .array(let values) = raw, values.count <= ConditionCompiler.listMax else {
                throw ParseError(.invalidJSON, "bad \(name) value")
            }
            return try values.map { try operand($0, path) }
        }
        func compares(_ holds: @escaping @Sendable (Int) -> Bool) throws -> DocumentCondition {
            .field(path, .compares(try operand(raw, path), holds))
        }
        switch name {
        case "$eq": return .field(path, .equals(try operand(raw, path)))
        case "$ne": return .not(.field(path, .equals(try operand(raw, path))))
        case "$lt": return try compares { $0 < 0 }
        case "$lte": return try compares { $0 <= 0 }
        case "$gt": return try compares { $0 > 0 }
        case "$gte": return try compares { $0 >= 0 }
        case "$in": return .field(path, .isIn(try list()))
        case "$nin": return .not(.field(path, .isIn(try list())))
        case "$all": return .field(path, .hasAll(try list()))
        case "$not":
            guard case .object = raw else { throw ParseError(.invalidJSON, "bad $not value") }
            return .not(.all(try tests(of: path, raw)))
        case "$exists":
            guard case .bool(let isWanted) = raw else { throw ParseError(.invalidJSON, "bad $exists value") }
            return .field(path, .exists(isWanted))
        case "$size":
            guard let count = raw.intValue, count >= 0 else { throw ParseError(.invalidJSON, "bad $size value") }
            return .field(path, .hasSize(count))
        case "$regex":
            guard case .string(let pattern) = raw, case .string(let options) = siblings["$options"] ?? "" else {
                throw ParseError(.invalidQuery, "$regex must be a string.")
            }
            return .field(path, .matches(try Regex(pattern: pattern, options: options)))
        case "$options": return nil
        default:
            throw ParseError(
                .invalidQuery, "\(name.prefix(100)) is only possible in a $match that comes before all other stages.")
        }
    }

    /// A value of a condition in the form of document values.
    private static func operand(_ raw: JSON, _ path: AggregatePath) throws -> JSON {
        let value = try WireValue.normalized(raw)
        // Clients may send the times of these two fields as plain texts.
        if ["createdAt", "updatedAt"].contains(path.root), let time = value.stringValue.flatMap(Timestamp.init(iso:)) {
            return time.wire
        }
        return value
    }

    // MARK: Evaluation

    /// - Throws: `WorkInterrupted` when the limit ends a match; errors of expressions.
    func holds(for document: JSON, _ limit: TimeLimit) throws -> Bool {
        switch self {
        case .all(let parts): return try parts.allSatisfy { try $0.holds(for: document, limit) }
        case .any(let parts): return try parts.contains { try $0.holds(for: document, limit) }
        case .not(let part): return try !part.holds(for: document, limit)
        case .field(let path, let test): return try test.holds(for: path.value(in: document), limit)
        case .expression(let expression): return try expression.value(in: document) == true
        }
    }

    /// The fields that the condition reads; nil for all.
    var roots: Set<String>? {
        switch self {
        case .all(let parts), .any(let parts):
            var all: Set<String> = []
            for part in parts {
                guard let roots = part.roots else { return nil }
                all.formUnion(roots)
            }
            return all
        case .not(let part): return part.roots
        case .field(let path, _): return [path.storedRoot]
        case .expression(let expression): return expression.roots
        }
    }
}

extension DocumentCondition.Test {
    fileprivate func holds(for value: JSON?, _ limit: TimeLimit) throws -> Bool {
        switch self {
        case .exists(let isWanted): return (value != nil) == isWanted
        case .equals(.null): return value == nil || candidates(value).contains(.null)
        case .equals(let wanted): return candidates(value).contains { ValueOrder.compare($0, wanted) == 0 }
        case .compares(let operand, let holds):
            return candidates(value).contains {
                ValueOrder.areComparable($0, operand) && holds(ValueOrder.compare($0, operand))
            }
        case .isIn(let list):
            if value == nil { return list.contains(.null) }
            return candidates(value).contains { value in list.contains { ValueOrder.compare($0, value) == 0 } }
        case .hasAll(let list):
            let values = candidates(value)
            return !list.isEmpty
                && list.allSatisfy { wanted in values.contains { ValueOrder.compare($0, wanted) == 0 } }
        case .matches(let regex):
            return try candidates(value).contains { value in
                guard case .string(let text) = value else { return false }
                return try regex.matches(text, limit)
            }
        case .hasSize(let count): return value?.arrayValue.map { Int64($0.count) == count } ?? false
        }
    }

    /// The value and, for an array, also its elements. The test holds if it holds for any of these.
    private func candidates(_ value: JSON?) -> [JSON] {
        guard let value else { return [] }
        if case .array(let elements) = value { return [value] + elements }
        return [value]
    }
}
