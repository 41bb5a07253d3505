import Messages
import ParseProtocol

/// A query for other objects inside a filter; its result replaces it as a list.
enum SubQuery {
    /// `$inQuery`, `$notInQuery`, `$select` and `$dontSelect`.
    case find(className: String, options: QueryOptions, filter: [String: JSON], key: String?)
    /// `$relatedTo` of an object that another service owns.
    case members(RelationMembers)

    /// Rows that one sub-query may return. A client that needs more has to send a separate query.
    static let rowsMax = 10_000

    /// - Throws: `.invalidQuery` (102) for a malformed sub-query.
    init(_ name: String, _ specification: JSON) throws(ParseError) {
        let selects = name.hasSuffix("elect")
        let query = selects ? specification["query"] : specification
        guard let query, let className = query["className"]?.stringValue, Names.isClassName(className),
            // These options would change the form of the response.
            ["explain", "after"].allSatisfy({ query[$0].map(OptionValue.isAbsent) ?? true })
        else { throw ParseError(.invalidQuery, "improper usage of \(name)") }
        let filter = try Self.condition(query["where"])
        var key: String?
        if selects {
            guard let wanted = specification["key"]?.stringValue, specification.objectValue?.count == 2,
                wanted.split(separator: ".", omittingEmptySubsequences: false).allSatisfy({
                    Names.isIdentifier(String($0))
                })
            else { throw ParseError(.invalidQuery, "improper usage of \(name)") }
            key = wanted
        }
        var options = QueryOptions()
        options.keys = [key ?? "objectId"]
        if let order = query["order"], !OptionValue.isAbsent(order) {
            options.order = try QueryOptions.list(order, "order")
        }
        options.limit = Self.rowsMax + 1
        if let limit = query["limit"], !OptionValue.isAbsent(limit) {
            options.limit = Int(min(try OptionValue.limit(limit), Int64(Self.rowsMax + 1)))
        }
        if let skip = query["skip"], !OptionValue.isAbsent(skip) {
            options.skip = Int(try OptionValue.skip(skip, max: .max))
        }
        if let key = query["redirectClassNameForKey"], !OptionValue.isAbsent(key) {
            options.redirectKey = try QueryOptions.redirectKey(key)
        }
        self = .find(className: className, options: options, filter: filter, key: key)
    }

    /// The members of the inner condition. An SDK omits an empty condition, and may send one as text.
    /// - Throws: `.invalidQuery` (102), or `.invalidJSON` (107) for a text that is not an object.
    private static func condition(_ value: JSON?) throws(ParseError) -> [String: JSON] {
        guard let value, let text = try OptionValue.condition(value) else { return [:] }
        if case .object(let members) = value { return members }
        guard case .object(let members) = try JSON(clientText: text) else {
            throw ParseError(.invalidJSON, "where must be a JSON object.")
        }
        return members
    }

    /// The sub-query with its class replaced by the class of its relation's members.
    func redirected(
        _ target: (_ key: String, _ className: String) async throws(ParseError) -> String
    )
        async throws(ParseError) -> SubQuery
    {
        guard case .find(let className, let options, let filter, let key) = self, let redirectKey = options.redirectKey
        else { return self }
        return .find(
            className: try await target(redirectKey, className), options: options, filter: filter, key: key)
    }

    /// The members of a relation, when another service owns the related object.
    /// - Returns: nil when the owner of the class resolves it, a malformed condition included.
    init?(relatedTo value: JSON, of className: String) {
        guard let object = value["object"]?.pointerTarget, let key = value["key"]?.stringValue,
            Names.isClassName(object.className), Names.isObjectId(object.objectId), Names.isIdentifier(key),
            ServiceDirectory.service(ofClass: object.className) != ServiceDirectory.service(ofClass: className)
        else { return nil }
        self = .members(
            .with {
                $0.className = object.className
                $0.objectID = object.objectId
                $0.key = key
                $0.targetClass = className
            })
    }

    var owner: String {
        switch self {
        case .find(let className, _, _, _): ServiceDirectory.service(ofClass: className)
        case .members(let members): ServiceDirectory.service(ofClass: members.className)
        }
    }

    /// The inner filter and its class, where further sub-queries may be.
    var inner: SubQueryFilter {
        switch self {
        case .find(let className, _, let filter, _): SubQueryFilter(className: className, members: filter)
        case .members: SubQueryFilter(className: nil, members: [:])
        }
    }

    /// - Parameter filter: the inner filter, without sub-queries.
    func lookup(filter: [String: JSON], hooks: HookScope?) -> Lookup {
        .with {
            switch self {
            case .find(let className, let options, _, _):
                $0.find = Federation.message(
                    className, options, filter: JSON.object(filter).serialized, hooks: hooks)
            case .members(let members): $0.members = members
            }
        }
    }

    /// The values of a response: pointers for the query forms, values of the key for the select forms, ids for members.
    /// - Throws: `.invalidQuery` (102) for too many values.
    func values(of answer: [UInt8], in context: CallContext) throws(ParseError) -> [JSON] {
        let answer = try JSON(reply: answer, in: context)
        guard case .find(let className, _, _, let key) = self else { return answer.arrayValue ?? [] }
        guard let rows = answer["results"]?.arrayValue else { throw .internalError }
        guard rows.count <= Self.rowsMax else {
            throw ParseError(.invalidQuery, "A sub-query matches more than \(Self.rowsMax) objects.")
        }
        return rows.flatMap { row -> [JSON] in
            guard let key else { return row["objectId"]?.stringValue.map { [.pointer(className, $0)] } ?? [] }
            let value = key.split(separator: ".").reduce(row as JSON?) { value, part in value?[String(part)] }
            // Each element of an array counts as a value, as in Parse Server.
            return value.map { $0.arrayValue ?? [$0] } ?? []
        }
    }
}

/// A filter and its class; without a class `$relatedTo` is left unchanged.
struct SubQueryFilter {
    let className: String?
    let members: [String: JSON]
}
