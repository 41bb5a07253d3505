import ParseProtocol

/// `$lookup`: adds to each document an array of objects of another class. An object matches when its foreign field
/// equals the document's local field.
struct Lookup {
    let className: String
    let localField: AggregatePath
    let foreignField: AggregatePath
    /// The field that gets the array.
    let name: String

    /// - Throws: `.invalidQuery` (102) for an invalid stage, `.invalidKeyName` (105) for an invalid name,
    ///   `.invalidClassName` (103) for an invalid class.
    init(_ specification: JSON) throws {
        let members = specification.objectValue ?? [:]
        guard members.count == 4, case .string(let className)? = members["from"],
            case .string(let localField)? = members["localField"],
            case .string(let foreignField)? = members["foreignField"], case .string(let name)? = members["as"]
        else { throw ParseError(.invalidQuery, "$lookup needs from, localField, foreignField and as.") }
        guard Names.isClassName(className) else {
            throw ParseError.invalidClassName(className)
        }
        guard Names.isIdentifier(name) else {
            throw ParseError(.invalidKeyName, "Invalid key name: \(name.prefix(200))")
        }
        self.className = className
        self.localField = try AggregatePath(localField)
        self.foreignField = try AggregatePath(foreignField)
        self.name = name
    }
}

/// Runs a `Lookup`. It reads after all documents have arrived, for several hundred of them with one query, and never
/// during another query.
final class LookupStep: PipelineStep {
    /// Passes to `body` each object of the class that matches the condition, in the pipeline's form.
    typealias Find = (_ condition: JSON, _ body: (JSON) throws -> Void) throws -> Void

    private let lookup: Lookup
    private let find: Find
    private let next: any PipelineStep
    private let budget: AggregateBudget
    private var documents: [JSON] = []

    /// Limit of values in one query.
    private static let valuesMax = 500

    init(_ lookup: Lookup, find: @escaping Find, next: any PipelineStep, budget: AggregateBudget) {
        self.lookup = lookup
        self.find = find
        self.next = next
        self.budget = budget
    }

    var isSatisfied: Bool { false }

    func take(_ document: JSON) throws {
        try budget.step()
        try budget.keep(document)
        documents.append(document)
    }

    func finish() throws {
        var start = 0
        while start < documents.count, !next.isSatisfied {
            var end = start
            var values: Set<JSON> = []
            while end < documents.count, values.count < Self.valuesMax {
                values.formUnion(sought(by: documents[end]))
                end += 1
            }
            let found = try objects(with: values)
            for document in documents[start..<end] where !next.isSatisfied {
                try budget.step()
                var seen: Set<Int> = []
                for value in sought(by: document) { seen.formUnion(found.positions[value] ?? []) }
                var joined = document
                joined[lookup.name] = .array(seen.sorted().map { found.objects[$0] })
                try budget.check(joined)
                try next.take(joined)
            }
            start = end
        }
        try next.finish()
    }

    /// The values that a document looks up: the value of its field, each element of an array, or null for a missing
    /// value.
    private func sought(by document: JSON) -> [JSON] {
        let value = lookup.localField.value(in: document) ?? .null
        return value.arrayValue ?? [value]
    }

    private func objects(with values: Set<JSON>) throws -> (objects: [JSON], positions: [JSON: [Int]]) {
        var objects: [JSON] = []
        var positions: [JSON: [Int]] = [:]
        let field = lookup.foreignField
        let name = ([field.isPointerText ? "_p_\(field.root)" : field.root] + field.components.dropFirst())
        try find([name.joined(separator: "."): ["$in": .array(Array(values))]]) { object in
            try budget.step()
            try budget.keep(object)
            let value = field.value(in: object) ?? .null
            for value in Set([value] + (value.arrayValue ?? [])) { positions[value, default: []].append(objects.count) }
            var shown = object
            shown["objectId"] = object["_id"]
            shown["_id"] = nil
            objects.append(shown)
        }
        return (objects, positions)
    }
}
