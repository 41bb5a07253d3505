import CPostgreSQL

extension Session {
    /// Reads the server's next answer: all results of one statement, or one row of a streaming statement.
    func takeNext() throws(PostgreSQLError) {
        switch expected.first {
        case .sync: try takeSync()
        case .preparation(let preparation, let name): try takePreparation(preparation, name)
        case .execution(let statement, let run, let tally): try takeExecution(statement, run, tally)
        case .removal: try takeRemoval()
        case nil: break
        }
    }

    /// The next result; nil after the last result of one statement.
    private func next() throws(PostgreSQLError) -> OpaquePointer? {
        do throws(PostgreSQLError) {
            if let result = try wire.nextResult() { return result }
        } catch {
            throw close(error)
        }
        guard wire.isUsable else { throw close(.lost(wire.problem)) }
        return nil
    }

    /// Reads the answer to a sync. An implicit transaction may fail at its end; that failure arrives before the answer.
    private func takeSync() throws(PostgreSQLError) {
        var ends = 0
        while true {
            guard let result = try next() else {
                ends += 1
                guard ends < 4 else { throw close(.protocolViolation("a sync was not answered")) }
                continue
            }
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_PIPELINE_SYNC:
                expected.removeFirst()
                settleFailure = settleFailure ?? failure
                failure = nil
                return
            case PGRES_FATAL_ERROR:
                if try note(result) { untold = untold ?? failure }
            default: throw close(.protocolViolation("a result came instead of a sync"))
            }
        }
    }

    private func takePreparation(_ preparation: Preparation, _ name: String) throws(PostgreSQLError) {
        while let result = try next() {
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_COMMAND_OK: break
            case PGRES_FATAL_ERROR, PGRES_PIPELINE_ABORTED:
                // The server skips the following run, which then reports this failure.
                _ = try note(result)
                if preparation.name == name { preparation.renew(isThere: false) }
            default: throw close(.protocolViolation("a preparation gave a result"))
            }
        }
        expected.removeFirst()
    }

    private func takeRemoval() throws(PostgreSQLError) {
        while let result = try next() {
            defer { PQclear(result) }
            guard PQresultStatus(result) != PGRES_PIPELINE_SYNC else {
                throw close(.protocolViolation("a sync came instead of a result"))
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
                throw close(.protocolViolation("a statement gave what is no result"))
            }
        }
        if statement.wants(run) { statement.end(nil) }
        expected.removeFirst()
    }

    private func fail(_ statement: PostgreSQLStatement, _ run: Int?, isFirst: Bool) throws(PostgreSQLError) {
        let error = failure ?? .protocolViolation("the server passed over a statement without a reason")
        if isFirst, error.isStale { statement.preparation.renew(isThere: true) }
        guard statement.wants(run) else {
            if isFirst { untold = untold ?? error }
            return
        }
        statement.end(error)
        if untold == error { untold = nil }
    }

    /// Stores a failure if it is the first since the last sync. When the connection has ended, closes it and throws.
    /// - Returns: whether it is the first.
    private func note(_ result: OpaquePointer) throws(PostgreSQLError) -> Bool {
        let isFirst = failure == nil && PQresultStatus(result) == PGRES_FATAL_ERROR
        if isFirst { failure = error(of: result) }
        guard wire.isUsable else { throw close(failure ?? .lost(wire.problem)) }
        return isFirst
    }

    /// The error of a failed result.
    func error(of result: OpaquePointer) -> PostgreSQLError {
        guard let state = satchel_pq_state(result).map({ String(cString: $0) }) else {
            // The failure comes from libpq, not from the server.
            let words = PQresultErrorMessage(result).map { wire.words.told(String(cString: $0)) } ?? ""
            return wire.isUsable ? .protocolViolation(words) : .lost(words)
        }
        if state == "57014", wire.isExpired { return .timedOut }
        let message = satchel_pq_message(result).map { String(cString: $0) } ?? ""
        return PostgreSQLError(
            state: state, message: redactingData(message, state: state),
            constraint: satchel_pq_constraint(result).map { String(cString: $0) },
            isStale: isStale(state, result))
    }

    /// Whether a prepared statement is missing on the server (26000) or its tables have changed. PostgreSQL has no
    /// separate SQLSTATE for the latter. Like pgjdbc, this checks the function name too. CockroachDB reports another
    /// function with the same message.
    private func isStale(_ state: String, _ result: OpaquePointer) -> Bool {
        if state == "26000" { return true }
        guard state == "0A000" else { return false }
        return satchel_pq_function(result).map { String(cString: $0) } == "RevalidateCachedQuery"
            || satchel_pq_message(result).map { String(cString: $0) } == "cached plan must not change result type"
    }

    /// Replaces the quoted part of a data error's message (class 22), because it often contains the data itself.
    private func redactingData(_ message: String, state: String) -> String {
        guard state.hasPrefix("22"), let first = message.firstIndex(of: "\""), let last = message.lastIndex(of: "\""),
            first < last
        else { return message }
        return message[...first] + "…" + message[last...]
    }
}

/// The number of rows that a statement inserted, changed, removed or returned; 0 for all other statements.
func changedRows(_ result: OpaquePointer) -> Int {
    PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
}
