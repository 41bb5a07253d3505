import ParseProtocol

/// The validated options of a query or a get (PARSE_PROTOCOL section 4).
struct QueryOptions: Sendable {
    /// JSON text of the `where` object; empty means all.
    var filter: [UInt8] = []
    var order: [String] = []
    var limit = 100
    var skip = 0
    var wantsCount = false
    /// As the client wrote them, with dots. An empty list becomes `objectId`, which selects the four standard fields.
    var keys: [String] = []
    /// The keys of a request that also includes everything: each pointer and array is sent as well (PARSE_PROTOCOL
    /// section 4), and only the objects show which fields those are.
    private(set) var keysWithIncludeAll: [String] = []
    private var selectionBesidePointers = KeySelection.everything
    var excludeKeys: [String] = []
    var include = IncludeTree()
    /// The cursor at which a page begins (docs/reference/protocol-extras.md); nil for pages by `skip`.
    var after: String?
    /// The response is the database's plan.
    var explains = false
    /// The response holds objects of the class that this Relation field leads to.
    var redirectKey: String?
    /// Options for `triggerOptions`, as the client sent them; lists are comma-separated texts.
    private var otherTriggerOptions: [String: JSON] = [:]

    init() {}

    /// - Throws: `.invalidQuery` (102) for an option that a get does not support.
    init(get options: [String: JSON]) throws(ParseError) {
        for (name, value) in options {
            guard try readShared(name, value) else {
                throw ParseError(.invalidQuery, "Improper encode of parameter")
            }
        }
        includeByKeys()
    }

    /// - Parameter mayExplain: whether the caller may see the plan of a query: the master key or a developer.
    /// - Throws: `.invalidQuery` (102), `.invalidJSON` (107), 117 for a bad limit, 118 for a bad skip or
    ///   `.operationForbidden` (119).
    init(
        find options: [String: JSON], limitMax: Int, skipMax: Int = .max, mayExplain: Bool = false
    ) throws(ParseError) {
        // A plan reveals more than the objects; therefore the right is checked before the syntax.
        if let explain = options["explain"], !OptionValue.isAbsent(explain), !mayExplain {
            throw ParseError(.operationForbidden, "unauthorized: master key is required for explain")
        }
        for (name, value) in options {
            if OptionValue.isAbsent(value), Self.absentable.contains(name) { continue }
            switch name {
            case "where": filter = try OptionValue.condition(value) ?? []
            case "order": order = try Self.list(value, name)
            case "limit": limit = Int(min(try OptionValue.limit(value), Int64(limitMax)))
            case "skip": skip = Int(try OptionValue.skip(value, max: skipMax))
            case "count": wantsCount = OptionValue.isSet(value)
            // `trace` requested the server's processing time, which is no longer measured.
            case "trace": break
            case "hint", "comment": if !value.isNull { otherTriggerOptions[name] = value }
            case "after":
                guard case .string(let after) = value else {
                    throw ParseError(.invalidQuery, "after must be an objectId or a cursor.")
                }
                self.after = after
            case "explain": explains = try Self.explains(value)
            case "redirectClassNameForKey": redirectKey = try Self.redirectKey(value)
            default:
                guard try readShared(name, value) else {
                    throw ParseError(.invalidQuery, "Invalid parameter for query: \(name.prefix(64))")
                }
            }
        }
        includeByKeys()
    }

    /// Options that are ignored when they are null or empty. An empty `after` begins a list, and an empty `keys` is an
    /// empty list.
    private static let absentable: Set<String> = [
        "where", "order", "limit", "skip", "count", "explain", "redirectClassNameForKey",
    ]

    private mutating func readShared(_ name: String, _ value: JSON) throws(ParseError) -> Bool {
        switch name {
        case "keys":
            guard !value.isNull else { break }
            keys = try Self.list(value, name)
            if keys.isEmpty { keys = ["objectId"] }
        case "excludeKeys": if !value.isNull { excludeKeys = try Self.list(value, name) }
        case "include":
            guard !value.isNull else { break }
            let paths = try Self.list(value, name)
            try include.add(paths: paths)
            otherTriggerOptions[name] = .string(paths.joined(separator: ","))
        case "includeAll":
            guard OptionValue.isSet(value) else { break }
            include.includeAll()
            otherTriggerOptions[name] = true
        case "readPreference", "includeReadPreference", "subqueryReadPreference":
            if !value.isNull { otherTriggerOptions[name] = value }
        default: return false
        }
        return true
    }

    /// Names with dots lead into objects behind pointers, which are then included.
    private mutating func includeByKeys() {
        include.select(keys: keys, excludeKeys: excludeKeys)
        guard include.includesAll, !keys.isEmpty else { return }
        // The rank of a text search is not a field: it is sent only when the client selects it.
        (keysWithIncludeAll, keys) = (keys, keys.contains("$score") ? ["*", "$score"] : [])
        selectionBesidePointers = KeySelection(keys: keysWithIncludeAll, excludeKeys: [])
    }

    /// The options for a trigger, besides `where`, order and page.
    var triggerOptions: [String: JSON] {
        var query = otherTriggerOptions
        let keys = keysWithIncludeAll.isEmpty ? keys : keysWithIncludeAll
        if !keys.isEmpty { query["keys"] = .string(keys.joined(separator: ",")) }
        if !excludeKeys.isEmpty { query["excludeKeys"] = .string(excludeKeys.joined(separator: ",")) }
        return query
    }

    /// The options after a trigger's changes.
    /// - Throws: the errors of a client's options.
    func changed(by changes: [String: JSON], limitMax: Int) throws(ParseError) -> QueryOptions {
        guard !changes.isEmpty else { return self }
        var result = try QueryOptions(find: triggerOptions.merging(changes) { _, new in new }, limitMax: limitMax)
        if changes["where"] == nil { result.filter = filter }
        if changes["order"] == nil { result.order = order }
        if changes["limit"] == nil { result.limit = limit }
        if changes["skip"] == nil { result.skip = skip }
        (result.wantsCount, result.after) = (wantsCount, after)
        (result.explains, result.redirectKey) = (explains, redirectKey)
        return result
    }

    /// An object of the response, reduced by `keysWithIncludeAll`.
    func selected(_ object: JSON) -> JSON {
        guard !keysWithIncludeAll.isEmpty, case .object(let members) = object else { return object }
        var left: [String: JSON] = [:]
        for (name, value) in members {
            let isScore = name == "score" && keysWithIncludeAll.contains("$score")
            let stays =
                isScore || Self.alwaysSent.contains(name) || value.pointerTarget != nil || value.arrayValue != nil
            left[name] = stays ? value : selectionBesidePointers.selection(of: name.utf8)?.applied(to: value)
        }
        return .object(left)
    }

    private static let alwaysSent: Set<String> = ["objectId", "createdAt", "updatedAt", "ACL"]

    /// A comma-separated list or, from newer clients, an array of names.
    /// - Throws: `.invalidQuery` (102) for anything else, and for too many.
    static func list(_ value: JSON, _ name: String) throws(ParseError) -> [String] {
        switch value {
        case .string(let text):
            // The total length is checked first, because splitting takes the time.
            guard text.utf8.count <= KeySelection.nameBytesMax + KeySelection.namesMax else {
                throw ParseError(
                    .invalidQuery, "\(name) may hold at most \(KeySelection.nameBytesMax) bytes of names.")
            }
            let names = text.utf8.split(separator: UInt8(ascii: ",")).map { Substring($0).trimmingSpaces }
            try KeySelection.check(names, name)
            return names
        case .array(let elements):
            var names: [String] = []
            for element in elements {
                guard case .string(let text) = element else {
                    throw ParseError(.invalidQuery, "\(name) must hold names.")
                }
                names.append(text)
            }
            try KeySelection.check(names, name)
            return names
        default: throw ParseError(.invalidQuery, "\(name) must be a list of names.")
        }
    }

    /// - Throws: `.invalidQuery` (102) for a text that is not a field's name.
    static func redirectKey(_ value: JSON) throws(ParseError) -> String {
        guard case .string(let key) = value, Names.isIdentifier(key) else {
            throw ParseError(.invalidQuery, "redirectClassNameForKey must be the name of a field.")
        }
        return key
    }

    /// MongoDB's verbosity levels are accepted, and the texts of iOS; there is one kind of plan.
    private static func explains(_ value: JSON) throws(ParseError) -> Bool {
        switch value {
        case .bool(let flag): return flag
        case 1, "1", "true", "queryPlanner", "executionStats", "allPlansExecution": return true
        case 0, "0", "false": return false
        default: throw ParseError(.invalidQuery, "Invalid value for explain")
        }
    }
}

extension Substring {
    /// Works on bytes: searching for characters took more than a third of the decoding time of a page's options.
    fileprivate var trimmingSpaces: String {
        var name = utf8.drop { $0 == UInt8(ascii: " ") }
        while name.last == UInt8(ascii: " ") { name = name.dropLast() }
        return String(Substring(name))
    }
}
