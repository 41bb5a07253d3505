import ParseProtocol

/// `$group`: one document for each value of the key, in the order of their first appearance.
final class GroupStep: PipelineStep {
    private let key: AggregateExpression
    private let fields: [(name: String, field: GroupField)]
    private var indexes: [JSON: Int] = [:]
    private var groups: [(key: JSON, values: [GroupAccumulator])] = []
    private let next: any PipelineStep
    private let budget: AggregateBudget

    init(
        key: AggregateExpression, fields: [String: GroupField], next: any PipelineStep, budget: AggregateBudget
    ) {
        self.key = key
        self.fields = fields.map { ($0, $1) }
        self.next = next
        self.budget = budget
    }

    var isSatisfied: Bool { false }

    func take(_ document: JSON) throws {
        try budget.step()
        let value = try key.value(in: document) ?? .null
        let index: Int
        if let known = indexes[value] {
            index = known
        } else {
            // The empty accumulators are charged as a text of about their size.
            try budget.keep(["key": value, "values": .array(fields.map { .string($0.name) })])
            index = groups.count
            indexes[value] = index
            groups.append((value, fields.map { GroupAccumulator($0.field) }))
        }
        for position in fields.indices { try groups[index].values[position].add(document, budget) }
    }

    func finish() throws {
        for (key, values) in groups {
            if next.isSatisfied { break }
            try budget.step()
            var members: [String: JSON] = ["_id": shown(key)]
            for (field, value) in zip(fields, values) { members[field.name] = value.result }
            let document = JSON.object(members)
            try budget.check(document)
            try next.take(document)
        }
        try next.finish()
    }

    /// A group by a pointer is identified by the object's id alone, as SDKs expect.
    private func shown(_ value: JSON) -> JSON {
        guard case .field(let path) = key else { return value }
        if let target = value.pointerTarget { return .string(target.objectId) }
        if path.isPointerText, let text = value.stringValue, let separator = text.firstIndex(of: "$") {
            return .string(String(text[text.index(after: separator)...]))
        }
        return value
    }
}

/// `$sort`. The sort is stable.
final class SortStep: PipelineStep {
    private let keys: [(path: AggregatePath, isDescending: Bool)]
    private var rows: [(values: [JSON?], document: JSON)] = []
    private let next: any PipelineStep
    private let budget: AggregateBudget

    init(_ keys: [(path: AggregatePath, isDescending: Bool)], next: any PipelineStep, budget: AggregateBudget) {
        self.keys = keys
        self.next = next
        self.budget = budget
    }

    var isSatisfied: Bool { false }

    func take(_ document: JSON) throws {
        try budget.step()
        try budget.keep(document)
        let values = keys.map {
            ValueOrder.sortValue(of: $0.path.value(in: document), isDescending: $0.isDescending)
        }
        rows.append((values, document))
    }

    func finish() throws {
        let order = rows.indices.sorted { a, b in
            for (index, key) in keys.enumerated() {
                let result = ValueOrder.compare(rows[a].values[index], rows[b].values[index])
                if result != 0 { return (result < 0) != key.isDescending }
            }
            return a < b
        }
        for index in order {
            if next.isSatisfied { break }
            try budget.step()
            try next.take(rows[index].document)
        }
        try next.finish()
    }
}

/// `$count`: one document with the number of input documents; no document when there were none.
final class CountStep: PipelineStep {
    private let name: String
    private var count = 0
    private let next: any PipelineStep

    init(_ name: String, next: any PipelineStep) {
        self.name = name
        self.next = next
    }

    var isSatisfied: Bool { false }

    func take(_ document: JSON) throws { count += 1 }

    func finish() throws {
        if count > 0 { try next.take(.object([name: .int(Int64(count))])) }
        try next.finish()
    }
}

/// `$sample`: a uniform random selection of documents.
final class SampleStep: PipelineStep {
    private let size: Int
    private var seen = 0
    private var chosen: [JSON] = []
    private let next: any PipelineStep
    private let budget: AggregateBudget

    init(_ size: Int, next: any PipelineStep, budget: AggregateBudget) {
        self.size = size
        self.next = next
        self.budget = budget
    }

    var isSatisfied: Bool { false }

    func take(_ document: JSON) throws {
        try budget.step()
        seen += 1
        if chosen.count < size {
            try budget.keep(document)
            chosen.append(document)
            return
        }
        let place = Int.random(in: 0..<seen)
        guard place < size else { return }
        try budget.keep(document, insteadOf: chosen[place])
        chosen[place] = document
    }

    func finish() throws {
        for document in chosen.shuffled() {
            if next.isSatisfied { break }
            try next.take(document)
        }
        try next.finish()
    }
}

/// The last step: writes the results in the form that clients get.
final class ResultStep: PipelineStep {
    private(set) var body = Array(#"{"results":["#.utf8)
    private(set) var rows = 0
    private let budget: AggregateBudget

    init(budget: AggregateBudget) { self.budget = budget }

    var isSatisfied: Bool { false }

    func take(_ document: JSON) throws {
        try budget.step()
        if rows > 0 { body.append(UInt8(ascii: ",")) }
        rows += 1
        ResultStep.shown(document).append(to: &body)
        guard body.count <= ObjectReader.answerBytesMax else { throw ObjectReader.answerTooLarge }
    }

    func finish() throws { body.append(contentsOf: "]}".utf8) }

    /// Names and times in Parse's form: the id as `objectId`, null for an empty one; `createdAt` and `updatedAt` as
    /// plain texts.
    private static func shown(_ document: JSON) -> JSON {
        guard case .object(var members) = document else { return document }
        if let id = members.removeValue(forKey: "_id") {
            members["objectId"] = [.string(""), .array([]), .object([:])].contains(id) ? .null : id
        }
        for name in ["createdAt", "updatedAt"] {
            if let time = members[name]?.timestamp { members[name] = .string(time.iso) }
        }
        return .object(members)
    }
}
