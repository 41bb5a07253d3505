/// The shape of a query: the fields that an index could find and sort its rows by, without any value.
package struct QueryShape: Sendable, Hashable {
    package let className: String
    /// Fields that have one value of some, by name.
    package let equalities: [String]
    /// The field that lies on one side of a value.
    package let range: String?
    /// The first fields that rows are sorted by, all in one direction. None, and no field above: all are counted.
    package let order: [String]

    /// Fields of an order that an index has; behind them SQLite sorts what is equal so far.
    static let orderMax = 2
    /// Fields compared by equality, of which an index has the first few. A condition with more has none, so that shapes
    /// stay small.
    package static let fieldsMax = 16

    package init(className: String, equalities: [String] = [], range: String? = nil, order: [String] = []) {
        self.className = className
        self.equalities = equalities
        self.range = range
        self.order = order
    }

    /// - Parameter counts: rows are counted and so not sorted.
    /// - Returns: nil for what no automatic index would serve.
    init?(_ info: ClassInfo, _ parts: [ConditionPart], order: [QueryOrder.Term], counts: Bool) {
        guard !info.name.hasPrefix("_"), !parts.contains(where: \.isFoundOtherwise) else { return nil }
        var equalities: Set<String> = []
        var ranges: [String] = []
        var isSelective = false
        for part in parts {
            guard let term = part.term, let field = info.indexableField(ofColumn: term.column) else {
                isSelective = isSelective || !part.isBroad
                continue
            }
            if term.kind == .equality { equalities.insert(field) } else { ranges.append(field) }
        }
        guard equalities.count <= Self.fieldsMax else { return nil }
        self.equalities = equalities.sorted()
        range = ranges.first { !equalities.contains($0) }
        self.order = counts ? [] : Self.sorted(info, order, fixed: equalities)
        className = info.name
        guard self.equalities.isEmpty, range == nil else { return }
        // In an order alone few matches are found late: then all rows are looked at, as they lie.
        if isSelective || (self.order.isEmpty && !(counts && parts.isEmpty)) { return nil }
    }

    /// Every field that it names.
    var fields: [String] { equalities + order + (range.map { [$0] } ?? []) }

    /// All objects of the class are counted, which any automatic index serves.
    package var countsAll: Bool { equalities.isEmpty && range == nil && order.isEmpty }

    /// The first fields of an order that an index can have.
    private static func sorted(_ info: ClassInfo, _ order: [QueryOrder.Term], fixed: Set<String>) -> [String] {
        var fields: [String] = []
        var direction: Bool?
        for term in order {
            guard let field = info.indexableField(ofColumn: term.column) else { break }
            // One value of a field sorts nothing.
            if fixed.contains(field) || fields.contains(field) { continue }
            guard fields.count < orderMax, direction == nil || direction == term.isDescending else { break }
            direction = term.isDescending
            fields.append(field)
        }
        return fields
    }

    /// The index for this shape alone.
    /// - Parameter weight: how often a field is compared by equality; those of many shapes come first, so that one
    ///   index serves several.
    package func index(weight: (String) -> Double) -> IndexFields {
        let first = equalities.sorted { (weight($0), $1) > (weight($1), $0) }.prefix(AutomaticIndex.fieldsMax - 2)
        let own = range.map { [$0] } ?? []
        let keys = Array(first) + (order.isEmpty ? own : order)
        if keys.isEmpty { return IndexFields(keys: ["createdAt"]) }
        let room = AutomaticIndex.fieldsMax - keys.count
        return IndexFields(keys: keys, filters: Array(own.filter { !keys.contains($0) }.prefix(room)))
    }

    /// Whether an index with these columns finds the rows of this shape in their order.
    package func isServed(by columns: [String]) -> Bool {
        if countsAll { return false }
        let count = min(equalities.count, AutomaticIndex.fieldsMax - 2)
        let (first, rest) = (columns.prefix(count), columns.dropFirst(count))
        guard first.count == count, first.allSatisfy({ equalities.contains($0) }) else { return false }
        return order.isEmpty ? range == nil || rest.first == range : rest.starts(with: order)
    }
}

extension ConditionPart {
    /// Rows that an index of another kind finds: words, places, ids.
    var isFoundOtherwise: Bool {
        guard let term else { return false }
        return term.kind == .rows || term.row == "o" && term.kind == .equality && term.column == "objectId"
    }
}
