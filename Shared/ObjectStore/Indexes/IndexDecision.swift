import ParseProtocol

/// The decision about the recent costly queries.
package enum IndexDecision: Sendable, Hashable {
    /// No index can or needs to be built.
    case nothing
    /// Building of this class's index with this name began.
    case begun(className: String, name: String)
    /// The values of these shapes are too long for an index.
    case unfit(Set<QueryShape>)
}

extension StoreTransaction {
    /// Begins to build the index that saves most of the recent query cost, if there is one.
    /// - Parameter uses: the shapes that are worth an index (`ShapeLog.wanted`).
    package func beginIndex(
        for uses: [QueryShape: ShapeTable.Use], _ limits: IndexLimits
    ) throws -> IndexDecision {
        // Since the queries ran, fields may have been removed or hidden.
        let uses = uses.filter { use in
            guard let info = schema.classes[use.key.className] else { return false }
            return use.key.fields.allSatisfy { info.isIndexable($0) }
        }
        var facts: [String: IndexFacts] = [:]
        for name in Set(uses.keys.map(\.className)) {
            if let info = schema.classes[name] { facts[name] = try indexFacts(info, limits) }
        }
        let count = schema.classes.values.reduce(0) { sum, info in sum + info.automatic.count(where: { $0.isKept }) }
        guard let (className, fields) = IndexAdvisor.next(uses, facts, automaticCount: count, limits),
            var info = schema.classes[className]
        else { return .nothing }
        // Different field lists can have the same index name: a_b and c, a and b_c.
        let isNamed = info.automatic.contains { $0.isKept && $0.name == fields.name }
        guard !isNamed, try keyBytes(fields, info) <= limits.keyBytesMax else {
            return .unfit(Set(uses.keys.filter { $0.className == className && $0.isServed(by: fields.keys) }))
        }
        try AutomaticIndex.begin(fields, of: &info, by: .satchel, at: now, connection)
        schema.classes[className] = info
        try writer.advance(&schema)
        return .begun(className: className, name: fields.name)
    }

    private func indexFacts(_ info: ClassInfo, _ limits: IndexLimits) throws -> IndexFacts {
        var facts = IndexFacts()
        let last = try rows(
            "SELECT 1 FROM o\(info.id) LIMIT 1 OFFSET ?", [.int(Int64(max(0, limits.rowsMin - 1)))])
        facts.hasEnoughRows = !last.isEmpty
        let kept = info.automatic.filter(\.isKept)
        let own = info.indexes.map { $0.map { info.indexableField(ofColumn: $0) ?? $0 } }
        facts.indexes = own + kept.map(\.fields.keys)
        facts.automaticCount = kept.count
        facts.isCounted = kept.contains { info.dialect == .sqlite || $0.fields.areColumns }
        facts.unwanted = info.automatic.filter(\.isUnwanted).map { Set($0.fields.all) }
        return facts
    }

    /// The average size of the index's keys over the newest objects.
    private func keyBytes(_ fields: IndexFields, _ info: ClassInfo) throws -> Int {
        let lengths = try fields.all.map { field in
            "coalesce(\(info.dialect.length(try info.column(of: field))), 0)"
        }.joined(separator: "+")
        let average = try connection.rows(
            "SELECT CAST(avg(\(lengths)) AS REAL) FROM (SELECT * FROM o\(info.id) ORDER BY id DESC LIMIT 100) AS newest"
        ).first?[0].realValue
        return Int(average ?? 0)
    }
}
