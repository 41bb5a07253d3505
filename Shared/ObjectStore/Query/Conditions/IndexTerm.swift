/// The part of a condition that an index can answer: rows with a given value, or above or below a bound.
struct IndexTerm: Equatable {
    enum Kind { case equality, lower, upper, rows }

    /// The name of the row in SQL.
    let row: String
    /// The column or expression in the form that indexes use, for example `json_extract(doc,'$."name"')`.
    let column: String
    let kind: Kind

    init(row: String, column: String, kind: Kind) {
        self.row = row
        self.column = column
        self.kind = kind
    }

    /// - Parameters:
    ///   - sql: the part; the result is nil if it does not compare the value directly.
    ///   - value: SQL of the compared value of that row.
    init?(_ sql: String, comparing value: String, of row: String) {
        guard sql.hasPrefix(value) else { return nil }
        let rest = sql.dropFirst(value.utf8.count)
        switch rest.first {
        case "=": kind = .equality
        case "<": kind = .upper
        case ">": kind = .lower
        default:
            guard rest == " IS NULL" || rest.hasPrefix(" IN (") else { return nil }
            kind = .equality
        }
        self.row = row
        column = value.replacing("\(row).", with: "", maxReplacements: 1)
    }
}

/// One part of a condition; all parts must hold.
struct ConditionPart {
    let sql: String
    /// The comparison in this part that an index can answer; nil when there is none.
    var term: IndexTerm?
    /// The part usually excludes few rows: `$ne`, `$nin`, `$exists`.
    var isBroad = false
    /// The parts of each clause of a top-level `$or`.
    var alternatives: [[ConditionPart]] = []
    /// The search that finds the objects which meet this part.
    var search: TextSearch?
}

extension ConditionPart {
    init(anyOf clauses: [[ConditionPart]]) {
        self.init(sql: ConditionCompiler.joined(clauses.map(ConditionCompiler.all), " OR "), alternatives: clauses)
    }
}

/// Splits a query's conditions in two: candidates, which an index finds, and the rest.
///
/// A row that the caller may not read must not reach a condition whose cost depends on the row's content. Candidates
/// are the exception: an index finds them at the same cost for every row, and each costs one check of its access rule,
/// regardless of its content. Therefore there are few: one index for each class of the query, and one equality or one
/// range for each column of that index.
struct CandidateChoice {
    private(set) var candidates: [String] = []
    private(set) var rest: [String] = []

    /// Limit of clauses in an `$or` that may each find candidates.
    private static let alternativesMax = 8

    /// - Parameters:
    ///   - rows: the columns of the indexes of each required row, by its name in SQL.
    ///   - order: the columns that the rows `o` are sorted by.
    ///   - findsRanges: false where rows are usually private; then only equalities are looked up.
    ///   - walks: the rows `o` are met in their order, so only its first column may have a range.
    init(
        _ parts: [ConditionPart], rows: [String: [[String]]], order: [String], findsRanges: Bool, walks: Bool = false
    ) {
        var chosen: Set<Int> = []
        for (row, indexes) in rows {
            chosen.formUnion(
                Self.best(parts, row, indexes, order: row == "o" ? order : [], findsRanges, walks: walks))
        }
        // The position in the order of creation does not depend on the object's content.
        chosen.formUnion(parts.indices.filter { parts[$0].term.map { $0.row == "o" && $0.column == "id" } ?? false })
        if findsRanges, let found = parts.firstIndex(where: { $0.term?.kind == .rows && $0.term?.row == "o" }) {
            chosen.insert(found)
        }
        for (position, part) in parts.enumerated() {
            if chosen.contains(position) { candidates.append(part.sql) } else { rest.append(part.sql) }
        }
        guard findsRanges, !walks, chosen.isEmpty, let indexes = rows["o"] else { return }
        for part in parts where (2...Self.alternativesMax).contains(part.alternatives.count) {
            let found = part.alternatives.map { clause in
                Self.best(clause, "o", indexes, order: [], findsRanges).sorted().map { clause[$0].sql }
            }
            guard !found.contains(where: \.isEmpty) else { continue }
            candidates.append(
                ConditionCompiler.joined(found.map { ConditionCompiler.joined($0, " AND ") }, " OR "))
            return
        }
    }

    /// The parts that the best index answers.
    private static func best(
        _ parts: [ConditionPart], _ row: String, _ indexes: [[String]], order: [String], _ findsRanges: Bool,
        walks: Bool = false
    ) -> Set<Int> {
        func first(_ kind: IndexTerm.Kind, _ column: String) -> Int? {
            parts.firstIndex { $0.term == IndexTerm(row: row, column: column, kind: kind) }
        }
        var best: (score: Int, parts: Set<Int>) = (0, [])
        for columns in indexes {
            var used: Set<Int> = []
            var score = 0
            for (position, column) in columns.enumerated() {
                if let part = first(.equality, column) {
                    used.insert(part)
                    score += column == "objectId" ? 100 : 4
                    continue
                }
                let mayBeRange = findsRanges && (!walks || order.first == column)
                let range = mayBeRange ? [first(.lower, column), first(.upper, column)].compactMap { $0 } : []
                used.formUnion(range)
                score += 2 * range.count
                if score > 0, order.first == column, position > 0 || !range.isEmpty { score += 1 }
                break
            }
            if score > best.score { best = (score, used) }
        }
        return best.parts
    }
}
