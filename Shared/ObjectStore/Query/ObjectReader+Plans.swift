import ParseProtocol

/// The engine's plans for queries.
extension ObjectReader {
    /// The plan for a query as the answer's body: `{"results":[{"id":…,"parent":…,"detail":"…"}]}`, a step each, in the
    /// engine's words.
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

    /// The lines of the plan for a query, for tests and diagnosis.
    package func plan(_ query: Query, caller: Caller) throws -> String {
        let column = connection.dialect == .sqlite ? 3 : 0
        return try planRows(query, caller).map { try $0.text(column) }.joined(separator: "\n")
    }

    /// What `EXPLAIN` answers: in SQLite a number, its parent's, a column without a meaning and the step; in PostgreSQL
    /// a line.
    private func planRows(_ query: Query, _ caller: Caller) throws -> [SQLRow] {
        try reading {
            let start = try start(of: query, caller)
            guard let compiled = try compiled(query, .find, start, caller) else { return [] }
            let statement = try compiled.prepared(
                connection.dialect.explaining(compiled.pageSQL(for: query, connection)), connection, caller)
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
