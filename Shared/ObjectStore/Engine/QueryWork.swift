import ParseProtocol

/// The cost of a query in SQLite, in figures that do not depend on the machine. For tests and diagnosis.
package struct QueryWork: Sendable, Hashable {
    /// Instructions of SQLite's virtual machine.
    package var steps: Int
    /// Calls of Satchel's own functions, which check patterns, words and points.
    package var calls: Int
}

extension ObjectReader {
    /// Runs a query to its last row.
    /// - Parameter counts: runs the count of all rows instead of the page.
    /// - Throws: as `find`.
    package func work(of query: Query, counts: Bool = false, caller: Caller) throws -> QueryWork {
        try reading {
            let start = try start(of: query, caller)
            guard let compiled = try compiled(query, counts ? .count : .find, start, caller) else {
                return QueryWork(steps: 0, calls: 0)
            }
            let way =
                try counts
                ? TextWalks.Way(sql: compiled.countSQL) : compiled.way(to: query, connection, caller)
            let statement = try compiled.prepared(way, connection, caller, limit: query.limit, skip: query.skip)
            let calls = connection.functionCalls
            _ = statement.takeSteps()
            while try statement.step() {}
            statement.reset()
            return QueryWork(steps: statement.takeSteps(), calls: connection.functionCalls - calls)
        }
    }
}
