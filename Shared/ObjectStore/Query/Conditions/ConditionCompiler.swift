import ParseProtocol

/// An argument of a compiled query.
enum SQLArgument {
    case value(SQLValue)
    case regex(Regex)
}

/// Compiles a `where` object into one SQL condition on the row `o`, with every value bound.
///
/// A value that cannot match the type of a field matches nothing (and `$ne` and `$nin` then match everything), as in a
/// database that orders values by type first.
struct ConditionCompiler {
    let info: ClassInfo
    let hidden: Set<String>
    let now: Timestamp
    /// The rows are only counted, so no order is needed.
    let isCounting: Bool
    /// Resolves a `$relatedTo`: checks that the caller may read that relation of that object, and returns the class's
    /// id.
    let relation: (_ className: String, _ objectId: String, _ key: String) throws -> Int64?

    private(set) var arguments: [SQLArgument] = []
    /// Objects of other classes that the query reads.
    private(set) var pointed: PointedRows
    /// SQL of a row's rank for the `$text` search; nil when there is none.
    var textScore: String?
    /// The compiled `$nearSphere`.
    var near: NearQuery?
    /// False when the result depends on more than the text of the query, such as the time.
    var isCacheable = true
    private var constraintCount = 0
    private var patterns = PatternBudget()
    /// The two halves of conditions that consist of index candidates and a test, by their combined SQL.
    private var halves: [String: (found: String, test: String)] = [:]
    /// The searches that find the objects which meet a condition, by its SQL.
    private var searches: [String: TextSearch] = [:]

    static let depthMax = 16
    static let constraintsMax = 1000
    static let listMax = 10_000
    /// The parameters before it are the caller's and the page's: user id, grants, limit, skip.
    static let firstArgument = 5

    init(
        info: ClassInfo, hidden: Set<String>, now: Timestamp = .now, isCounting: Bool = false,
        access: String? = nil, pointed: ((_ className: String) throws -> PointedClass?)? = nil,
        relation: @escaping (_ className: String, _ objectId: String, _ key: String) throws -> Int64?
    ) {
        self.pointed = PointedRows(pointed, ownAccess: access)
        self.info = info
        self.hidden = hidden
        self.now = now
        self.isCounting = isCounting
        self.relation = relation
    }

    // MARK: Parameters

    mutating func bind(_ value: SQLValue) -> String {
        switch value {
        case .real(let number):
            // As text, so that SQLite parses the number exactly as the one in the document.
            arguments.append(.value(.text(String(number))))
            return info.dialect.parameter(lastArgument, as: .jsonReal)
        default:
            arguments.append(.value(value))
            return lastArgument
        }
    }

    /// Binds a number for a function.
    mutating func bind(number: Double) -> String {
        arguments.append(.value(.text(String(number))))
        return info.dialect.parameter(lastArgument, as: .real)
    }

    /// Binds a value for comparison with the value of a column or document.
    mutating func bind(_ value: SQLValue, as operand: Dialect.Operand) -> String {
        guard case .real(let number) = value else { return info.dialect.parameter(bind(value), as: operand) }
        guard operand == .number, info.dialect != .sqlite else { return bind(value) }
        arguments.append(.value(.text(String(number))))
        return info.dialect.parameter(lastArgument, as: .number)
    }

    private var lastArgument: String { "?\(ConditionCompiler.firstArgument + arguments.count - 1)" }

    mutating func bind(_ regex: Regex) -> String {
        arguments.append(.regex(regex))
        return lastArgument
    }

    /// The suffix of a value that must be in a list. The list is one parameter, so that its length does not change the
    /// statement.
    mutating func isIn(_ list: [JSON], as operand: Dialect.Operand) -> String {
        info.dialect.isIn(bind(.text(JSON.array(list).serializedText)), as: operand)
    }

    // MARK: Objects

    mutating func compile(_ condition: JSON) throws -> [ConditionPart] {
        try parts(condition, depth: 0)
    }

    private mutating func parts(_ condition: JSON, depth: Int) throws -> [ConditionPart] {
        guard case .object(let members) = condition else { throw ParseError(.invalidQuery, "where must be an object.") }
        guard depth < ConditionCompiler.depthMax else {
            throw ParseError(.invalidQuery, "A query may nest at most \(ConditionCompiler.depthMax) levels.")
        }
        var parts: [ConditionPart] = []
        for (key, value) in members.sorted(by: { $0.key < $1.key }) {
            switch key {
            case "$or":
                let clauses = try clauses(key, value, depth)
                parts.append(ConditionPart(anyOf: clauses))
            case "$and": parts += try clauses(key, value, depth).joined()
            case "$nor":
                let clauses = try clauses(key, value, depth).map { "(\(ConditionCompiler.all($0))) IS NOT TRUE" }
                parts.append(ConditionPart(sql: ConditionCompiler.joined(clauses, " AND ")))
            case "$relatedTo":
                try countConstraint()
                let term = IndexTerm(row: "o", column: "objectId", kind: .equality)
                parts.append(ConditionPart(sql: try related(to: value), term: term))
            default: parts += try self.parts(field: key, value, depth)
            }
        }
        return parts
    }

    /// All parts as one condition.
    static func all(_ parts: [ConditionPart]) -> String { joined(parts.map(\.sql), " AND ") }

    private mutating func clauses(_ key: String, _ value: JSON, _ depth: Int) throws -> [[ConditionPart]] {
        guard case .array(let clauses) = value, !clauses.isEmpty else {
            let wanted = key == "$nor" ? "an array of at least 1 value" : "an array value"
            throw ParseError(.invalidQuery, "Bad \(key) format - use \(wanted).")
        }
        return try clauses.map { clause in
            try countConstraint()
            return try parts(clause, depth: depth + 1)
        }
    }

    private mutating func parts(field key: String, _ value: JSON, _ depth: Int) throws -> [ConditionPart] {
        if key == "ACL" { throw ParseError(.invalidQuery, "Cannot query on ACL.") }
        let place = try place(of: path(key))
        let subject = QuerySubject(place, in: info)
        guard case .object(let members) = value, members.keys.contains(where: { $0.hasPrefix("$") }) else {
            try countConstraint()
            if depth == 0, !value.isNull { pointed.require(place.row) }
            return split(try subject.equals(value, &self), subject)
        }
        var parts: [ConditionPart] = []
        for (name, operand) in members.sorted(by: { $0.key < $1.key }) {
            try countConstraint()
            if depth == 0, QuerySubject.rejectsMissing(name, operand) { pointed.require(place.row) }
            if name == "$text" {
                guard depth == 0 else {
                    throw ParseError(.invalidQuery, "$text is only possible at the top of a query.")
                }
                parts += try searchText(operand, place)
            } else if name == "$nearSphere" {
                parts += try searchNear(operand, subject, siblings: members, depth)
            } else if let part = try subject.constraint(name, operand, siblings: members, &self) {
                parts += split(part, subject)
            }
        }
        return parts
    }

    /// Splits a condition into index candidates and a test, where it has them; else determines the index term.
    func split(_ sql: String, _ subject: QuerySubject) -> [ConditionPart] {
        if let (found, test) = halves[sql] {
            let term = IndexTerm(row: subject.row, column: "id", kind: .rows)
            return [ConditionPart(sql: found, term: term), ConditionPart(sql: test)]
        }
        // The owners of relation members are matched by id.
        let key = "\(subject.row).objectId"
        let term =
            IndexTerm(sql, comparing: subject.value, of: subject.row) ?? IndexTerm(sql, comparing: key, of: subject.row)
        let isBroad =
            sql.hasPrefix("\(subject.value) IS NOT ") || sql.hasPrefix("\(subject.value) IS DISTINCT FROM ")
            || sql.hasSuffix(" IS NOT NULL") || sql.hasSuffix(" IS NOT TRUE")
        let search = subject.row == "o" ? searches[sql] : nil
        return [ConditionPart(sql: sql, term: term, isBroad: isBroad, search: search)]
    }

    /// The condition that an index finds a row and the row also passes a test.
    mutating func found(_ rows: String, and test: String) -> String {
        let sql = "(\(rows) AND \(test))"
        halves[sql] = (rows, test)
        return sql
    }

    /// Notes the search that finds the objects which pass a test. The whole query uses it (`CompiledQuery`).
    mutating func note(_ search: TextSearch?, of test: String) { searches[test] = search }

    /// Parses a field path and binds member names that are not plain identifiers.
    /// - Throws: `.invalidKeyName` (105).
    mutating func path(_ name: String) throws -> FieldPath {
        try FieldPath(name) { bind(.text($0), as: .text) }
    }

    /// Follows the pointers in a path.
    /// - Throws: `.operationForbidden` (119) when the caller may not query one of the fields, `.invalidQuery` (102),
    ///   `.invalidKeyName` (105) for a bound name outside of Objects and elements of Arrays.
    mutating func place(of path: FieldPath) throws -> FieldPlace {
        guard path.indexCount <= FieldPath.indexesMax else {
            throw ParseError(
                .invalidQuery, "A name in a query may have at most \(FieldPath.indexesMax) indexes of elements.")
        }
        let place = try pointed.place(of: path, in: info, hidden: hidden)
        guard !place.path.isBound || place.leadsIntoObject else {
            throw ParseError(.invalidKeyName, "Invalid key name: \(path.components.joined(separator: ".").prefix(200))")
        }
        // The read rights to objects along the path are not part of a cached query's key.
        if !place.isOwn { isCacheable = false }
        return place
    }

    /// - Throws: `.invalidQuery` (102) when a query has too many constraints.
    mutating func countConstraint() throws {
        constraintCount += 1
        guard constraintCount <= ConditionCompiler.constraintsMax else {
            throw ParseError(.invalidQuery, "A query may have at most \(ConditionCompiler.constraintsMax) constraints.")
        }
    }

    /// - Throws: `.invalidQuery` (102) when a query has too many patterns.
    mutating func countPattern(_ pattern: String) throws(ParseError) { try patterns.take(pattern) }

    /// Joins as a balanced tree: SQLite limits the depth of an expression, and the depth of a chain equals its length.
    static func joined(_ parts: [String], _ separator: String) -> String {
        switch parts.count {
        case 0: return "TRUE"
        case 1: return parts[0]
        case 2...8: return "(" + parts.joined(separator: separator) + ")"
        default:
            let middle = parts.count / 2
            return "(" + joined(Array(parts[..<middle]), separator) + separator
                + joined(Array(parts[middle...]), separator) + ")"
        }
    }

    /// All conditions as one; empty for none.
    static func filter(_ conditions: [String]) -> String {
        conditions.isEmpty ? "" : joined(conditions, " AND ")
    }

    mutating func markTimeDependent() { isCacheable = false }
}
