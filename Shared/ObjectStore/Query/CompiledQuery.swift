import ParseProtocol

/// The SQL for one query and kind of caller; `ObjectReader` caches it by `Key`. Parameters 1 and 2 are the caller's, 3
/// and 4 are limit and skip.
struct CompiledQuery {
    /// Returns the columns doc, objectId, the score when `hasScore`, and the columns of a cursor.
    let pageSQL: String
    /// The other ways to a page that `pageSQL` looks up by a text search; nil without one.
    private let walks: TextWalks?
    let countSQL: String
    private(set) var arguments: [SQLArgument]
    let hasScore: Bool
    /// False when the SQL depends on more than the text of the query and the kind of caller.
    let isCacheable: Bool
    /// False when the result depends on more than the text of the query, the kind of caller and the objects of the
    /// class. Also false for `$nearSphere`, whose rows are found step by step.
    let isShareable: Bool
    /// SQL that returns the columns of a cursor for the object of parameter 5; nil unless the query has `after`.
    let positionSQL: String?
    /// The shapes of the page and of the count, for the index advisor; nil for none.
    let shape: QueryShape?
    let countShape: QueryShape?
    /// With `after`: the indexes of the columns with sort values. The column before them is `o.id`. Otherwise empty.
    let orderColumns: Range<Int32>

    /// The parts of a query that determine the SQL text; equal keys have equal SQL.
    struct Key: Hashable {
        let className: String
        let condition: Condition
        let order: [String]
        let kind: CallerKind
        let userFields: [String]
        let hidden: Set<String>
        let wantsScore: Bool

        /// The condition's text as the client sent it, or the form of `PlainEqualities`. They are separate cases,
        /// because a client's text may have the same bytes as a form.
        enum Condition: Hashable {
            case text([UInt8])
            case form([UInt8])
        }
    }

    /// - Parameters:
    ///   - userFields: fields one of which must name the caller, by class-level permissions; nil for no such rule.
    ///   - wantsScore: the response includes the score of a `$text` search.
    ///   - start: the start of the page, when the query pages by cursors.
    init(
        condition: [ConditionPart], compiler: ConditionCompiler, order: [String], kind: CallerKind,
        userFields: [String]?,
        wantsScore: Bool, start: PageStart? = nil
    ) throws {
        var compiler = compiler
        let info = compiler.info
        let access = try CompiledQuery.access(kind, userFields, info)
        let isRanked = compiler.textScore != nil && (wantsScore || order.contains { $0.hasSuffix("$score") })
        let sorting = try QueryOrder(order, isRanked: isRanked, isComplete: start != nil, &compiler)
        // A distance or rank is not a property of the object, so a cursor cannot store it.
        if start != nil, compiler.near != nil || sorting.hasRank {
            throw ParseError(.invalidQuery, "after cannot be combined with $nearSphere or $score.")
        }
        let joins = compiler.pointed.joins
        isCacheable = compiler.isCacheable
        isShareable = compiler.isCacheable && compiler.near == nil && joins.isEmpty
        let from = "o\(info.id) o" + joins
        let guarded = GuardedCondition(
            info: info, access: access, userFields: userFields, pointed: compiler.pointed,
            order: sorting.terms.map(\.column))
        let isAlone = compiler.near == nil && compiler.textScore == nil && compiler.pointed.isEmpty
        // In built-in classes only the master key finds rows by text index (`GuardedCondition`).
        let mayFindText = access == nil || !info.name.hasPrefix("_")
        let findsText = mayFindText && !condition.contains(where: \.usesOtherIndex)
        let search = findsText ? TextSearch.intersection(condition.compactMap(\.wholeSearch)) : nil
        shape = isAlone ? QueryShape(info, condition, order: sorting.terms, counts: false) : nil
        countShape = isAlone ? QueryShape(info, condition, order: [], counts: true) : nil
        hasScore = isRanked && wantsScore
        let score = wantsScore ? compiler.textScore : nil
        var columns = "o.doc, o.objectId\(score.map { ", \($0)" } ?? "")"
        // Rows with equal sort values are ordered by creation, so that pages neither repeat nor skip rows.
        let isDescending = order.last?.hasPrefix("-") == true
        let tieBreak = isDescending ? "o.id DESC" : "o.id"
        let terms = sorting.terms.map(\.sql)
        var parts = condition
        if case .cursor(let cursor)? = start {
            parts += try cursor.condition((info.name, order), sorting, isDescending: isDescending, &compiler)
        }
        // The last argument, so that SQL without it has no gap: the walk over all objects does not use it. The walk
        // over candidates gets their set in its place.
        let parameter = search.map { compiler.bind($0.term) } ?? ""
        arguments = compiler.arguments
        if let near = compiler.near {
            if isRanked { throw ParseError(.invalidQuery, "$score and $nearSphere cannot be combined.") }
            walks = nil
            positionSQL = nil
            orderColumns = 0..<0
            let filter =
                search.map { guarded.sql(condition, lookingUp: $0.lookup(of: "o.id", by: parameter)) }
                ?? guarded.sql(condition)
            let rows = near.rows(info, joins: joins, filter: filter, firstOnly: terms.isEmpty)
            pageSQL = CompiledQuery.page(columns, rows, terms + [near.point.distance, tieBreak])
            countSQL = "SELECT count(*) \(near.rows(info, joins: joins, filter: filter, firstOnly: false))"
            return
        }
        if start == nil {
            positionSQL = nil
            orderColumns = 0..<0
        } else {
            let values = (["o.id"] + sorting.terms.map(\.value)).joined(separator: ", ")
            columns += ", \(values)"
            let first: Int32 = hasScore ? 4 : 3
            orderColumns = first..<(first + Int32(sorting.terms.count))
            positionSQL = """
                SELECT o.doc, o.objectId\(hasScore ? ", 0" : ""), \(values) FROM o\(info.id) o\(joins) \
                WHERE \(ConditionCompiler.filter(["o.objectId=?5"] + (access.map { [$0] } ?? [])))
                """
        }
        let plain = CompiledQuery.page(
            columns, from, guarded, parts, sorting, tieBreak, IndexWalk(isAlone, info, parts, sorting.terms))
        guard let search else {
            pageSQL = plain
            walks = nil
            countSQL = CompiledQuery.count(from, guarded, condition, kind, isAlone: isAlone)
            return
        }
        func page(_ filter: String) -> String {
            CompiledQuery.page(columns, "FROM \(from) WHERE \(filter)", terms + [tieBreak])
        }
        let lookup = search.lookup(of: "o.id", by: parameter)
        pageSQL = page(guarded.sql(parts, lookingUp: lookup))
        countSQL = "SELECT count(*) FROM \(from) WHERE \(guarded.sql(condition, lookingUp: lookup))"
        guard info.dialect == .sqlite else {
            walks = isAlone ? TextWalks(search: search, all: plain, beginning: nil, candidates: nil) : nil
            return
        }
        guard isAlone, guarded.isOrdered else {
            walks = nil
            return
        }
        let membership = search.membership(of: "o.id", by: parameter)
        var beginning: String?
        if guarded.isSorted, sorting.terms.allSatisfy({ $0.isDescending == isDescending }) {
            let first = guarded.beginning(
                parts, sortedBy: (terms + [tieBreak]).joined(separator: ", "), number: "?4")
            beginning = "SELECT count(*) FROM (SELECT 1 FROM \(first) LIMIT ?3)"
        }
        walks = TextWalks(
            search: search, all: page(guarded.sql(parts, walking: nil)), beginning: beginning,
            candidates: terms.isEmpty ? nil : page(guarded.sql(parts, walking: membership)))
    }

    /// The way that is expected to find the page faster.
    func way(to query: Query, _ connection: any StoreConnection, _ caller: Caller) throws -> TextWalks.Way {
        let wanted = max(0, query.limit).addingReportingOverflow(max(0, query.skip))
        let way = try walks?.way(wanted: wanted.overflow ? .max : wanted.partialValue, connection) { sql, limit, skip in
            try prepared(sql, connection, caller, limit: limit, skip: skip)
        }
        return way ?? TextWalks.Way(sql: pageSQL)
    }

    /// A page from the class's own table and indexes, or from an automatic index.
    private static func page(
        _ columns: String, _ from: String, _ guarded: GuardedCondition, _ parts: [ConditionPart], _ order: QueryOrder,
        _ tieBreak: String, _ walk: IndexWalk?
    ) -> String {
        let filter = guarded.sql(parts, walk)
        let rows = "FROM \(walk?.source(guarded.info) ?? from)\(filter.isEmpty ? "" : " WHERE \(filter)")"
        guard let walk else { return page(columns, rows, order.terms.map(\.sql) + [tieBreak]) }
        let last = tieBreak.replacing("o.id", with: walk.row, maxReplacements: 1)
        return page(columns, rows, order.terms.map { walk.sorted(by: $0) } + [last])
    }

    /// The count; from an automatic index alone if it answers the whole condition.
    private static func count(
        _ from: String, _ guarded: GuardedCondition, _ parts: [ConditionPart], _ kind: CallerKind, isAlone: Bool
    ) -> String {
        let info = guarded.info
        let walk = parts.isEmpty && isAlone ? IndexWalk(counting: info) : IndexWalk(isAlone, info, parts, [])
        if let walk, walk.found.count == parts.count, guarded.userFields == nil, let count = walk.count(info, kind) {
            return count
        }
        // Without conditions an index is only used to count.
        let used = parts.isEmpty ? nil : walk
        let filter = guarded.sql(parts, used)
        return "SELECT count(*) FROM \(used?.source(info) ?? from)\(filter.isEmpty ? "" : " WHERE \(filter)")"
    }

    private static func page(_ columns: String, _ rows: String, _ sorting: [String]) -> String {
        "SELECT \(columns) \(rows) ORDER BY \(sorting.joined(separator: ", ")) LIMIT ?3 OFFSET ?4"
    }

    /// The condition that the caller may read a row; nil when it may read every row.
    static func access(
        _ kind: CallerKind, _ userFields: [String]?, _ info: ClassInfo, row: String = "o"
    ) throws -> String? {
        var rules: [String] = []
        if let readable = kind.condition(.read, of: info, row: row) { rules.append(readable) }
        if let userFields { rules.append(try userIs(in: userFields, info, document: "\(row).doc")) }
        return rules.isEmpty ? nil : ConditionCompiler.joined(rules, " AND ")
    }

    /// The condition that one of the fields names the user of parameter 1.
    static func userIs(
        in fields: [String], _ info: ClassInfo, document: String = "o.doc"
    ) throws -> String {
        let parts = try fields.map { field -> String in
            let path = try FieldPath(field)
            switch info.fields[field] {
            case .pointer("_User"):
                let user = info.dialect.parameter("?1", as: .text)
                return "\(info.dialect.value(path, of: info.fields[field], in: document))=\(user)"
            case .array:
                let dialect = info.dialect
                return """
                    EXISTS(SELECT 1 FROM \(dialect.elements(of: path, in: document, as: "e")) \
                    WHERE CASE WHEN \(dialect.elementType("e"))='object' \
                    THEN \(dialect.text("className", of: "e.value"))='_User' \
                    AND \(dialect.text("objectId", of: "e.value"))=?1 END)
                    """
            default: return "FALSE"
            }
        }
        return parts.isEmpty ? "FALSE" : ConditionCompiler.joined(parts, " OR ")
    }

    /// The same query with other bound values.
    func comparing(with values: [SQLValue]) -> CompiledQuery {
        var query = self
        query.arguments = values.map(SQLArgument.value)
        return query
    }

    /// Binds all parameters and returns the statement, ready to step.
    func prepared(
        _ sql: String, _ connection: any StoreConnection, _ caller: Caller, limit: Int = 0, skip: Int = 0
    ) throws -> any StoreStatement {
        let statement = try connection.query(sql)
        try caller.bind(to: statement)
        try statement.bind(Int64(max(0, limit)), at: 3)
        try statement.bind(Int64(max(0, skip)), at: 4)
        for (offset, argument) in arguments.enumerated() {
            let index = Int32(ConditionCompiler.firstArgument + offset)
            switch argument {
            case .value(let value): try statement.bind(value, at: index)
            case .regex(let regex): try statement.bind(regex, at: index)
            }
        }
        return statement
    }

    /// The same for a way to a page.
    func prepared(
        _ way: TextWalks.Way, _ connection: any StoreConnection, _ caller: Caller, limit: Int = 0, skip: Int = 0
    ) throws -> any StoreStatement {
        let statement = try prepared(way.sql, connection, caller, limit: limit, skip: skip)
        if let found = way.found {
            // The search's term is the last argument.
            let term = Int32(ConditionCompiler.firstArgument + arguments.count - 1)
            try (statement as? SQLiteStatement)?.bind(found, at: term)
        }
        return statement
    }
}
