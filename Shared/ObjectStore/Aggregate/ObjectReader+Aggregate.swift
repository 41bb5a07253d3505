import ParseProtocol

/// A computation over the objects of a class (PARSE_PROTOCOL section 4.2).
public struct Aggregate: Sendable {
    /// The class whose objects are the pipeline's input.
    public var className: String
    /// An array of stages with one member each. The keys of a `$sort` are an array of pairs,
    /// `[["score",-1],["name",1]]`, because the members of a `JSON` object have no order; an object with one key is
    /// also valid.
    public var pipeline: JSON
    /// Returns statistics of the work instead of the results.
    public var explains: Bool

    /// An aggregate. The pipeline is validated when it runs.
    public init(className: String, pipeline: JSON, explains: Bool = false) {
        self.className = className
        self.pipeline = pipeline
        self.explains = explains
    }
}

extension ObjectReader {
    /// Runs a pipeline. It is for the master key only, because grouping reveals all values.
    ///
    /// The first `$match` (and `$sort`, `$skip` and `$limit` after it) run as SQL. All other stages run in memory over
    /// its rows, with limits on time, memory and response size.
    /// - Returns: `{"results":[…]}`, empty for a class that does not exist.
    /// - Throws: `.invalidQuery` (102), `.invalidKeyName` (105) or `.invalidJSON` (107) for a bad pipeline, `.timeout`
    ///   (124) when it takes longer than `timeLimit`, `.inefficientQuery` (154) when it keeps more than 64 MiB,
    ///   `.operationForbidden` (119) for callers without the master key.
    public func aggregate(_ aggregate: Aggregate, caller: Caller) throws -> FoundPage {
        try requireMaster(caller)
        let pipeline = try PipelineStage.pipeline(aggregate.pipeline)
        return try reading {
            let budget = AggregateBudget(connection.timeLimit)
            let result = ResultStep(budget: budget)
            var documents = 0
            if let info = try aggregatedClass(aggregate.className) {
                let plan = try PipelinePlan(pipeline, info)
                let first = try plan.steps(to: result, budget) { try self.foreign($0, caller, budget) }
                try forEachDocument(of: plan.query, plan.roots, caller, budget) { document in
                    documents += 1
                    try first.take(document)
                    return !first.isSatisfied
                }
                try first.finish()
            } else {
                try result.finish()
            }
            guard aggregate.explains else { return FoundPage(body: result.body, rows: result.rows) }
            let stages = pipeline.count
            let explained: JSON = [
                "results": [
                    [
                        "stages": .int(Int64(stages)),
                        "executionStats": [
                            "executionSuccess": true, "nReturned": .int(Int64(result.rows)),
                            "totalDocsExamined": .int(Int64(documents)),
                        ],
                    ]
                ]
            ]
            return FoundPage(body: explained.serialized, rows: 1)
        }
    }

    /// The distinct values of a field in the objects that a query returns to the caller, in the order in which they
    /// were found. Each element of an array is a value; nulls are skipped.
    /// - Returns: `{"results":[…]}`, empty for a class or field that does not exist.
    /// - Throws: as `aggregate`; `.operationForbidden` (119) when the caller may not find objects or use the field in
    ///   queries.
    public func distinct(_ field: String, of query: Query, caller: Caller) throws -> FoundPage {
        let path = try AggregatePath(field)
        var query = query
        query.limit = PipelinePlan.everything
        return try reading {
            let budget = AggregateBudget(connection.timeLimit)
            var seen: Set<JSON> = []
            var values: [JSON] = []
            if let info = try aggregatedClass(query.className) {
                guard !info.unqueryableFields(by: caller).contains(path.storedRoot) else {
                    throw ParseError(
                        .operationForbidden,
                        "This user is not allowed to query \(path.storedRoot) on class \(info.name)")
                }
                try forEachDocument(of: query, [path.storedRoot], caller, budget) { document in
                    try budget.step()
                    guard let value = path.value(in: document) else { return true }
                    for value in value.arrayValue ?? [value] where !value.isNull && seen.insert(value).inserted {
                        try budget.keep(value)
                        values.append(value)
                    }
                    return true
                }
            }
            let body = JSON.object(["results": .array(values)]).serialized
            guard body.count <= ObjectReader.answerBytesMax else { throw ObjectReader.answerTooLarge }
            return FoundPage(body: body, rows: values.count)
        }
    }

    private func requireMaster(_ caller: Caller) throws {
        guard caller.isMaster else {
            throw ParseError(.operationForbidden, "unauthorized: master key is required")
        }
    }

    /// - Throws: `.invalidClassName` (103) for an invalid class name.
    private func aggregatedClass(_ name: String) throws -> ClassInfo? {
        if let info = schema.classes[name] { return info }
        guard Names.isClassName(name) else {
            throw ParseError.invalidClassName(name)
        }
        return nil
    }

    /// The search that finds the objects for a `$lookup`.
    /// - Throws: `.invalidQuery` (102) for a class that is not in this store: an empty result would be wrong for
    ///   classes of other services.
    private func foreign(
        _ lookup: Lookup, _ caller: Caller, _ budget: AggregateBudget
    ) throws -> LookupStep.Find {
        guard let info = schema.classes[lookup.className] else {
            throw ParseError(
                .invalidQuery, "$lookup reaches classes of one service; \(lookup.className.prefix(128)) is not there.")
        }
        return { condition, body in
            var query = Query(className: info.name, limit: PipelinePlan.everything)
            query.condition = .value(try StoredCondition(info: info).condition(condition))
            try self.forEachDocument(of: query, nil, caller, budget) { document in
                try body(document)
                return true
            }
        }
    }

    /// Ends a query whose remaining rows are not needed.
    private struct EnoughRows: Error {}

    /// Passes to `body` each object that a query finds, in the pipeline's form, until `body` returns false. A caller
    /// without the master key sees only the fields that a find would show.
    /// - Parameter roots: the fields to read; nil for all.
    private func forEachDocument(
        of query: Query, _ roots: Set<String>?, _ caller: Caller, _ budget: AggregateBudget,
        _ body: (JSON) throws -> Bool
    ) throws {
        let names = roots.map { $0.map { Array($0.utf8) } }
        let withheld = query.className == "_Session" ? ObjectReader.sessionSecret : nil
        // Objects in a find's form already contain them.
        let relations = (caller.isMaster ? schema.classes[query.className]?.relationMembers.values ?? [:] : [:])
            .filter { roots?.contains($0.key) ?? true }
        func read(_ text: UnsafeBufferPointer<UInt8>) throws -> JSON {
            var members = relations
            for member in JSONMembers.scan(text) ?? [] {
                let name = text[member.name]
                if let names, !names.contains(where: { $0.count == name.count && $0.elementsEqual(name) }) {
                    continue
                }
                let key = String(decoding: name, as: UTF8.self)
                if key == withheld { continue }
                let value = try JSON(parsing: text[member.value])
                switch key {
                case "objectId": members["_id"] = value
                case "createdAt", "updatedAt":
                    members[key] = value.stringValue.flatMap(Timestamp.init(iso:))?.wire ?? value
                default: members[key] = value
                }
            }
            return .object(members)
        }
        do {
            try forEachRow(of: query, caller) { statement, selection, _ in
                try budget.step()
                let document: JSON
                if caller.isMaster {
                    document = try read(statement.bytes(0))
                } else {
                    var shown: [UInt8] = []
                    selection.append(statement.bytes(0), objectId: statement.text(1), to: &shown)
                    document = try shown.withUnsafeBufferPointer(read)
                }
                guard try body(document) else { throw EnoughRows() }
            }
        } catch is EnoughRows {
            return
        }
    }

    /// The field with a session's token. The token authenticates its user, so only responses about a single session
    /// contain it.
    private static let sessionSecret = "sessionToken"
}
