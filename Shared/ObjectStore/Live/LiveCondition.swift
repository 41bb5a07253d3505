import ParseProtocol

/// A `where` evaluated on one document in memory, with the same result as the SQL of `ConditionCompiler` on its row.
///
/// It need not refuse everything that the compiler refuses, because the compiler checks a subscription's condition
/// first. In addition it refuses conditions that need more than one document: sub-queries, relations, text indexes and
/// fields of other objects. `EvaluatorTests` compares both on random documents and conditions.
indirect enum LiveCondition {
    case all([LiveCondition])
    case any([LiveCondition])
    case none([LiveCondition])
    case field(LivePath, LiveTest)

    /// - Parameter info: the current class. The condition is rebuilt when the class changes.
    /// - Throws: `.invalidQuery` (102) for a condition that cannot be decided for one document, else as the compiler.
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

    /// Whether the condition holds for a document. The result is meaningless if the effort is exhausted.
    func holds(for document: [String: JSON], _ effort: MatchBudget) -> Bool {
        switch self {
        case .all(let parts): parts.allSatisfy { $0.holds(for: document, effort) }
        case .any(let parts): parts.contains { $0.holds(for: document, effort) }
        case .none(let parts): !parts.contains { $0.holds(for: document, effort) }
        case .field(let path, let test): path.holds(test, in: document, effort)
        }
    }

    /// The fields that the condition reads.
    var roots: Set<String> {
        switch self {
        case .all(let parts), .any(let parts), .none(let parts): parts.reduce(into: []) { $0.formUnion($1.roots) }
        case .field(let path, _): [path.path.root]
        }
    }
}

/// The position in a document that a constraint reads.
struct LivePath {
    let path: FieldPath
    /// The field's type; nil inside a field, for a field of several types and for a field that the class does not have.
    let type: FieldType?
    /// Whether the path leads into the objects of an array.
    private let isInElements: Bool

    /// - Throws: `.invalidQuery` (102) for a relation or a field of another object, `.invalidKeyName` (105) for an
    ///   invalid name.
    init(_ name: String, of info: ClassInfo) throws {
        path = try FieldPath(inMemory: name)
        if path.root == "ACL" { throw ParseError(.invalidQuery, "Cannot query on ACL.") }
        let root = info.fields[path.root]
        switch root {
        case .relation: throw LiveCondition.notLive("The relation \(path.root)")
        case .pointer where path.isDotted && !["objectId", "className"].contains(path.components[1]):
            throw LiveCondition.notLive("The field \(name) of another object")
        default: break
        }
        isInElements = root == .array && path.isDotted && !path.beginsWithIndex
        type = path.isDotted || root == .numberOrText ? nil : root
    }

    var isInstant: Bool { !path.isDotted && (path.root == "createdAt" || path.root == "updatedAt") }

    func holds(_ test: LiveTest, in document: [String: JSON], _ effort: MatchBudget) -> Bool {
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

    /// The value at a path of member names and, where the value is an array, element indexes.
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
