import ParseProtocol

/// A `where` that is decided about one document in memory, as the SQL of `ConditionCompiler` decides about its row.
///
/// What the compiler refuses it refuses too, but need not: whoever subscribes has had the condition compiled first. It
/// further refuses what one document cannot decide: sub-queries, relations, texts' indexes and other objects' fields.
/// `EvaluatorTests` compares both over random documents and conditions.
indirect enum LiveCondition {
    case all([LiveCondition])
    case any([LiveCondition])
    case none([LiveCondition])
    case field(LivePath, LiveTest)

    /// - Parameter info: the class as it is now. A condition is made anew when the class changes.
    /// - Throws: `.invalidQuery` (102) for what cannot be decided about one document, else as the compiler.
    init(_ condition: JSON, of info: ClassInfo) throws {
        guard case .object(let members) = condition else { throw ParseError(.invalidQuery, "where must be an object.") }
        self = .all(
            try members.sorted { $0.key < $1.key }.flatMap { key, value in
                try LiveCondition.parts(key, value, info)
            })
    }

    private static func parts(_ key: String, _ value: JSON, _ info: ClassInfo) throws -> [LiveCondition] {
        switch key {
        case "$or": return [.any(try clauses(key, value, info))]
        case "$and": return try clauses(key, value, info)
        case "$nor": return [.none(try clauses(key, value, info))]
        case "$relatedTo": throw notLive(key)
        default:
            let path = try LivePath(key, of: info)
            return try LiveTest.tests(of: value, path).map { .field(path, $0) }
        }
    }

    private static func clauses(_ key: String, _ value: JSON, _ info: ClassInfo) throws -> [LiveCondition] {
        guard case .array(let clauses) = value, !clauses.isEmpty else {
            throw ParseError(.invalidQuery, "Bad \(key) format - use an array value.")
        }
        return try clauses.map { try LiveCondition($0, of: info) }
    }

    static func notLive(_ what: String) -> ParseError {
        ParseError(.invalidQuery, "\(what.prefix(100)) is not possible in a live query.")
    }

    /// Whether it holds for a document. It means nothing when the effort was too much.
    func holds(for document: [String: JSON], _ effort: LiveEffort) -> Bool {
        switch self {
        case .all(let parts): parts.allSatisfy { $0.holds(for: document, effort) }
        case .any(let parts): parts.contains { $0.holds(for: document, effort) }
        case .none(let parts): !parts.contains { $0.holds(for: document, effort) }
        case .field(let path, let test): path.holds(test, in: document, effort)
        }
    }

    /// The fields that it asks about.
    var roots: Set<String> {
        switch self {
        case .all(let parts), .any(let parts), .none(let parts): parts.reduce(into: []) { $0.formUnion($1.roots) }
        case .field(let path, _): [path.path.root]
        }
    }
}

/// The place in a document that a constraint is about.
struct LivePath {
    let path: FieldPath
    /// The field's type; nil inside a field, and for one that the class has not.
    let type: FieldType?
    /// Whether the path leads into the objects of an array.
    private let isInElements: Bool

    /// - Throws: `.invalidQuery` (102) for a relation and for another object's field, `.invalidKeyName` (105) for a bad
    ///   name.
    init(_ name: String, of info: ClassInfo) throws {
        path = try FieldPath(name)
        if path.root == "ACL" { throw ParseError(.invalidQuery, "Cannot query on ACL.") }
        let root = info.fields[path.root]
        switch root {
        case .relation: throw LiveCondition.notLive("The relation \(path.root)")
        case .pointer where path.isDotted && !["objectId", "className"].contains(path.components[1]):
            throw LiveCondition.notLive("The field \(name) of another object")
        default: break
        }
        isInElements = root == .array && path.isDotted && !path.beginsWithIndex
        type = path.isDotted ? nil : root
    }

    var isInstant: Bool { !path.isDotted && (path.root == "createdAt" || path.root == "updatedAt") }

    func holds(_ test: LiveTest, in document: [String: JSON], _ effort: LiveEffort) -> Bool {
        let root = document[path.root]
        guard path.isDotted else {
            if isInstant, let iso = root?.stringValue { return test.holds(for: LiveValue.date(iso), effort) }
            return test.holds(for: root, effort)
        }
        guard isInElements else {
            return test.holds(for: LivePath.value(path.components.dropFirst(), in: root), effort)
        }
        guard effort.spend(root?.arrayValue?.count ?? 0) else { return false }
        let objects = root?.arrayValue?.filter { $0.objectValue != nil } ?? []
        return test.holds(forMembers: objects.map { LivePath.value(path.components.dropFirst(), in: $0) }, effort)
    }

    /// The value at a path: names of members and, where the value is an array, indexes of elements.
    private static func value(_ components: ArraySlice<String>, in root: JSON?) -> JSON? {
        var value = root
        for component in components {
            switch value {
            case .array(let elements):
                value = FieldPath.index(component).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
            case .object(let members): value = members[component]
            default: return nil
            }
        }
        return value
    }
}
