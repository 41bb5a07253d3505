/// The limits of what is indexed without anybody's wish.
package struct IndexLimits: Sendable {
    /// Automatic indexes of one class, operators' wishes among them.
    package var perClass = 8
    /// Of all classes of a file.
    package var perFile = 48
    /// Objects that a class has at least: fewer are scanned in a millisecond.
    package var rowsMin = 2_000
    /// Bytes of a key on average, above which an index would be a copy of the class.
    package var keyBytesMax = 200

    package init() {}
}

/// The facts of a class that decide about its indexes.
package struct IndexFacts: Sendable {
    package var hasEnoughRows = true
    /// The fields of each index that there is or is being built, in their order.
    package var indexes: [[String]] = []
    /// How many of them are automatic.
    package var automaticCount = 0
    /// One of them counts all objects without looking at them.
    package var isCounted = false
    /// The fields of those that an operator removed.
    package var unwanted: [Set<String>] = []

    package init() {}

    fileprivate func serve(_ shape: QueryShape) -> Bool {
        shape.countsAll ? isCounted : indexes.contains { shape.isServed(by: $0) }
    }
}

/// Decides which index serves most: without I/O.
package enum IndexAdvisor {
    /// - Parameters:
    ///   - uses: the shapes that are worth an index.
    ///   - facts: of their classes; a class without facts gets none.
    ///   - automaticCount: automatic indexes of the whole file.
    /// - Returns: the one index to build next; nil when there is none to build.
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
                // The same fields in another order would be the same wish again.
                guard !facts.unwanted.contains(Set(fields.all)) else { continue }
                let served = open.filter { $0.shape.countsAll || $0.shape.isServed(by: fields.keys) }
                let cost = served.reduce(0) { $0 + $1.cost }
                guard cost > 0 else { continue }
                // Of equals the shorter name, so that the same need always leads to the same index.
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
