/// The objects whose texts may contain a literal, by the text index: the candidates of a condition with `$regex`.
struct TextSearch {
    private let info: ClassInfo
    /// The search in the index's syntax.
    private let match: String

    private init(_ info: ClassInfo, _ match: String) {
        self.info = info
        self.match = match
    }

    /// - Parameters:
    ///   - field: a text field of the class, by its position among them.
    ///   - literal: the searched text. The result is nil for a text without terms (`WordEnds.sought`).
    init?(_ info: ClassInfo, field: Int, literal: String) {
        let terms = WordEnds.sought(in: literal).map { term in
            info.dialect == .sqlite
                ? "\"\(field)\(term.text)\"\(term.isPrefix ? " *" : "")"
                : "'\(field)\(term.text)'\(term.isPrefix ? ":*" : "")"
        }
        guard !terms.isEmpty else { return nil }
        self.init(info, Self.joined(terms, info.dialect, all: true))
    }

    /// The objects that all searches find; nil for no search.
    static func intersection(_ searches: [TextSearch]) -> TextSearch? { joined(searches, all: true) }

    /// The objects that any of the searches finds; nil for no search.
    static func union(_ searches: [TextSearch]) -> TextSearch? { joined(searches, all: false) }

    private static func joined(_ searches: [TextSearch], all: Bool) -> TextSearch? {
        guard let info = searches.first?.info else { return nil }
        return TextSearch(info, joined(searches.map(\.match), info.dialect, all: all))
    }

    private static func joined(_ parts: [String], _ dialect: Dialect, all: Bool) -> String {
        guard parts.count > 1 else { return parts.joined() }
        let sign = dialect == .sqlite ? (all ? " AND " : " OR ") : (all ? " & " : " | ")
        return "(\(parts.joined(separator: sign)))"
    }

    /// The value of the parameter.
    var term: SQLValue {
        let tooMany = info.dialect == .sqlite ? "\"\(WordEnds.tooMany)\"" : "'\(WordEnds.tooMany)'"
        return .text(Self.joined([match, tooMany], info.dialect, all: false))
    }

    // MARK: Conditions

    /// The condition that looks up the candidates' rows.
    /// - Parameter parameter: the parameter that `term` is bound to.
    func lookup(of row: String, by parameter: String) -> String {
        // PostgreSQL uses the table's key for an array, but never for a list.
        info.dialect == .sqlite
            ? "\(row) IN (\(rows(parameter)))" : "\(row) = ANY(ARRAY(\(rows(parameter))))"
    }

    /// The condition for a row that the query meets in another order: a row that is no candidate is not read. Only in
    /// SQLite.
    /// - Parameter parameter: the parameter that the set of the candidates is bound to (`found`).
    func membership(of row: String, by parameter: String) -> String { "satchel_among(\(parameter),\(row))" }

    private func rows(_ parameter: String) -> String {
        info.dialect == .sqlite
            ? "SELECT rowid FROM t\(info.id) WHERE t\(info.id) MATCH \(parameter)"
            : "SELECT id FROM w\(info.id) WHERE terms @@ \(info.dialect.parameter(parameter, as: .terms))"
    }

    /// The number of candidates, at most `limit`: a larger count costs time and changes nothing.
    /// - Throws: `ReadOverrun` as the query itself: counting the rows of many terms takes long.
    func count(upTo limit: Int64, _ connection: any StoreConnection) throws -> Int64 {
        let statement = try connection.query(
            """
            SELECT count(*) FROM (\(rows("?1")) LIMIT \(info.dialect.parameter("?2", as: .integer))) candidates
            """)
        defer { statement.reset() }
        try statement.bind(term, at: 1)
        try statement.bind(limit, at: 2)
        return try statement.step() ? statement.int(0) : 0
    }

    /// The candidates; nil for fewer than `countMin`.
    /// - Throws: `ReadOverrun` as the query itself.
    func found(countMin: Int64, highest: Int64, _ connection: any StoreConnection) throws -> RowSet? {
        let statement = try connection.query(rows("?1"))
        defer { statement.reset() }
        try statement.bind(term, at: 1)
        return try RowSet.read(statement, countMin: countMin, highest: highest)
    }

    /// The highest row of the class: at least the number of its objects.
    func objects(_ connection: any StoreConnection) throws -> Int64 {
        let newest = try connection.statement("SELECT coalesce(max(id), 0) FROM o\(info.id)")
        defer { newest.reset() }
        return try newest.step() ? newest.int(0) : 0
    }
}

/// The ways to a page that do not look up the candidates of a text search one by one.
struct TextWalks {
    let search: TextSearch
    /// The page by reading all objects in its order until it is full. It is best if many of the first objects are on
    /// the page.
    let all: String
    /// Counts, up to parameter 3, the objects of the page among the first objects in its order, as many as parameter 4.
    /// Nil where the order needs a sort, and for PostgreSQL.
    let beginning: String?
    /// The page by meeting all objects in its order but reading only candidates. It is best for many candidates: those
    /// may be the last in the order. Nil for PostgreSQL, and for the order of creation, in which SQLite looks up rows.
    let candidates: String?

    /// A way to a page.
    struct Way {
        let sql: String
        /// The set that takes the place of the search's term.
        var found: RowSet?
    }

    /// The best way; nil for the page that looks up each candidate.
    /// - Parameters:
    ///   - wanted: the number of objects of the page and before it.
    ///   - prepared: binds a statement's parameters; gets its parameters 3 and 4. `beginning` has another parameter 4.
    func way(
        wanted: Int, _ connection: any StoreConnection,
        prepared: (_ sql: String, _ limit: Int, _ skip: Int) throws -> any StoreStatement
    ) throws -> Way? {
        let objects = try search.objects(connection)
        let balance = (Double(wanted) * Double(objects)).squareRoot()
        guard connection.dialect == .sqlite, objects <= RowSet.rowMax else {
            let few = Self.lookupsMax(besideAll: balance)
            return try search.count(upTo: few, connection) < few ? nil : Way(sql: all)
        }
        if let beginning, try isFull(by: beginning, wanted, of: objects, balance, prepared) { return Way(sql: all) }
        guard let candidates else { return nil }
        let few = Self.lookupsMax(besideCandidates: balance, of: objects)
        return try search.found(countMin: few, highest: objects, connection).map { Way(sql: candidates, found: $0) }
    }

    /// The number of candidates up to which looking up each of them is faster than reading all objects in order. Every
    /// `objects / candidates`th object is a candidate, so that walk reads `wanted * objects / candidates` objects: as
    /// many as there are candidates if these are the square root of `wanted * objects`, the balance. The minimum is a
    /// thousand: the walk may meet all candidates last.
    private static func lookupsMax(besideAll balance: Double) -> Int64 { Int64(min(max(1000, balance), 1_000_000)) }

    /// The number of candidates up to which looking up each of them is faster than meeting all objects and reading only
    /// candidates. That walk meets fifty other objects in the time of one look-up, so it never costs more than looking
    /// up a fiftieth of the objects, and mostly much less.
    private static func lookupsMax(besideCandidates balance: Double, of objects: Int64) -> Int64 {
        Int64(max(100, min(balance, Double(objects) / 100)))
    }

    /// Whether the first objects fill the page. The index needs long to find all candidates of a frequent word, up to
    /// the time of reading a sixteenth of the objects; the first objects show such a word at once.
    private func isFull(
        by beginning: String, _ wanted: Int, of objects: Int64, _ balance: Double,
        _ prepared: (_ sql: String, _ limit: Int, _ skip: Int) throws -> any StoreStatement
    ) throws -> Bool {
        let first = max(balance / 10, 2 * Double(wanted))
        guard first <= Double(objects) / 16 else { return false }
        let statement = try prepared(beginning, wanted, Int(first))
        defer { statement.reset() }
        return try statement.step() && statement.int(0) >= Int64(wanted)
    }
}

extension ConditionPart {
    /// The search that finds every object that meets the condition: this part's search, or the searches of all clauses
    /// of an `$or`.
    var wholeSearch: TextSearch? {
        if let search { return search }
        let clauses = alternatives.compactMap { clause in TextSearch.intersection(clause.compactMap(\.wholeSearch)) }
        return clauses.count == alternatives.count ? TextSearch.union(clauses) : nil
    }
}
