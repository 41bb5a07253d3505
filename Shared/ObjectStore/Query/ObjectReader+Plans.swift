import ParseProtocol

/// SQLite's plans for queries.
extension ObjectReader {
    /// SQLite's plan for a query as the answer's body: `{"results":[{"id":…,"parent":…,"detail":"…"}]}`, a step each.
    public func explain(_ query: Query, caller: Caller) throws -> [UInt8] {
        let steps = try planSteps(query, caller).map { step -> JSON in
            ["id": .int(try step.int(0)), "parent": .int(try step.int(1)), "detail": .string(try step.text(3))]
        }
        return JSON.object(["results": .array(steps)]).serialized
    }

    /// SQLite's plan for a query, for tests and diagnosis.
    package func plan(_ query: Query, caller: Caller) throws -> String {
        try planSteps(query, caller).map { try $0.text(3) }.joined(separator: "\n")
    }

    private func planSteps(_ query: Query, _ caller: Caller) throws -> [SQLRow] {
        try reading {
            let start = try start(of: query, caller)
            guard let compiled = try compiled(query, .find, start, caller) else { return [] }
            let statement = try compiled.prepared(
                "EXPLAIN QUERY PLAN " + compiled.pageSQL(for: query, connection), connection, caller)
            defer { statement.reset() }
            var steps: [SQLRow] = []
            while try statement.step() { steps.append(SQLRow(names: [], values: (0..<4).map(statement.value))) }
            return steps
        }
    }
}
