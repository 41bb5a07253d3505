/// Puts a query's condition behind the access rule, which decides which rows the caller may read.
///
/// SQLite evaluates the terms of a WHERE in any order, but `CASE` evaluates only the branches that it needs
/// (https://www.sqlite.org/lang_expr.html#the_case_expression). Therefore everything except index candidates is in a
/// `CASE` whose condition is the access rule of every row that it reads.
struct GuardedCondition {
    let info: ClassInfo
    /// The rule for the queried row; nil for the master key, which reads every row.
    let access: String?
    let userFields: [String]?
    let pointed: PointedRows
    /// The columns of the order, in the form that indexes use.
    let order: [String]

    /// The SQL of the condition after `WHERE`; empty for none.
    /// - Parameter walk: the automatic index that finds the candidates.
    func sql(_ parts: [ConditionPart], _ walk: IndexWalk? = nil) -> String { sql(parts, walk, first: []) }

    private func sql(_ parts: [ConditionPart], _ walk: IndexWalk?, first: [String]) -> String {
        guard let access else {
            return ConditionCompiler.filter(first + parts.enumerated().map { walk?.found[$0.offset] ?? $0.element.sql })
        }
        if let walk {
            let found = walk.found.sorted { $0.key < $1.key }.map(\.value)
            let rest = parts.indices.filter { walk.found[$0] == nil }.map { parts[$0].sql }
            return guarded(found, rest, by: access)
        }
        // Objects of built-in classes are mostly readable for one user only: their number in a range must not be
        // measurable.
        let choice = CandidateChoice(
            parts, rows: pointed.requiredIndexes.merging(["o": info.indexes]) { _, own in own }, order: order,
            findsRanges: findsRanges)
        return guarded(first + choice.candidates, choice.rest, by: access)
    }

    /// Whether an index has the order.
    var isOrdered: Bool { order.first.map { first in info.indexes.contains { $0.first == first } } ?? true }

    /// Whether an index, or the order of creation, has exactly the order.
    var isSorted: Bool { order.isEmpty || info.indexes.contains(order) }

    private var findsRanges: Bool { !info.name.hasPrefix("_") }

    /// The same for a text search. SQLite does not know how many objects a search finds, so nothing else may look up
    /// rows. PostgreSQL knows.
    /// - Parameter found: the condition of its candidates.
    func sql(_ parts: [ConditionPart], lookingUp found: String) -> String {
        guard info.dialect == .sqlite else { return sql(parts, nil, first: [found]) }
        return guarded([found], parts.map(\.sql), by: access ?? "TRUE")
    }

    /// The same for objects that SQLite meets in the order of the page: nothing but an equality or the order itself may
    /// look up rows.
    /// - Parameter found: the condition of the candidates of a text search; nil to read every object.
    func sql(_ parts: [ConditionPart], walking found: String?) -> String {
        let choice = CandidateChoice(
            parts, rows: ["o": info.indexes], order: order, findsRanges: findsRanges, walks: true)
        return guarded((found.map { [$0] } ?? []) + choice.candidates, choice.rest, by: access ?? "TRUE")
    }

    /// The first objects that SQLite meets in an order, as rows `o`, and the condition for them.
    /// - Parameter number: the parameter of their number.
    func beginning(_ parts: [ConditionPart], sortedBy sorting: String, number: String) -> String {
        let choice = CandidateChoice(
            parts, rows: ["o": info.indexes], order: order, findsRanges: findsRanges, walks: true)
        let met = ConditionCompiler.filter(choice.candidates)
        return """
            (SELECT o.* FROM o\(info.id) o\(met.isEmpty ? "" : " WHERE \(met)") \
            ORDER BY \(sorting) LIMIT \(number)) o WHERE \(guarded([], choice.rest, by: access ?? "TRUE"))
            """
    }

    private func guarded(_ candidates: [String], _ rest: [String], by access: String) -> String {
        let rules = [access] + pointed.requiredAccess
        guard !rest.isEmpty else { return ConditionCompiler.filter(candidates + rules) }
        let guarded = """
            CASE WHEN \(ConditionCompiler.joined(rules, " AND ")) \
            THEN \(ConditionCompiler.joined(rest, " AND ")) ELSE FALSE END
            """
        // Repeated outside of the CASE, where SQLite can use the rule to read fewer rows.
        let early = userFields != nil || !pointed.isEmpty ? [access] : []
        return ConditionCompiler.filter(candidates + early + [guarded])
    }
}
