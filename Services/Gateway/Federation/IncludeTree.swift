import ParseProtocol

/// The pointers to replace with their objects: `["items": ["product": ["brand": []]]]` for
/// `include=items.product.brand`.
struct IncludeTree: Sendable {
    private(set) var children: [String: IncludeTree] = [:]
    /// `include=*`: every pointer and array of pointers of the object itself.
    private(set) var includesAll = false
    /// The fields of an included object to send.
    private var selection = KeySelection.everything

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

    /// The fields of an object to replace, with their subtrees.
    func branches(of object: JSON) -> [(field: String, tree: IncludeTree)] {
        guard case .object(let members) = object else { return [] }
        if includesAll { return members.keys.map { ($0, children[$0] ?? IncludeTree()) } }
        // Thousands of objects may each be compared with a thousand names, and each object has only a few fields.
        guard members.count < children.count else { return children.map { ($0, $1) } }
        return members.keys.compactMap { name in children[name].map { (name, $0) } }
    }

    /// Includes the pointers before the dot of a key (PARSE_PROTOCOL section 4). `keys=by.shop.name` sends the field
    /// `shop` of the object in `by`, and the field `name` of the shop; `excludeKeys=brand.secret` sends the brand
    /// without its secret.
    mutating func select(keys: [String], excludeKeys: [String]) {
        let (keys, excludeKeys) = (Self.dotted(keys), Self.dotted(excludeKeys))
        for path in keys + excludeKeys { add(path.dropLast()) }
        selectBelow(keys, excludeKeys)
    }

    private typealias Path = ArraySlice<Substring>

    private static func dotted(_ names: [String]) -> [Path] {
        names.map { $0.split(separator: ".")[...] }.filter { (2...depthMax).contains($0.count) }
    }

    private mutating func selectBelow(_ keys: [Path], _ excludeKeys: [Path]) {
        func byField(_ paths: [Path]) -> [Substring?: [Path]] {
            Dictionary(grouping: paths, by: \.first).mapValues { $0.map { $0.dropFirst() }.filter { !$0.isEmpty } }
        }
        let (keys, excludeKeys) = (byField(keys), byField(excludeKeys))
        for name in children.keys {
            let (chosen, excluded) = (keys[Substring(name)] ?? [], excludeKeys[Substring(name)] ?? [])
            guard !chosen.isEmpty || !excluded.isEmpty else { continue }
            children[name]?.selection = KeySelection(
                keys: chosen.isEmpty ? nil : chosen.map { $0.joined(separator: ".") },
                excludeKeys: excluded.map { $0.joined(separator: ".") })
            children[name]?.selectBelow(chosen, excluded)
        }
    }

    private mutating func add(_ components: Path) {
        guard let first = components.first else { return }
        children[String(first), default: IncludeTree()].add(components.dropFirst())
    }

    /// The object with only the selected fields; identity and dates are always included.
    func select(_ object: JSON) -> JSON {
        guard !selection.isEverything, case .object(let members) = object else { return object }
        return .object(selection.applied(to: members, always: Self.alwaysSent))
    }

    private static let alwaysSent: Set<String> = ["objectId", "createdAt", "updatedAt", "ACL", "__type", "className"]
}
