import Messages
import ParseProtocol

/// A question about other objects inside a filter, whose answer becomes a list in it.
enum SubQuery {
    /// `$inQuery`, `$notInQuery`, `$select` and `$dontSelect`.
    case find(className: String, options: QueryOptions, filter: [String: JSON], key: String?)
    /// `$relatedTo` of an object that another service keeps.
    case members(RelationMembers)

    /// Rows one sub-query may bring: past them the client should ask otherwise.
    static let rowsMax = 10_000

    /// - Throws: `.invalidQuery` (102) for a malformed one.
    init(_ name: String, _ specification: JSON) throws(ParseError) {
        let selects = name.hasSuffix("elect")
        let query = selects ? specification["query"] : specification
        guard let query, let className = query["className"]?.stringValue, Names.isClassName(className),
            // These would make something else of the answer.
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

    /// The members of the condition inside. An SDK leaves it out when there is none, and may send it as text.
    /// - Throws: `.invalidQuery` (102), or `.invalidJSON` (107) for a text that is no object.
    private static func condition(_ value: JSON?) throws(ParseError) -> [String: JSON] {
        guard let value, let text = try OptionValue.condition(value) else { return [:] }
        if case .object(let members) = value { return members }
        guard case .object(let members) = try JSON(clientText: text) else {
            throw ParseError(.invalidJSON, "where must be a JSON object.")
        }
        return members
    }

    /// The same question about the class that a relation of its class leads to.
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

    /// The members of a relation, when the related object is kept elsewhere than the class that is asked for.
    /// - Returns: nil for what the owner of the class answers itself, a malformed condition included.
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

    /// The filter inside and the class it is for, where further sub-queries may be.
    var inner: SubQueryFilter {
        switch self {
        case .find(let className, _, let filter, _): SubQueryFilter(className: className, members: filter)
        case .members: SubQueryFilter(className: nil, members: [:])
        }
    }

    /// - Parameter filter: the filter inside, without sub-queries.
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

    /// The values of an answer: pointers for the query forms, values of the key for the select forms, ids of members.
    /// - Throws: `.invalidQuery` (102) for too many.
    func values(of answer: [UInt8]) throws(ParseError) -> [JSON] {
        let answer = try JSON(reply: answer)
        guard case .find(let className, _, _, let key) = self else { return answer.arrayValue ?? [] }
        guard let rows = answer["results"]?.arrayValue else { throw .internalError }
        guard rows.count <= Self.rowsMax else {
            throw ParseError(.invalidQuery, "A sub-query matches more than \(Self.rowsMax) objects.")
        }
        return rows.flatMap { row -> [JSON] in
            guard let key else { return row["objectId"]?.stringValue.map { [.pointer(className, $0)] } ?? [] }
            let value = key.split(separator: ".").reduce(row as JSON?) { value, part in value?[String(part)] }
            // Of an array each element is a value, as in Parse Server.
            return value.map { $0.arrayValue ?? [$0] } ?? []
        }
    }
}

/// A filter and the class it is for; nil when that is not known, which leaves `$relatedTo` as it is.
struct SubQueryFilter {
    let className: String?
    let members: [String: JSON]
}
