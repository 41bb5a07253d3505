/// The limits for indexes that the store creates without an operator's request.
package struct IndexLimits: Sendable {
    /// Limit of automatic indexes per class, including indexes that operators requested.
    package var perClass = 8
    /// Limit of automatic indexes per database.
    package var perFile = 48
    /// Minimum number of objects in a class: fewer are scanned in a millisecond.
    package var rowsMin = 2_000
    /// Maximum average bytes of a key; with larger keys an index would be a copy of the class.
    package var keyBytesMax = 200

    package init() {}
}

/// The facts about a class that decide which indexes it gets.
package struct IndexFacts: Sendable {
    package var hasEnoughRows = true
    /// The fields of each index that exists or is being built, in their order.
    package var indexes: [[String]] = []
    /// The number of automatic ones among them.
    package var automaticCount = 0
    /// One of them can count all objects without reading them.
    package var isCounted = false
    /// The fields of the indexes that an operator removed.
    package var unwanted: [Set<String>] = []

    package init() {}

    fileprivate func serve(_ shape: QueryShape) -> Bool {
        shape.countsAll ? isCounted : indexes.contains { shape.isServed(by: $0) }
    }
}

/// Decides which index saves most. Does no I/O.
package enum IndexAdvisor {
    /// - Parameters:
    ///   - uses: the shapes that are worth an index.
    ///   - facts: by class; a class without facts gets no index.
    ///   - automaticCount: the number of automatic indexes in the database.
    /// - Returns: the next index to build; nil when there is none.
    package static func next(
        _ uses: [QueryShape: ShapeTable.Use], _ facts: [String: IndexFacts], automaticCount: Int,
        _ limits: IndexLimits
    ) -> (className: String, fields: IndexFields)? {
        guard automaticCount < limits.perFile else { return nil }
        var best: (cost: Double, className: String, fields: IndexFields)?
        for (className, ofClass) in Dictionary(grouping: uses, by: { $0.key.className }) {
            guard let facts = facts[className], facts.hasEnoughRows, facts.automaticCount < limits.perClass else {
                continue
            }
            let open = ofClass.map { (shape: $0.key, cost: $0.value.cost) }.filter { !facts.serve($0.shape) }
            for fields in candidates(open) {
                // The same fields in another order count as the same index.
                guard !facts.unwanted.contains(Set(fields.all)) else { continue }
                let served = open.filter { $0.shape.countsAll || $0.shape.isServed(by: fields.keys) }
                let cost = served.reduce(0) { $0 + $1.cost }
                guard cost > 0 else { continue }
                // Ties go to the shorter name, so that the same use always leads to the same index.
                let isBetter = best.map { (cost, $0.fields.name) > ($0.cost, fields.name) } ?? true
                if isBetter { best = (cost, className, fields) }
            }
        }
        return best.map { ($0.className, $0.fields) }
    }

    private static func candidates(_ shapes: [(shape: QueryShape, cost: Double)]) -> Set<IndexFields> {
        var weights: [String: Double] = [:]
        for (shape, cost) in shapes {
            for field in shape.equalities { weights[field, default: 0] += cost }
        }
        return Set(shapes.map { $0.shape.index { weights[$0] ?? 0 } })
    }
}
