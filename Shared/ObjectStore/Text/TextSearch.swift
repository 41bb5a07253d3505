/// The objects that have all trigrams of a literal, by their index: the candidates of a `$regex` that looks for it.
struct TextSearch {
    /// The index's table.
    let table: String
    /// What it is asked for (`TextIndex.trigramMatch`).
    let match: String

    /// Candidates at which a page is still found sooner by looking at each of them than by going through the objects in
    /// their order until the page is full. Of `rows` objects every `rows / candidates`th is one, so that the second way
    /// looks at `wanted * rows / candidates` of them: as many as there are candidates when these are the root of
    /// `wanted * rows`. A thousand are looked at in any case: candidates may have the trigrams without the literal, and
    /// then the second way looks at all objects.
    /// - Parameter wanted: the objects of the page and of those before it.
    static func candidatesMax(wanted: Double, of rows: Int64) -> Int64 {
        Int64(min(max(1000, (wanted * Double(rows)).squareRoot()), 1_000_000))
    }

    /// The number of candidates, at most `limit`: counting further costs time and decides nothing.
    /// - Throws: `ReadOverrun` like the query itself: trigrams that many objects have, and none all of them, take long.
    func candidates(upTo limit: Int64, _ connection: any StoreConnection) throws -> Int64 {
        let statement = try connection.query(
            "SELECT count(*) FROM (SELECT 1 FROM \(table) WHERE \(table) MATCH ?1 LIMIT ?2)")
        defer { statement.reset() }
        try statement.bind(match, at: 1)
        try statement.bind(limit, at: 2)
        return try statement.step() ? statement.int(0) : 0
    }
}

extension ConditionPart {
    /// The searches that together have every object which meets the condition: that of this part, or one of each clause
    /// of an `$or`; empty where not all of it is looked for by text.
    var searches: [TextSearch] {
        if let search { return [search.text] }
        let clauses = alternatives.map { clause in clause.lazy.map(\.searches).first { !$0.isEmpty } ?? [] }
        return clauses.contains(where: \.isEmpty) ? [] : clauses.flatMap(\.self)
    }

    /// The same condition without the index of texts, for objects that are gone through in their order.
    var withoutSearch: ConditionPart {
        if let search { return ConditionPart(sql: search.always, isBroad: true) }
        guard !alternatives.isEmpty else { return self }
        return ConditionPart(anyOf: alternatives.map { $0.map(\.withoutSearch) })
    }
}
