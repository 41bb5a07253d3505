import ParseProtocol

/// Evaluates queries by checking every document in the simplest possible way, without a database. It implements
/// PARSE_PROTOCOL section 4.
///
/// It shares no code with the query compiler, so the two agree only if both are right.
struct Evaluator {
    /// The class's fields.
    let fields: [String: ValueKind]
    /// The target class of the Pointer fields.
    let target: String
    /// The stored documents in creation order.
    let documents: [JSON]

    /// A refused query, with the error's code.
    struct Refused: Error, Hashable {
        let code: Int
        static let query = Refused(code: 102)
        static let key = Refused(code: 105)
        static let json = Refused(code: 107)
        static let type = Refused(code: 111)
    }

    struct Question {
        var condition: JSON
        var order: [String] = []
        var limit = 100
        var skip = 0
        /// Nil for the master key, else the principals whose rights the caller has.
        var grants: Set<String>?
    }

    struct Answer: Equatable {
        /// The objects in order.
        var ids: [String]
        /// All matches.
        var count: Int
    }

    func answer(_ question: Question) throws -> Answer {
        let test = try test(question.condition)
        let terms = try question.order.map(OrderTerm.init)
        let rows = documents.enumerated().filter { readable($0.element, question.grants) && test($0.element) }
        // Ties are ordered by distance, then by creation, reversed after a descending last key.
        let isReversed = terms.last?.isDescending ?? false
        let near = NearSearch(question.condition)
        let ranks = Dictionary(
            uniqueKeysWithValues: rows.map { row in (row.offset, terms.map { $0.rank(of: row.element, self) }) })
        let distances = Dictionary(uniqueKeysWithValues: rows.map { ($0.offset, near?.distance(of: $0.element) ?? 0) })
        let sorted = rows.sorted { a, b in
            for (term, ranks) in zip(terms, zip(ranks[a.offset] ?? [], ranks[b.offset] ?? [])) {
                if let isBefore = term.isBefore(ranks.0, ranks.1) { return isBefore }
            }
            if let first = distances[a.offset], let second = distances[b.offset], first != second {
                return first < second
            }
            return isReversed ? a.offset > b.offset : a.offset < b.offset
        }
        let page = sorted.dropFirst(question.skip).prefix(question.limit)
        return Answer(ids: page.map { $0.element["objectId"]?.stringValue ?? "" }, count: rows.count)
    }

    /// A document without an ACL is public.
    private func readable(_ document: JSON, _ grants: Set<String>?) -> Bool {
        guard let grants, let access = document["ACL"]?.objectValue else { return true }
        return grants.union(["*"]).contains { access[$0]?["read"] == true }
    }

    // MARK: where

    typealias Test = (JSON) -> Bool

    /// - Throws: `Refused`.
    func test(_ condition: JSON, isTop: Bool = true) throws -> Test {
        guard case .object(let members) = condition else { throw Refused.query }
        let tests = try members.map { key, value -> Test in
            switch key {
            case "$or", "$and", "$nor":
                guard case .array(let clauses) = value, !clauses.isEmpty else { throw Refused.query }
                let tests = try clauses.map { try test($0, isTop: false) }
                switch key {
                case "$or": return { document in tests.contains { $0(document) } }
                case "$and": return { document in tests.allSatisfy { $0(document) } }
                default: return { document in !tests.contains { $0(document) } }
                }
            case "ACL": throw Refused.query
            default:
                guard Self.isKey(key) else { throw Refused.key }
                guard Self.indexCount(key) <= 2 else { throw Refused.query }
                let constraint = try FieldConstraint(key, value, self, isTop: isTop)
                return { constraint.holds(self.value(of: key, in: $0)) }
            }
        }
        return { document in tests.allSatisfy { $0(document) } }
    }

    private static func isKey(_ key: String) -> Bool {
        let parts = key.split(separator: ".", omittingEmptySubsequences: false)
        guard let first = parts.first?.first, first.isASCII, first.isLetter else { return false }
        return parts.allSatisfy { part in
            !part.isEmpty && !part.hasPrefix("__")
                && part.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
        }
    }

    /// The array index that a part of a key denotes; nil if it can only be a name.
    private static func index(_ part: Substring) -> Int? { Int(part).flatMap { String($0) == part ? $0 : nil } }

    static func indexCount(_ key: String) -> Int { key.split(separator: ".").dropFirst().count { index($0) != nil } }

    /// The value of a document at a key. A dotted key reaches into Objects, and with an index into arrays. Nil for a
    /// missing value.
    func value(of key: String, in document: JSON) -> JSON? {
        var value: JSON? = document
        for part in key.split(separator: ".") {
            if case .array(let elements) = value {
                value = Self.index(part).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
            } else {
                value = value?[String(part)]
            }
        }
        // `createdAt` and `updatedAt` are stored as strings and shown as Dates.
        if let iso = value?.stringValue, key == "createdAt" || key == "updatedAt" { return PlainValue.date(iso) }
        return value
    }

    /// The kind of a field; nil for a member of an Object and for a field that the class lacks.
    func kind(of key: String) -> ValueKind? {
        switch key {
        case "objectId": .string
        case "createdAt", "updatedAt": .date
        default: fields[key]
        }
    }
}
