import ParseProtocol

/// The pointers to replace by their objects: `["items": ["product": ["brand": []]]]` for `include=items.product.brand`.
struct IncludeTree: Sendable {
    private(set) var children: [String: IncludeTree] = [:]
    /// `include=*`: every pointer and array of pointers of the object itself.
    private(set) var includesAll = false
    /// Fields of an included object to send; empty means all.
    private(set) var keys: Set<String> = []
    /// Fields of an included object not to send.
    private var excludeKeys: Set<String> = []

    /// Deeper paths than any real class has; each level costs a round of requests.
    private static let depthMax = 10
    private static let pathsMax = 100

    var isEmpty: Bool { children.isEmpty && !includesAll }

    /// - Throws: `.invalidQuery` (102) for too many or too deep paths.
    mutating func add(paths: [String]) throws(ParseError) {
        guard paths.count <= Self.pathsMax else {
            throw ParseError(.invalidQuery, "At most \(Self.pathsMax) includes are possible.")
        }
        for path in paths {
            if path == "*" {
                includeAll()
                continue
            }
            let components = path.split(separator: ".", omittingEmptySubsequences: false)
            guard components.count <= Self.depthMax, components.allSatisfy({ Names.isIdentifier(String($0)) }) else {
                throw ParseError(.invalidQuery, "Invalid include: \(path.prefix(128))")
            }
            add(components[...])
        }
    }

    mutating func includeAll() { includesAll = true }

    /// The fields of an object to replace, with the trees below them.
    func branches(of object: JSON) -> [(field: String, tree: IncludeTree)] {
        guard includesAll, case .object(let members) = object else { return children.map { ($0, $1) } }
        return members.keys.map { ($0, children[$0] ?? IncludeTree()) }
    }

    /// A key with a dot includes what is before it (PARSE_PROTOCOL section 4).
    mutating func add(keys: [String]) { add(keys) { $0.keys.insert($1) } }

    /// A key with a dot that is left out does so, too: `excludeKeys=brand.secret` sends the brand without its secret.
    mutating func add(excludeKeys: [String]) { add(excludeKeys) { $0.excludeKeys.insert($1) } }

    private mutating func add(_ keys: [String], _ note: (inout IncludeTree, String) -> Void) {
        for key in keys {
            let components = key.split(separator: ".")
            guard (2...Self.depthMax).contains(components.count), let last = components.last else { continue }
            add(components.dropLast()) { note(&$0, String(last)) }
        }
    }

    private mutating func add(_ components: ArraySlice<Substring>, _ note: (inout IncludeTree) -> Void = { _ in }) {
        guard let first = components.first else { return note(&self) }
        children[String(first), default: IncludeTree()].add(components.dropFirst(), note)
    }

    /// The object with only the wanted fields; identity and dates always stay.
    func select(_ object: JSON) -> JSON {
        guard !keys.isEmpty || !excludeKeys.isEmpty, case .object(let members) = object else { return object }
        return .object(
            members.filter { name, _ in
                if Self.alwaysSent.contains(name) { return true }
                return !excludeKeys.contains(name)
                    && (keys.isEmpty || keys.contains(name) || children[name] != nil)
            })
    }

    private static let alwaysSent: Set<String> = ["objectId", "createdAt", "updatedAt", "ACL", "__type", "className"]
}
