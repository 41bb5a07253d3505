import ParseProtocol

/// An expression that a stage computes from a document: `"$price"`, `{"$multiply": ["$price", "$quantity"]}`, a
/// constant.
indirect enum AggregateExpression {
    case constant(JSON)
    case field(AggregatePath)
    /// `$$ROOT`: the whole document.
    case document
    case object([String: AggregateExpression])
    case array([AggregateExpression])
    case operation(ExpressionOperator, [AggregateExpression])
    case dateText(DateFormat, AggregateExpression)

    /// Limit of nesting; handwritten expressions stay below it.
    private static let depthMax = 24

    /// - Throws: `.invalidQuery` (102) for an invalid expression, `.invalidKeyName` (105) for an invalid name,
    ///   `.invalidJSON` (107) or `.incorrectType` (111) for an invalid constant.
    init(_ json: JSON, depth: Int = 0) throws {
        guard depth <= AggregateExpression.depthMax else {
            throw ParseError(
                .invalidQuery, "An expression may nest at most \(AggregateExpression.depthMax) levels.")
        }
        switch json {
        case .string(let text) where text.hasPrefix("$$"): self = try AggregateExpression.variable(text.dropFirst(2))
        case .string(let text) where text.hasPrefix("$"): self = .field(try AggregatePath(String(text.dropFirst())))
        case .array(let elements):
            self = .array(try elements.map { try AggregateExpression($0, depth: depth + 1) })
        case .object(let members) where members["__type"] == nil:
            if let name = members.keys.first(where: { $0.hasPrefix("$") }), let operand = members[name] {
                guard members.count == 1 else {
                    throw ParseError(.invalidQuery, "An operator must be alone in its object: \(name.prefix(100))")
                }
                self = try AggregateExpression.operation(name, operand, depth)
                return
            }
            var parts: [String: AggregateExpression] = [:]
            for (name, member) in members {
                guard Names.isIdentifier(name) else {
                    throw ParseError(.invalidKeyName, "Invalid key name: \(name.prefix(200))")
                }
                parts[name] = try AggregateExpression(member, depth: depth + 1)
            }
            self = .object(parts)
        default: self = .constant(try WireValue.normalized(json))
        }
    }

    private static func variable(_ name: Substring) throws -> AggregateExpression {
        for root in ["ROOT", "CURRENT"] {
            if name == root { return .document }
            if name.hasPrefix(root + ".") { return .field(try AggregatePath(String(name.dropFirst(root.count + 1)))) }
        }
        if name == "NOW" { return .constant(Timestamp.now.wire) }
        throw ParseError(.invalidQuery, "Unknown variable: $$\(name.prefix(100))")
    }

    private static func operation(_ name: String, _ operand: JSON, _ depth: Int) throws -> AggregateExpression {
        if name == "$literal" { return .constant(try WireValue.normalized(operand)) }
        if name == "$dateToString" {
            guard let date = operand["date"], operand["timezone"] == nil, operand["onNull"] == nil else {
                throw ParseError(.invalidQuery, "$dateToString needs a date and supports only UTC.")
            }
            return .dateText(
                try DateFormat(operand["format"] ?? "%Y-%m-%dT%H:%M:%S.%LZ"),
                try AggregateExpression(date, depth: depth + 1))
        }
        guard let operation = ExpressionOperator(rawValue: String(name.dropFirst())) else {
            throw ParseError(.invalidQuery, "Unrecognized expression '\(name.prefix(100))'")
        }
        var operands: [JSON]
        switch operand {
        case .array(let elements): operands = elements
        case .object(let members) where operation == .cond:
            guard members.count == 3, let condition = members["if"], let yes = members["then"], let no = members["else"]
            else { throw ParseError(.invalidQuery, "$cond needs if, then and else.") }
            operands = [condition, yes, no]
        case .object(let members) where operation.isDatePart && members["date"] != nil:
            guard members.count == 1 else { throw ParseError(.invalidQuery, "\(name) supports only UTC.") }
            operands = [members["date"] ?? .null]
        default: operands = [operand]
        }
        guard operation.operandCount.contains(operands.count) else {
            throw ParseError(.invalidQuery, "\(name) does not take \(operands.count) operands.")
        }
        return .operation(operation, try operands.map { try AggregateExpression($0, depth: depth + 1) })
    }

    // MARK: Values

    /// The value for a document; nil for a missing value, which differs from null where fields are created.
    /// - Throws: `.invalidQuery` (102) when a value does not have the type that an operator needs.
    func value(in document: JSON) throws -> JSON? {
        switch self {
        case .constant(let value): return value
        case .field(let path): return path.value(in: document)
        case .document: return document
        case .object(let parts): return .object(try parts.compactMapValues { try $0.value(in: document) })
        case .array(let parts): return .array(try parts.map { try $0.value(in: document) ?? .null })
        case .operation(let operation, let operands): return try operation.value(of: operands, in: document)
        case .dateText(let format, let date):
            guard let value = try date.value(in: document), !value.isNull else { return .null }
            guard let time = value.timestamp else { throw ParseError(.invalidQuery, "$dateToString needs a Date.") }
            return .string(format.text(of: time))
        }
    }

    /// The fields that the expression reads; nil for all.
    var roots: Set<String>? {
        switch self {
        case .constant: return []
        case .field(let path): return [path.storedRoot]
        case .document: return nil
        case .object(let parts): return AggregateExpression.roots(of: Array(parts.values))
        case .array(let parts), .operation(_, let parts): return AggregateExpression.roots(of: parts)
        case .dateText(_, let date): return date.roots
        }
    }

    static func roots(of parts: [AggregateExpression]) -> Set<String>? {
        var all: Set<String> = []
        for part in parts {
            guard let roots = part.roots else { return nil }
            all.formUnion(roots)
        }
        return all
    }
}
