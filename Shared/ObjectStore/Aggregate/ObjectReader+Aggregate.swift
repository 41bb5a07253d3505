import ParseProtocol

/// A computation over the objects of a class (PARSE_PROTOCOL section 4.2).
public struct Aggregate: Sendable {
    /// The class whose objects are the pipeline's input.
    public var className: String
    /// An array of stages of one member each. The keys of a `$sort` are an array of pairs, `[["score",-1],["name",1]]`,
    /// because the members of a `JSON` object have no order; an object of one key is fine.
    public var pipeline: JSON
    /// Answers with numbers about the work instead of the results.
    public var explains: Bool

    /// An aggregate; whether the pipeline can be understood is checked when it runs.
    public init(className: String, pipeline: JSON, explains: Bool = false) {
        self.className = className
        self.pipeline = pipeline
        self.explains = explains
    }
}

extension ObjectReader {
    /// Runs a pipeline. It is for the master key only, as whoever groups values sees all of them.
    ///
    /// The first `$match` (and `$sort`, `$skip` and `$limit` behind it) are SQL; every other stage runs in memory over
    /// its rows, with bounds on time, on what is kept and on the answer.
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

    /// The different values of a field in the objects that a query finds, in the order in which they were found. Of an
    /// array each element is a value; null is none.
    /// - Returns: `{"results":[…]}`, empty for a class or field that does not exist.
    /// - Throws: as `aggregate`.
    public func distinct(_ field: String, of query: Query, caller: Caller) throws -> FoundPage {
        try requireMaster(caller)
        let path = try AggregatePath(field)
        var query = query
        query.limit = PipelinePlan.everything
        return try reading {
            let budget = AggregateBudget(connection.timeLimit)
            var seen: Set<JSON> = []
            var values: [JSON] = []
            if try aggregatedClass(query.className) != nil {
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

    /// - Throws: `.invalidClassName` (103) for what is no name of a class.
    private func aggregatedClass(_ name: String) throws -> ClassInfo? {
        if let info = schema.classes[name] { return info }
        guard Names.isClassName(name) else {
            throw ParseError.invalidClassName(name)
        }
        return nil
    }

    /// The search by which a `$lookup` finds the objects of its class.
    /// - Throws: `.invalidQuery` (102) for a class that is not in this store: an empty answer would be a wrong one for
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

    /// Ends a query whose further rows nobody wants.
    private struct EnoughRows: Error {}

    /// Each object that a query finds, as pipelines see it, until `body` gives false.
    /// - Parameter roots: the fields to read; nil for all.
    private func forEachDocument(
        of query: Query, _ roots: Set<String>?, _ caller: Caller, _ budget: AggregateBudget,
        _ body: (JSON) throws -> Bool
    ) throws {
        let names = roots.map { $0.map { Array($0.utf8) } }
        let withheld = query.className == "_Session" ? ObjectReader.sessionSecret : nil
        do {
            try forEachRow(of: query, caller) { statement, _, _ in
                try budget.step()
                let text = statement.bytes(0)
                var members: [String: JSON] = [:]
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
                guard try body(.object(members)) else { throw EnoughRows() }
            }
        } catch is EnoughRows {
            return
        }
    }

    /// The field with a session's token. Whoever has the token is the user, so it leaves the store in answers about one
    /// session only.
    private static let sessionSecret = "sessionToken"
}
