/// The objects that have all trigrams of a literal, by their index: the candidates of a `$regex` that looks for it.
struct TextSearch {
    /// The columns of row numbers and trigrams, and the table that has them.
    private let row, column, table: String
    private let dialect: Dialect
    /// What the index is asked for.
    let match: String

    /// - Parameters:
    ///   - field: a text field of the class, by its place among them.
    ///   - literal: what is looked for. Nil is given for one without three letters, which has no trigram.
    init?(_ info: ClassInfo, field: Int, literal: String) {
        guard let trigrams = Trigrams.choice(of: literal) else { return nil }
        dialect = info.dialect
        switch dialect {
        case .sqlite:
            (row, column, table) = ("rowid", "t\(info.id)", "t\(info.id)")
            match = "c\(field) : (\(trigrams.map { TextIndex.quoted(String($0)) }.joined(separator: " AND ")))"
        case .postgresql, .plain:
            (row, column, table) = ("id", "t\(field)", "w\(info.id)")
            match = Trigrams.list(trigrams.map { Trigrams.number(of: $0) })
        }
    }

    /// The condition that a row is a candidate.
    /// - Parameter match: the parameter that `match` is bound to (`operand`).
    func condition(of row: String, match: String) -> String {
        let rows = "SELECT \(self.row) FROM \(table) WHERE \(found(by: match))"
        // PostgreSQL looks up an array by the table's key, also one of each clause of an `$or`, and a list never there.
        return dialect == .sqlite ? "\(row).id IN (\(rows))" : "\(row).id = ANY(ARRAY(\(rows)))"
    }

    var operand: Dialect.Operand { .integers }

    private func found(by match: String) -> String {
        "\(column) \(dialect == .sqlite ? "MATCH" : "@>") \(match)"
    }

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
            """
            SELECT count(*) FROM (SELECT 1 FROM \(table) \
            WHERE \(found(by: dialect.parameter("?1", as: operand))) \
            LIMIT \(dialect.parameter("?2", as: .integer))) candidates
            """)
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
