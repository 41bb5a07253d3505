/// The shape of a query: the fields that an index could find and sort its rows by, without values.
package struct QueryShape: Sendable, Hashable {
    package let className: String
    /// Fields that are compared by equality, sorted by name.
    package let equalities: [String]
    /// The field that is compared with a lower or upper bound.
    package let range: String?
    /// The first fields of the order, all in one direction. If all three are empty, the query counts all objects.
    package let order: [String]

    /// Limit of order fields in an index; SQLite sorts rows that are equal so far.
    static let orderMax = 2
    /// Limit of fields compared by equality; an index contains only the first few. A condition with more has no shape,
    /// so that shapes stay small.
    package static let fieldsMax = 16

    package init(className: String, equalities: [String] = [], range: String? = nil, order: [String] = []) {
        self.className = className
        self.equalities = equalities
        self.range = range
        self.order = order
    }

    /// - Parameter counts: the query counts rows and does not sort them.
    /// - Returns: nil if no automatic index would help.
    init?(_ info: ClassInfo, _ parts: [ConditionPart], order: [QueryOrder.Term], counts: Bool) {
        guard !info.name.hasPrefix("_"), !parts.contains(where: { $0.usesOtherIndex || $0.search != nil })
        else { return nil }
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
        // An order index finds the few matches of a selective condition late. A scan in storage order is then better.
        if isSelective || (self.order.isEmpty && !(counts && parts.isEmpty)) { return nil }
    }

    /// Every field that it names.
    var fields: [String] { equalities + order + (range.map { [$0] } ?? []) }

    /// The query counts all objects of the class; any automatic index can answer it.
    package var countsAll: Bool { equalities.isEmpty && range == nil && order.isEmpty }

    /// The first fields of an order that an index can contain.
    private static func sorted(_ info: ClassInfo, _ order: [QueryOrder.Term], fixed: Set<String>) -> [String] {
        var fields: [String] = []
        var direction: Bool?
        for term in order {
            guard let field = info.indexableField(ofColumn: term.column) else { break }
            // A field with a single value does not affect the order.
            if fixed.contains(field) || fields.contains(field) { continue }
            guard fields.count < orderMax, direction == nil || direction == term.isDescending else { break }
            direction = term.isDescending
            fields.append(field)
        }
        return fields
    }

    /// The index for this shape alone.
    /// - Parameter weight: how often a field is compared by equality. Fields of many shapes come first, so that one
    ///   index serves several shapes.
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
    /// An index of another kind finds the rows: of texts, points or ids.
    var usesOtherIndex: Bool {
        guard let term else { return false }
        return term.kind == .rows || term.row == "o" && term.kind == .equality && term.column == "objectId"
    }
}
