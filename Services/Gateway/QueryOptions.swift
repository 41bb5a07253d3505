import ParseProtocol

/// The options of a query or a get, checked (PARSE_PROTOCOL section 4).
struct QueryOptions: Sendable {
    /// JSON text of the `where` object; empty means all.
    var filter: [UInt8] = []
    var order: [String] = []
    var limit = 100
    var skip = 0
    var wantsCount = false
    /// As the client wrote them, with dots.
    var keys: [String] = []
    var excludeKeys: [String] = []
    var include = IncludeTree()
    /// Where a page begins that goes on by cursors (docs/protocol-extras.md); nil for pages by `skip`.
    var after: String?
    /// The answer is the database's plan.
    var explains = false
    /// The answer is of the class that this Pointer or Relation field leads to.
    var redirectKey: String?

    init() {}

    /// - Throws: 102 for an option that a get does not know.
    init(get options: [String: JSON]) throws(ParseError) {
        for (name, value) in options {
            guard try readShared(name, value) else {
                throw ParseError(.invalidQuery, "Improper encode of parameter")
            }
        }
        include.add(keys: keys)
    }

    /// - Parameter isMaster: whether the master key asks, without which some options are refused.
    /// - Throws: 102, 107, 117, 118 or 119.
    init(
        find options: [String: JSON], limitMax: Int, skipMax: Int = .max, isMaster: Bool = false
    ) throws(ParseError) {
        // Both tell of more than the objects: whether somebody may use them comes before whether they are well-formed.
        for name in ["explain", "redirectClassNameForKey"] where options[name] != nil && !isMaster {
            throw ParseError(.operationForbidden, "unauthorized: master key is required for \(name)")
        }
        for (name, value) in options {
            switch name {
            case "where": filter = try Self.filter(value)
            case "order": order = try Self.list(value, name)
            case "limit":
                guard let limit = value.intValue, limit >= 0 else {
                    throw ParseError(.init(rawValue: 117), "limit must be a whole number from 0.")
                }
                self.limit = Int(min(limit, Int64(limitMax)))
            case "skip":
                guard let skip = value.intValue, (0...Int64(skipMax)).contains(skip) else {
                    throw ParseError(.init(rawValue: 118), "skip must be a whole number from 0 to \(skipMax).")
                }
                self.skip = Int(skip)
            case "count": wantsCount = value == 1 || value == true
            case "hint", "comment": break
            case "after":
                guard case .string(let after) = value else {
                    throw ParseError(.invalidQuery, "after must be an objectId or a cursor.")
                }
                self.after = after
            case "explain": explains = try Self.explains(value)
            case "redirectClassNameForKey":
                guard case .string(let key) = value, Names.isIdentifier(key) else {
                    throw ParseError(.invalidQuery, "redirectClassNameForKey must be the name of a field.")
                }
                redirectKey = key
            default:
                guard try readShared(name, value) else {
                    throw ParseError(.invalidQuery, "Invalid parameter for query: \(name.prefix(64))")
                }
            }
        }
        include.add(keys: keys)
    }

    private mutating func readShared(_ name: String, _ value: JSON) throws(ParseError) -> Bool {
        switch name {
        case "keys": keys = try Self.list(value, name)
        case "excludeKeys": excludeKeys = try Self.list(value, name)
        case "include": try include.add(paths: try Self.list(value, name))
        case "includeAll": if value == true || value == 1 { include.includeAll() }
        case "readPreference", "includeReadPreference", "subqueryReadPreference": break
        default: return false
        }
        return true
    }

    /// A comma list or, from newer clients, an array of names.
    /// - Throws: 102 for anything else, and for too many.
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

    /// MongoDB's verbosities are accepted; there is one kind of plan.
    private static func explains(_ value: JSON) throws(ParseError) -> Bool {
        switch value {
        case .bool(let flag): return flag
        case "queryPlanner", "executionStats", "allPlansExecution": return true
        default: throw ParseError(.invalidQuery, "Invalid value for explain")
        }
    }

    private static func filter(_ value: JSON) throws(ParseError) -> [UInt8] {
        switch value {
        case .string(let text): return Array(text.utf8)
        case .object: return value.serialized
        default: throw ParseError(.invalidQuery, "where must be an object.")
        }
    }
}

extension Substring {
    fileprivate var trimmingSpaces: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
