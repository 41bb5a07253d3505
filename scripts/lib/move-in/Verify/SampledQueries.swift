import ParseProtocol

/// Random numbers that a seed repeats (SplitMix64).
struct SeededNumbers: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

/// An old server that answers queries of Parse.
protocol QueriedServer: OldServer {
    /// Nil when it refuses the query.
    func answer(_ className: String, _ query: SampledQuery) async throws -> QueryAnswer?
}

/// The answer to a sampled query.
struct QueryAnswer: Sendable, Equatable {
    var count: Int?
    /// Ids of the first objects, if the query has an order.
    var ids: [String] = []

    init(count: Int?, ids: [String]) { (self.count, self.ids) = (count, ids) }

    /// - Parameter answer: of `/classes/<Class>`.
    init(_ answer: JSON) {
        count = answer["count"]?.intValue.map { Int(clamping: $0) }
        ids = (answer["results"]?.arrayValue ?? []).compactMap { $0["objectId"]?.stringValue }
    }

    var text: String { ([count.map { "\($0)" } ?? "no count"] + ids).joined(separator: " ") }
}

/// A query whose answer follows from the rows of the old server.
struct SampledQuery: Sendable {
    enum Kind: Sendable, Hashable {
        /// The number of objects with a value.
        case equal(JSON)
        /// The first objects by a field and then by id.
        case ordered(isDescending: Bool)
    }

    static let limit = 20

    let field: String
    let kind: Kind
    private(set) var count = 0
    private var first: [(value: JSON, id: String)] = []
    /// Whether a row has null, which a server may count as a value.
    private(set) var isUndecided = false

    init(field: String, kind: Kind) { (self.field, self.kind) = (field, kind) }

    /// The answer that follows from the rows.
    var expected: QueryAnswer { QueryAnswer(count: count, ids: first.map { $0.id }) }

    /// The options of a request to `/classes/<Class>`.
    var options: [String: JSON] {
        var options: [String: JSON] = ["where": condition, "keys": "objectId", "count": 1]
        options["order"] = order.map(JSON.string)
        options["limit"] = .int(order == nil ? 0 : Int64(Self.limit))
        return options
    }

    var condition: JSON {
        switch kind {
        case .equal(let value): .object([field: value])
        case .ordered: .object([field: ["$exists": true]])
        }
    }

    var order: String? {
        guard case .ordered(let isDescending) = kind else { return nil }
        return "\(isDescending ? "-" : "")\(field),objectId"
    }

    /// - Parameter canonical: the row's fields in canonical form.
    mutating func take(_ row: MovedRow, _ canonical: [String: JSON]) {
        if row.fields[field]?.isNull == true { isUndecided = true }
        guard let value = canonical[field] else { return }
        switch kind {
        case .equal(let wanted):
            if value == wanted { count += 1 }
        case .ordered(let isDescending):
            count += 1
            let entry = (value: value, id: row.objectId)
            let place = first.firstIndex { Self.precedes(entry, $0, isDescending) } ?? first.count
            guard place < Self.limit else { return }
            first.insert(entry, at: place)
            if first.count > Self.limit { first.removeLast() }
        }
    }

    private static func precedes(
        _ one: (value: JSON, id: String), _ other: (value: JSON, id: String), _ isDescending: Bool
    ) -> Bool {
        guard one.value != other.value else { return one.id.utf8.lexicographicallyPrecedes(other.id.utf8) }
        return isLess(one.value, other.value) != isDescending
    }

    /// Texts by their bytes, as in Satchel.
    static func isLess(_ one: JSON, _ other: JSON) -> Bool {
        if let one = one.doubleValue, let other = other.doubleValue { return one < other }
        let texts = [one, other].map { $0.stringValue ?? $0["iso"]?.stringValue ?? "" }
        return texts[0].utf8.lexicographicallyPrecedes(texts[1].utf8)
    }

    func text(_ className: String) -> String {
        switch kind {
        case .equal(let value): "\(className) where \(field) = \(RowComparison.shown(value, field))"
        case .ordered(let isDescending): "\(className) by \(field)\(isDescending ? ", descending" : "")"
        }
    }
}

/// Ten queries of a class, chosen from its first rows.
struct SampledQueries: Sendable {
    static let countMax = 10
    private static let rowsMax = 500
    private static let textBytesMax = 100

    private(set) var queries: [SampledQuery] = []
    private var rows: [(row: MovedRow, canonical: [String: JSON])] = []
    private var isChosen = false
    private var numbers: SeededNumbers

    init(seed: UInt64) { numbers = SeededNumbers(seed: seed) }

    mutating func take(_ row: MovedRow, _ canonical: [String: JSON]) {
        guard !isChosen else {
            for place in queries.indices { queries[place].take(row, canonical) }
            return
        }
        rows.append((row, canonical))
        if rows.count == Self.rowsMax { choose() }
    }

    /// Chooses the queries, if the class has fewer rows than are needed to choose earlier.
    mutating func finish() { if !isChosen { choose() } }

    private mutating func choose() {
        isChosen = true
        var known: Set<String> = []
        for _ in 0..<(Self.countMax * 5) where queries.count < Self.countMax {
            guard let sample = rows.randomElement(using: &numbers) else { break }
            let fields = sample.canonical.filter { Self.isUsable($0.key, $0.value, sample.row.className) }
            guard let field = fields.keys.sorted().randomElement(using: &numbers), let value = fields[field] else {
                continue
            }
            let query = SampledQuery(field: field, kind: kind(value))
            if known.insert(query.text("")).inserted { queries.append(query) }
        }
        for (row, canonical) in rows {
            for place in queries.indices { queries[place].take(row, canonical) }
        }
        rows = []
    }

    private mutating func kind(_ value: JSON) -> SampledQuery.Kind {
        let isOrdered = value.boolValue == nil && value.wireType != "Pointer"
        guard isOrdered, Bool.random(using: &numbers) else { return .equal(value) }
        return .ordered(isDescending: Bool.random(using: &numbers))
    }

    private static func isUsable(_ field: String, _ value: JSON, _ className: String) -> Bool {
        guard !["objectId", "createdAt", "updatedAt", "ACL"].contains(field), !SuiteFields.isSecret(field),
            SuiteFields.added[className]?.contains(field) != true
        else { return false }
        switch value {
        case .bool, .int, .double: return true
        case .string(let text): return text.utf8.count <= textBytesMax
        case .object: return ["Date", "Pointer"].contains(value.wireType)
        case .null, .array: return false
        }
    }
}
