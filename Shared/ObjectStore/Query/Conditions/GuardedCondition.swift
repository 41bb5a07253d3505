/// Puts a query's condition behind the rule that says which rows the caller may read.
///
/// SQLite evaluates the terms of a WHERE in an order of its own, but `CASE` evaluates nothing that it need not
/// (https://www.sqlite.org/lang_expr.html#the_case_expression). All but the candidates of indexes therefore stands in a
/// `CASE` whose condition is the access rule of every row that it names.
struct GuardedCondition {
    let info: ClassInfo
    /// The rule for the queried row; nil for the master key, which reads every row.
    let access: String?
    let userFields: [String]?
    let pointed: PointedRows
    /// The columns of the order, as indexes have them.
    let order: [String]

    /// SQL of the condition after `WHERE`; empty for none.
    /// - Parameter walk: the automatic index that finds the candidates.
    func sql(_ parts: [ConditionPart], _ walk: IndexWalk? = nil) -> String {
        guard let access else {
            return ConditionCompiler.filter(parts.enumerated().map { walk?.found[$0.offset] ?? $0.element.sql })
        }
        if let walk {
            let found = walk.found.sorted { $0.key < $1.key }.map(\.value)
            let rest = parts.indices.filter { walk.found[$0] == nil }.map { parts[$0].sql }
            return guarded(found, rest, by: access)
        }
        // Classes of the system hold what one user may read and no other: how many lie in a range is nobody's business.
        let choice = CandidateChoice(
            parts, rows: pointed.requiredIndexes.merging(["o": info.indexes]) { _, own in own }, order: order,
            findsRanges: !info.name.hasPrefix("_"))
        return guarded(choice.candidates, choice.rest, by: access)
    }

    private func guarded(_ candidates: [String], _ rest: [String], by access: String) -> String {
        let rules = [access] + pointed.requiredAccess
        guard !rest.isEmpty else { return ConditionCompiler.filter(candidates + rules) }
        let guarded = """
            CASE WHEN \(ConditionCompiler.joined(rules, " AND ")) \
            THEN \(ConditionCompiler.joined(rest, " AND ")) ELSE FALSE END
            """
        // Once more by itself, where SQLite can use it to look at fewer rows.
        let early = userFields != nil || !pointed.isEmpty ? [access] : []
        return ConditionCompiler.filter(candidates + early + [guarded])
    }
}
