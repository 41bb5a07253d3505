import ParseProtocol

/// SQL for one query and kind of caller. Parameters 1 and 2 are the caller's, 3 and 4 limit and skip.
struct CompiledQuery {
    /// Gives the columns doc, objectId and, when `hasScore`, the score.
    let pageSQL: String
    let countSQL: String
    let arguments: [SQLArgument]
    let hasScore: Bool

    static let orderMax = 16

    /// What decides the text of the SQL; equal keys have equal queries.
    struct Key: Hashable {
        let className: String
        let condition: [UInt8]
        let order: [String]
        let kind: CallerKind
        let userFields: [String]
        let hidden: Set<String>
        let wantsScore: Bool
    }

    /// - Parameters:
    ///   - userFields: fields one of which must name the caller, by class-level permissions; nil for no such rule.
    ///   - wantsScore: the score of a `$text` search is part of the answer.
    init(
        condition: String, compiler: ConditionCompiler, order: [String], kind: CallerKind, userFields: [String]?,
        wantsScore: Bool
    ) throws {
        let info = compiler.info
        var conditions = condition == "1" ? [] : [condition]
        var from = "o\(info.id) o"
        let isRanked = compiler.textMatch != nil && (wantsScore || order.contains { $0.hasSuffix("$score") })
        if let match = compiler.textMatch {
            let table = "w\(info.id)"
            if isRanked {
                from = "\(table) JOIN o\(info.id) o ON o.id=\(table).rowid"
                conditions.append("\(table) MATCH \(match)")
            } else {
                conditions.append("o.id IN (SELECT rowid FROM \(table) WHERE \(table) MATCH \(match))")
            }
        }
        if let userFields { conditions.append(try CompiledQuery.userIs(in: userFields, info)) }
        if let readable = kind.condition(.read, classId: info.id) { conditions.append(readable) }
        let filter = conditions.isEmpty ? "" : ConditionCompiler.joined(conditions, " AND ")
        hasScore = isRanked && wantsScore
        arguments = compiler.arguments
        // FTS5 ranks the best lowest.
        let score = hasScore ? ", -bm25(w\(info.id))" : ""
        var sorting = try CompiledQuery.sorting(order, info, hidden: compiler.hidden, isRanked: isRanked)
        // Rows that are equal so far come in the order in which they were made, so that pages neither repeat nor skip.
        let made = order.last?.hasPrefix("-") == true ? "o.id DESC" : "o.id"
        guard let near = compiler.near else {
            let rows = "FROM \(from)\(filter.isEmpty ? "" : " WHERE \(filter)")"
            pageSQL = CompiledQuery.page("o.doc, o.objectId\(score)", rows, sorting + [made])
            countSQL = "SELECT count(*) \(rows)"
            return
        }
        if isRanked { throw ParseError(.invalidQuery, "$score and $nearSphere are not possible together.") }
        let rows = near.rows(info, filter: filter, firstOnly: sorting.isEmpty)
        sorting.append(near.point.distance)
        pageSQL = CompiledQuery.page("o.doc, o.objectId", rows, sorting + [made])
        countSQL = "SELECT count(*) \(near.rows(info, filter: filter, firstOnly: false))"
    }

    private static func page(_ columns: String, _ rows: String, _ sorting: [String]) -> String {
        "SELECT \(columns) \(rows) ORDER BY \(sorting.joined(separator: ", ")) LIMIT ?3 OFFSET ?4"
    }

    private static func sorting(
        _ order: [String], _ info: ClassInfo, hidden: Set<String>, isRanked: Bool
    ) throws -> [String] {
        guard order.count <= orderMax else {
            throw ParseError(.invalidQuery, "A query may be ordered by at most \(orderMax) keys.")
        }
        var terms: [String] = []
        for key in order {
            let isDescending = key.hasPrefix("-")
            let name = isDescending || key.hasPrefix("+") ? String(key.dropFirst()) : key
            let direction = isDescending ? " DESC" : ""
            if name == "$score" {
                // The best first, whatever the sign, as in every server that speaks this protocol.
                if isRanked { terms.append("bm25(w\(info.id))") }
                continue
            }
            if name == "ACL" { throw ParseError(.invalidQuery, "Cannot order by ACL.") }
            guard let path = try? FieldPath(name) else {
                throw ParseError(.invalidKeyName, "Invalid field name: \(name.prefix(200)).")
            }
            guard !hidden.contains(path.root) else {
                throw ParseError(
                    .operationForbidden, "This user is not allowed to query \(path.root) on class \(info.name)")
            }
            if !path.isDotted, BuiltInField(rawValue: name) != nil {
                terms.append("o.\(name)\(direction)")
            } else if let type = info.fields[path.root] {
                terms.append(path.value(appending: path.isDotted ? nil : type.comparedMember) + direction)
            }
        }
        return terms
    }

    /// The condition that one of the fields names the user of parameter 1.
    static func userIs(in fields: [String], _ info: ClassInfo) throws -> String {
        let parts = try fields.map { field -> String in
            let path = try FieldPath(field)
            switch info.fields[field] {
            case .pointer("_User"): return "\(path.value(appending: "objectId"))=?1"
            case .array:
                return """
                    EXISTS(SELECT 1 FROM json_each(o.doc,\(path.literal())) e WHERE CASE WHEN e.type='object' \
                    THEN json_extract(e.value,'$.className')='_User' AND json_extract(e.value,'$.objectId')=?1 END)
                    """
            default: return "0"
            }
        }
        return parts.isEmpty ? "0" : ConditionCompiler.joined(parts, " OR ")
    }

    /// Binds everything and gives the statement back, ready to step.
    func prepared(
        _ sql: String, _ connection: Connection, _ caller: Caller, limit: Int = 0, skip: Int = 0
    ) throws -> Statement {
        let statement = try connection.statement(sql)
        caller.bind(to: statement)
        statement.bind(Int64(max(0, limit)), at: 3)
        statement.bind(Int64(max(0, skip)), at: 4)
        for (offset, argument) in arguments.enumerated() {
            let index = Int32(ConditionCompiler.firstArgument + offset)
            switch argument {
            case .value(let value): statement.bind(value, at: index)
            case .regex(let regex): regex.bind(to: statement, at: index)
            }
        }
        return statement
    }
}
