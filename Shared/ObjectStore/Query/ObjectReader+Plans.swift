import ParseProtocol

/// The engine's query plans.
extension ObjectReader {
    /// A query's plan as a response body: `{"results":[{"id":…,"parent":…,"detail":"…"}]}`, one entry per step, with
    /// the engine's description.
    public func explain(_ query: Query, caller: Caller) throws -> [UInt8] {
        let rows = try planRows(query, caller)
        let steps: [(id: Int64, parent: Int64, detail: String)] =
            if connection.dialect == .sqlite {
                try rows.map { (try $0.int(0), try $0.int(1), try $0.text(3)) }
            } else {
                PostgreSQLPlan(lines: try rows.map { try $0.text(0) }).steps.map { ($0.id, $0.parent, $0.detail) }
            }
        let results = steps.map { step -> JSON in
            ["id": .int(step.id), "parent": .int(step.parent), "detail": .string(step.detail)]
        }
        return JSON.object(["results": .array(results)]).serialized
    }

    /// The lines of a query's plan, for tests and diagnosis.
    package func plan(_ query: Query, caller: Caller) throws -> String {
        let column = connection.dialect == .sqlite ? 3 : 0
        return try planRows(query, caller).map { try $0.text(column) }.joined(separator: "\n")
    }

    /// The rows of `EXPLAIN`: in SQLite a number, its parent's number, an unused column and the step; in PostgreSQL a
    /// line.
    private func planRows(_ query: Query, _ caller: Caller) throws -> [SQLRow] {
        try reading {
            let start = try start(of: query, caller)
            guard let compiled = try compiled(query, .find, start, caller) else { return [] }
            let statement = try compiled.prepared(
                connection.dialect.explaining(compiled.way(to: query, connection, caller).sql), connection, caller)
            defer { statement.reset() }
            var rows: [SQLRow] = []
            while try statement.step() {
                let values = statement.columnNames.indices.map { statement.value(Int32($0)) }
                rows.append(SQLRow(names: [], values: values))
            }
            return rows
        }
    }
}
