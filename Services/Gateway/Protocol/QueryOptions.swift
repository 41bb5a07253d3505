import ParseProtocol

/// The options of a query or a get, checked (PARSE_PROTOCOL section 4).
struct QueryOptions: Sendable {
    /// JSON text of the `where` object; empty means all.
    var filter: [UInt8] = []
    var order: [String] = []
    var limit = 100
    var skip = 0
    var wantsCount = false
    /// As the client wrote them, with dots. An empty list of the client's is here `objectId`, which leaves the four
    /// standard fields.
    var keys: [String] = []
    /// Keys that stand beside an include of everything: each pointer and array is sent as well (PARSE_PROTOCOL section
    /// 4), and which fields those are shows in the objects only.
    private(set) var keysBesidePointers: [String] = []
    var excludeKeys: [String] = []
    var include = IncludeTree()
    /// The place where a page that goes on by cursors begins (docs/protocol-extras.md); nil for pages by `skip`.
    var after: String?
    /// The answer is the database's plan.
    var explains = false
    /// The answer is of the class that this Relation field leads to.
    var redirectKey: String?

    init() {}

    /// - Throws: `.invalidQuery` (102) for an option that a get does not know.
    init(get options: [String: JSON]) throws(ParseError) {
        for (name, value) in options {
            guard try readShared(name, value) else {
                throw ParseError(.invalidQuery, "Improper encode of parameter")
            }
        }
        includeByKeys()
    }

    /// - Parameter mayExplain: whether the master key or a developer asks, who may have the plan of a query.
    /// - Throws: `.invalidQuery` (102), `.invalidJSON` (107), 117 for a bad limit, 118 for a bad skip or
    ///   `.operationForbidden` (119).
    init(
        find options: [String: JSON], limitMax: Int, skipMax: Int = .max, mayExplain: Bool = false
    ) throws(ParseError) {
        // A plan tells of more than the objects: whether somebody may have it comes before whether it is well-formed.
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
            // What `trace` asked for, how long the server took, nobody measures any more.
            case "hint", "comment", "trace": break
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

    /// Options that mean nothing when they are null or empty. An empty `after` begins a list, and an empty `keys` is a
    /// list of none.
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
        case "include": if !value.isNull { try include.add(paths: try Self.list(value, name)) }
        case "includeAll": if OptionValue.isSet(value) { include.includeAll() }
        case "readPreference", "includeReadPreference", "subqueryReadPreference": break
        default: return false
        }
        return true
    }

    /// Names with dots lead into objects behind pointers, which are included for them.
    private mutating func includeByKeys() {
        include.add(keys: keys)
        include.add(excludeKeys: excludeKeys)
        guard include.includesAll, !keys.isEmpty else { return }
        // The rank of a text search is no field: only who asks for it has it.
        (keysBesidePointers, keys) = (keys, keys.contains("$score") ? ["*", "$score"] : [])
    }

    /// An object of the answer with what `keysBesidePointers` leaves of it.
    func selected(_ object: JSON) -> JSON {
        guard !keysBesidePointers.isEmpty, case .object(let members) = object else { return object }
        let selection = KeySelection(keys: keysBesidePointers, excludeKeys: [])
        var left: [String: JSON] = [:]
        for (name, value) in members {
            let isScore = name == "score" && keysBesidePointers.contains("$score")
            let stays =
                isScore || Self.alwaysSent.contains(name) || value.pointerTarget != nil || value.arrayValue != nil
            left[name] = stays ? value : selection.selection(of: name.utf8)?.applied(to: value)
        }
        return .object(left)
    }

    private static let alwaysSent: Set<String> = ["objectId", "createdAt", "updatedAt", "ACL"]

    /// A comma list or, from newer clients, an array of names.
    /// - Throws: `.invalidQuery` (102) for anything else, and for too many.
    static func list(_ value: JSON, _ name: String) throws(ParseError) -> [String] {
        switch value {
        case .string(let text):
            // Looked at as a whole first: splitting is what would take the time.
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

    /// - Throws: `.invalidQuery` (102) for what is no field's name.
    static func redirectKey(_ value: JSON) throws(ParseError) -> String {
        guard case .string(let key) = value, Names.isIdentifier(key) else {
            throw ParseError(.invalidQuery, "redirectClassNameForKey must be the name of a field.")
        }
        return key
    }

    /// MongoDB's verbosities are accepted, and the texts of iOS; there is one kind of plan.
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
    /// As bytes: to look for characters took more than a third of decoding a page's options.
    fileprivate var trimmingSpaces: String {
        var name = utf8.drop { $0 == UInt8(ascii: " ") }
        while name.last == UInt8(ascii: " ") { name = name.dropLast() }
        return String(Substring(name))
    }
}
