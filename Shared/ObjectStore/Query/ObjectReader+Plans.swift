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
                connection.dialect.explaining(compiled.pageSQL(for: query, connection)), connection, caller)
            defer { statement.reset() }
            var steps: [SQLRow] = []
            while try statement.step() {
                // A line each in PostgreSQL; in SQLite a number, its parent's, a column without a meaning and the step.
                let columns = Int32(statement.columnNames.count)
                let numbers = columns > 1 ? (0..<3).map(statement.value) : [.int(Int64(steps.count)), .int(0), .null]
                steps.append(SQLRow(names: [], values: numbers + [statement.value(columns - 1)]))
            }
            return steps
        }
    }
}
