/// The objects that contain all trigrams of a literal, by an index: the candidates of a `$regex` for the literal.
struct TextSearch {
    /// The columns of row numbers and trigrams, and the table that contains them.
    private let row, column, table: String
    private let dialect: Dialect
    /// The search term for the index.
    let match: String

    /// - Parameters:
    ///   - field: a text field of the class, by its position among them.
    ///   - literal: the searched text. The result is nil for fewer than three letters, which have no trigram.
    init?(_ info: ClassInfo, field: Int, literal: String) {
        guard let trigrams = Trigrams.choice(of: literal) else { return nil }
        dialect = info.dialect
        switch dialect {
        case .sqlite:
            (row, column, table) = ("rowid", "t\(info.id)", "t\(info.id)")
            match = "c\(field) : (\(trigrams.map { TextIndex.quoted(String($0)) }.joined(separator: " AND ")))"
        case .postgresql:
            (row, column, table) = ("id", "t\(field)", "w\(info.id)")
            match = Trigrams.list(trigrams.map { Trigrams.number(of: $0) })
        }
    }

    /// The condition that a row is a candidate.
    /// - Parameter match: the parameter that `match` is bound to (`operand`).
    func condition(of row: String, match: String) -> String {
        let rows = "SELECT \(self.row) FROM \(table) WHERE \(found(by: match))"
        // PostgreSQL uses the table's key for an array, also in each clause of an `$or`, but never for a list.
        return dialect == .sqlite ? "\(row).id IN (\(rows))" : "\(row).id = ANY(ARRAY(\(rows)))"
    }

    var operand: Dialect.Operand { .integers }

    private func found(by match: String) -> String {
        "\(column) \(dialect == .sqlite ? "MATCH" : "@>") \(match)"
    }

    /// The number of candidates up to which checking each of them is faster than scanning the objects in order until
    /// the page is full. Every `rows / candidates`th object is a candidate, so the scan reads `wanted * rows /
    /// candidates` objects. Both costs are equal when the number of candidates is the square root of `wanted * rows`.
    /// The minimum is a thousand: candidates may contain the trigrams without the literal, and then the scan reads all
    /// objects.
    /// - Parameter wanted: the number of objects of the page and before it.
    static func candidatesMax(wanted: Double, of rows: Int64) -> Int64 {
        Int64(min(max(1000, (wanted * Double(rows)).squareRoot()), 1_000_000))
    }

    /// The number of candidates, at most `limit`: a larger count costs time and changes nothing.
    /// - Throws: `ReadOverrun` as the query itself: trigrams that are each frequent but rarely occur together take
    ///   long.
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
    /// The searches that together find every object that meets the condition: this part's search, or one for each
    /// clause of an `$or`. Empty if text searches do not cover all clauses.
    var searches: [TextSearch] {
        if let search { return [search.text] }
        let clauses = alternatives.map { clause in clause.lazy.map(\.searches).first { !$0.isEmpty } ?? [] }
        return clauses.contains(where: \.isEmpty) ? [] : clauses.flatMap(\.self)
    }

    /// The same condition without the text index, for objects that are scanned in order.
    var withoutSearch: ConditionPart {
        if let search { return ConditionPart(sql: search.always, isBroad: true) }
        guard !alternatives.isEmpty else { return self }
        return ConditionPart(anyOf: alternatives.map { $0.map(\.withoutSearch) })
    }
}
