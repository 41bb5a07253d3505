import ParseProtocol

/// The validated options of `/aggregate/<Class>` (PARSE_PROTOCOL section 4.2): the field for distinct values, or a
/// pipeline as an array, as an object, or with one parameter per stage.
struct AggregateOptions {
    private(set) var distinct: String?
    /// JSON text of the `where` object for distinct values; empty means all.
    private(set) var filter: [UInt8] = []
    private(set) var stages: [JSON] = []
    private(set) var explains = false

    /// The stage whose members have a significant order: the keys to sort by.
    private static let sort = "$sort"

    /// - Throws: `.invalidQuery` (102) or `.invalidJSON` (107).
    init(_ request: ParseRequest) throws(ParseError) {
        for (name, value) in try Self.parameters(of: request) {
            switch name {
            case "pipeline": stages += try Self.stages(value)
            case "distinct":
                guard let field = value.stringValue.map(OptionValue.unquoted), !field.isEmpty else {
                    throw ParseError(.invalidQuery, "distinct must be the name of a field.")
                }
                distinct = field
            case "where": filter = try OptionValue.condition(value) ?? []
            case "explain":
                switch value {
                case .bool(let flag): explains = flag
                case .string("queryPlanner"), .string("executionStats"), .string("allPlansExecution"): explains = true
                default: throw ParseError(.invalidQuery, "Invalid value for explain")
                }
            case "hint", "comment", "readPreference", "includeReadPreference", "subqueryReadPreference": break
            default:
                // Old servers accepted stage names without a dollar sign.
                guard name.hasPrefix("$") else {
                    throw ParseError(.invalidQuery, "Invalid aggregate stage '\(name.prefix(100))'.")
                }
                stages.append(.object([name: value]))
            }
        }
    }

    private static func stages(_ pipeline: JSON) throws(ParseError) -> [JSON] {
        var stages: [JSON] = []
        switch pipeline {
        case .array(let elements):
            for element in elements {
                // A pair is a member of a pipeline in object form.
                if case .array(let pair) = element, pair.count == 2, case .string(let name) = pair[0] {
                    stages.append(.object([name: pair[1]]))
                } else {
                    stages.append(element)
                }
            }
        case .object(let members) where members.count <= 1: stages = members.isEmpty ? [] : [pipeline]
        default: throw ParseError(.invalidQuery, "A pipeline must be an array of stages.")
        }
        return stages
    }

    /// The request's parameters in their order: first the body's, then the query string's, which take precedence.
    private static func parameters(of request: ParseRequest) throws(ParseError) -> [(name: String, value: JSON)] {
        guard let query = request.query, !query.isEmpty else { return try parameters(ofBody: request) }
        let inQuery = try ParseRequest.orderedPairs(Substring(query).utf8).map { pair in
            (name: pair.name, value: value(pair.value, of: pair.name))
        }
        let names = Set(inQuery.map(\.name))
        return try parameters(ofBody: request).filter { !names.contains($0.name) } + inQuery
    }

    private static func parameters(ofBody request: ParseRequest) throws(ParseError) -> [(name: String, value: JSON)] {
        guard let tunnelled = request.tunnelled else { return try members(request.body) }
        guard request.isInBatch || request.isForm else {
            // Credentials were removed from `tunnelled`, and here they have no meaning.
            return try members(request.body).filter { tunnelled[$0.name] != nil }
        }
        guard tunnelled.keys.count(where: { $0.hasPrefix("$") }) <= 1 else {
            throw ParseError(.invalidQuery, "Inside a batch and in a form the stages must be a pipeline array.")
        }
        return tunnelled.map { (name: $0.key, value: $0.value) }
    }

    /// A value of a query string: `where`, `distinct` and `comment` are texts; every other value is JSON if it parses.
    private static func value(_ text: String, of name: String) -> JSON {
        let isText = name == "where" || name == "distinct" || name == "comment"
        if isText { return .string(OptionValue.unquoted(text)) }
        let ordered: Set<String> = name == "pipeline" || name == sort ? ["", sort] : [sort]
        return (try? JSON(parsing: Array(text.utf8), membersInOrderOf: ordered)) ?? .string(text)
    }

    private static func members(_ body: [UInt8]) throws(ParseError) -> [(name: String, value: JSON)] {
        if body.isEmpty { return [] }
        guard case .array(let pairs) = try? JSON(parsing: body, membersInOrderOf: ["", "pipeline", Self.sort]) else {
            throw ParseError(.invalidJSON, "The body must be a JSON object.")
        }
        return pairs.compactMap { pair in
            guard case .array(let parts) = pair, parts.count == 2, case .string(let name) = parts[0] else { return nil }
            return (name, parts[1])
        }
    }
}
