/// An access path of a query through an automatic index: `a<id> x`, whose rows refer to rows of the class.
///
/// SQLite does not know that the table is an index, so the walk chooses it. The same rules apply to the class's indexes
/// and to automatic ones; an automatic one is chosen when it answers more of the query. Equalities and ranges find rows
/// in it, as in every other index (`CandidateChoice`). PostgreSQL knows its index and chooses it itself; there, the
/// walk only says which parts of the condition may be looked up.
struct IndexWalk {
    let index: AutomaticIndex
    /// The index is a table (SQLite).
    private let isTable: Bool
    private let columns: [String]
    /// The parts that the index answers, in SQL on the index, by their position in the condition.
    let found: [Int: String]

    /// - Parameter isAlone: the query reads only the class's own rows, and no geo index or text rank.
    /// - Returns: nil when no automatic index serves the query better than the class's own indexes.
    init?(_ isAlone: Bool, _ info: ClassInfo, _ parts: [ConditionPart], _ order: [QueryOrder.Term]) {
        guard isAlone, info.automatic.contains(where: { $0.state == .ready }),
            !parts.contains(where: \.usesOtherIndex)
        else { return nil }
        let own = info.indexes.map { Match($0, filters: [], parts, order).score }.max() ?? 0
        var best: (index: AutomaticIndex, columns: [String], match: Match)?
        for index in info.automatic where index.state == .ready {
            guard let keys = try? index.fields.keys.map(info.column(of:)),
                let filters = try? index.fields.filters.map(info.column(of:))
            else { continue }
            let match = Match(keys, filters: filters, parts, order)
            guard match.isPossible(parts), match.score > max(own, best?.match.score ?? 0) else { continue }
            best = (index, keys + filters, match)
        }
        guard let best else { return nil }
        index = best.index
        columns = best.columns
        isTable = info.dialect == .sqlite
        guard isTable else {
            let own = parts.indices.filter { parts[$0].term.map { $0.row == "o" && $0.column == "id" } ?? false }
            found = Dictionary(uniqueKeysWithValues: Set(best.match.used.map(\.part) + own).map { ($0, parts[$0].sql) })
            return
        }
        var found = Dictionary(
            uniqueKeysWithValues: best.match.used.map { part, column in
                // A part with a term begins with its column, which names the row.
                let rest = parts[part].sql.dropFirst(best.columns[column].count + "o.".count)
                return (part, "x.\(AutomaticIndex.column(column))\(rest)")
            })
        // After the equalities the index has the order of creation, which pages can continue in.
        for (place, part) in parts.enumerated() where part.term?.row == "o" && part.term?.column == "id" {
            found[place] = "x.object\(part.sql.dropFirst("o.id".count))"
        }
        self.found = found
    }

    /// The walk that counts all objects of a class in a ready index table.
    init?(counting info: ClassInfo) {
        guard info.dialect == .sqlite else { return nil }
        isTable = true
        let ready = info.automatic.filter { $0.state == .ready }
        guard let index = ready.min(by: { $0.fields.all.count < $1.fields.all.count }) else { return nil }
        self.index = index
        columns = []
        found = [:]
    }

    /// The SQL after `FROM`.
    func source(_ info: ClassInfo) -> String {
        isTable ? "\(index.table) x CROSS JOIN o\(info.id) o ON o.id=x.object" : "o\(info.id) o"
    }

    /// The number of an object's row.
    var row: String { isTable ? "x.object" : "o.id" }

    /// A sort term, from the index where it contains the value.
    func sorted(by term: QueryOrder.Term) -> String {
        guard isTable, let place = columns.firstIndex(of: term.column) else { return term.sql }
        return "x.\(AutomaticIndex.column(place))\(term.isDescending ? " DESC" : "")"
    }

    /// SQL that counts the objects visible to the caller, from the index alone: publicly readable ones, plus the others
    /// whose ACL names the caller.
    /// - Returns: nil where the objects must be read.
    func count(_ info: ClassInfo, _ kind: CallerKind) -> String? {
        guard isTable else { return nil }
        let found = found.sorted { $0.key < $1.key }.map(\.value)
        func rows(_ source: String, _ conditions: [String]) -> String {
            let filter = ConditionCompiler.filter(found + conditions)
            return "SELECT count(*) FROM \(source)\(filter.isEmpty ? "" : " WHERE \(filter)")"
        }
        let table = "\(index.table) x"
        if kind == .master { return rows(table, []) }
        let all = rows(table, ["x.readable"])
        guard let principal = kind.principal(info.dialect) else { return all }
        let named = "(SELECT DISTINCT p.object FROM p\(info.id) p WHERE \(principal) AND p.canRead) n"
        return "SELECT (\(all))+(\(rows("\(named) CROSS JOIN \(table) ON x.object=n.object", ["NOT x.readable"])))"
    }
}

/// How a query can use an index.
private struct Match {
    /// The parts that the index answers, with their columns.
    private(set) var used: [(part: Int, column: Int)] = []
    private(set) var score = 0
    /// The condition compares the first column.
    private var isNarrow = false
    /// The index returns rows in the wanted order.
    private var isSorted = false

    init(_ keys: [String], filters: [String], _ parts: [ConditionPart], _ order: [QueryOrder.Term]) {
        func place(_ isWanted: (IndexTerm.Kind) -> Bool, _ column: String) -> [Int] {
            parts.indices.filter { index in
                parts[index].term.map { $0.row == "o" && $0.column == column && isWanted($0.kind) } ?? false
            }
        }
        var next = 0
        var isSingle = true
        while next < keys.count, let part = place({ $0 == .equality }, keys[next]).first {
            used.append((part: part, column: next))
            score += 4
            let comparison = parts[part].sql.dropFirst(keys[next].count + "o.".count)
            if comparison.hasPrefix(" IN (") || comparison.hasPrefix("=ANY(") { isSingle = false }
            next += 1
        }
        let fixed = Set(keys.prefix(next))
        let wanted = order.filter { !fixed.contains($0.column) }
        var sorted = 0
        while isSingle, next < keys.count, sorted < wanted.count, wanted[sorted].column == keys[next],
            wanted[sorted].isDescending == wanted[0].isDescending
        {
            if sorted == 0 { take(place({ $0 != .equality }, keys[next]), next, weight: 2) }
            next += 1
            sorted += 1
        }
        if sorted > 0 {
            isSorted = true
            score += 3
        } else if next < keys.count {
            take(place({ $0 != .equality }, keys[next]), next, weight: 2)
            next += 1
        }
        isNarrow = used.contains { $0.column == 0 }
        for (column, name) in (keys + filters).enumerated() where column >= next {
            take(place({ _ in true }, name), column, weight: 1)
        }
    }

    private mutating func take(_ parts: [Int], _ column: Int, weight: Int) {
        used += parts.map { (part: $0, column: column) }
        score += weight * parts.count
    }

    /// Whether the index can find the rows. With its order alone it can only if the remaining conditions exclude few
    /// rows.
    func isPossible(_ parts: [ConditionPart]) -> Bool {
        if isNarrow { return true }
        let answered = Set(used.map(\.part))
        return isSorted && parts.indices.allSatisfy { answered.contains($0) || parts[$0].isBroad }
    }
}
