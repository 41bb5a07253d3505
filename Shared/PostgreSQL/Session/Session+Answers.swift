import CPostgreSQL

extension Session {
    /// Takes the next of what the server answers: all of one command, or one row of a statement that streams.
    func takeNext() throws(PostgreSQLError) {
        switch expected.first {
        case .sync: try takeSync()
        case .preparation(let statement, let name): try takePreparation(statement, name)
        case .execution(let statement, let run, let tally): try takeExecution(statement, run, tally)
        case .removal: try takeRemoval()
        case nil: break
        }
    }

    /// The next result; nil at the end of those of one command.
    private func next() throws(PostgreSQLError) -> OpaquePointer? {
        do throws(PostgreSQLError) {
            if let result = try wire.nextResult() { return result }
        } catch {
            throw close(error)
        }
        guard wire.isUsable else { throw close(.lost(wire.problem)) }
        return nil
    }

    /// The sync, before which the transaction may fail at its end.
    private func takeSync() throws(PostgreSQLError) {
        var ends = 0
        while true {
            guard let result = try next() else {
                ends += 1
                guard ends < 4 else { throw close(.outOfStep("a sync was not answered")) }
                continue
            }
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_PIPELINE_SYNC:
                expected.removeFirst()
                unsettled = unsettled ?? failure
                failure = nil
                return
            case PGRES_FATAL_ERROR:
                if try note(result) { untold = untold ?? failure }
            default: throw close(.outOfStep("a result came instead of a sync"))
            }
        }
    }

    private func takePreparation(_ statement: PostgreSQLStatement, _ name: String) throws(PostgreSQLError) {
        while let result = try next() {
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_COMMAND_OK: break
            case PGRES_FATAL_ERROR, PGRES_PIPELINE_ABORTED:
                // The run that follows is passed over and tells it.
                _ = try note(result)
                if statement.name == name { statement.unprepare(isThere: false) }
            default: throw close(.outOfStep("a preparation gave a result"))
            }
        }
        expected.removeFirst()
    }

    private func takeRemoval() throws(PostgreSQLError) {
        while let result = try next() {
            defer { PQclear(result) }
            guard PQresultStatus(result) != PGRES_PIPELINE_SYNC else {
                throw close(.outOfStep("a sync came instead of a result"))
            }
        }
        expected.removeFirst()
    }

    private func takeExecution(
        _ statement: PostgreSQLStatement, _ run: Int?, _ tally: Tally?
    ) throws(PostgreSQLError) {
        if statement.streams, statement.wants(run), !expected.isStreaming, let handle = wire.handle {
            expected.isStreaming = PQsetSingleRowMode(handle) == 1
        }
        while let result = try next() {
            switch PQresultStatus(result) {
            case PGRES_SINGLE_TUPLE, PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
                tally?.counts.append(changedRows(result))
                guard statement.wants(run) else {
                    PQclear(result)
                    continue
                }
                statement.take(result)
                if expected.isStreaming { return }
            case PGRES_FATAL_ERROR, PGRES_PIPELINE_ABORTED:
                defer { PQclear(result) }
                try fail(statement, run, isFirst: try note(result))
            default:
                PQclear(result)
                throw close(.outOfStep("a statement gave what is no result"))
            }
        }
        if statement.wants(run) { statement.end(nil) }
        expected.removeFirst()
    }

    private func fail(_ statement: PostgreSQLStatement, _ run: Int?, isFirst: Bool) throws(PostgreSQLError) {
        let error = failure ?? .outOfStep("the server passed over a statement without a reason")
        if isFirst, error.isStale { statement.unprepare(isThere: true) }
        guard statement.wants(run) else {
            if isFirst { untold = untold ?? error }
            return
        }
        statement.end(error)
        if untold == error { untold = nil }
    }

    /// Keeps a failure if it is the first since the last sync. Of a connection that ended nothing more is expected.
    /// - Returns: whether it is.
    private func note(_ result: OpaquePointer) throws(PostgreSQLError) -> Bool {
        let isFirst = failure == nil && PQresultStatus(result) == PGRES_FATAL_ERROR
        if isFirst { failure = error(of: result) }
        guard wire.isUsable else { throw close(failure ?? .lost(wire.problem)) }
        return isFirst
    }

    /// The error that a result tells of.
    func error(of result: OpaquePointer) -> PostgreSQLError {
        guard let state = satchel_pq_state(result).map({ String(cString: $0) }) else {
            // libpq's own.
            let words = PQresultErrorMessage(result).map { wire.words.told(String(cString: $0)) } ?? ""
            return wire.isUsable ? .outOfStep(words) : .lost(words)
        }
        if state == "57014", wire.isExpired { return .timedOut }
        let message = satchel_pq_message(result).map { String(cString: $0) } ?? ""
        return PostgreSQLError(
            state: state, message: withoutData(message, state: state),
            constraint: satchel_pq_constraint(result).map { String(cString: $0) },
            isStale: isStale(state, result))
    }

    /// Whether the server no longer has a prepared statement, or has it for tables that were different. For the latter
    /// there is no code of its own, so pgjdbc goes by the function too. CockroachDB has another one and the same words.
    private func isStale(_ state: String, _ result: OpaquePointer) -> Bool {
        if state == "26000" { return true }
        guard state == "0A000" else { return false }
        return satchel_pq_function(result).map { String(cString: $0) } == "RevalidateCachedQuery"
            || satchel_pq_message(result).map { String(cString: $0) } == "cached plan must not change result type"
    }

    /// The message without what is in its quotes, if it is one of data (class 22): that is often the data.
    private func withoutData(_ message: String, state: String) -> String {
        guard state.hasPrefix("22"), let first = message.firstIndex(of: "\""), let last = message.lastIndex(of: "\""),
            first < last
        else { return message }
        return message[...first] + "…" + message[last...]
    }
}

/// Rows that a command inserted, changed, removed or gave; 0 for a command without.
func changedRows(_ result: OpaquePointer) -> Int {
    PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
}
