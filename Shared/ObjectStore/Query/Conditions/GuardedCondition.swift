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
    func sql(_ parts: [ConditionPart], _ walk: IndexWalk? = nil) -> String {
        guard let access else {
            return ConditionCompiler.filter(parts.enumerated().map { walk?.found[$0.offset] ?? $0.element.sql })
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
        // Repeated outside of the CASE, where SQLite can use the rule to read fewer rows.
        let early = userFields != nil || !pointed.isEmpty ? [access] : []
        return ConditionCompiler.filter(candidates + early + [guarded])
    }
}
