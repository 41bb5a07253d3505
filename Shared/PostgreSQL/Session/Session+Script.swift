import CPostgreSQL

extension Session {
    /// Runs several statements in one call. libpq's pipeline mode does not support this, so the connection leaves it
    /// meanwhile.
    /// - Throws: the failure of a statement queued before, or the first failure of the script.
    func run(script: String) throws(PostgreSQLError) {
        try settle()
        let handle = try wire.open()
        try wire.checkDeadline()
        guard PQexitPipelineMode(handle) == 1, PQsendQuery(handle, script) == 1 else { throw notSent() }
        roundTrips += 1
        var failure: PostgreSQLError?
        while let result = try nextOfScript() {
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: break
            case PGRES_FATAL_ERROR: failure = failure ?? error(of: result)
            default: throw close(.protocolViolation("a script gave what is no result"))
            }
        }
        guard wire.isUsable else { throw close(failure ?? .lost(wire.problem)) }
        wire.finishCancelRequest()
        guard PQenterPipelineMode(try wire.open()) == 1 else { throw notSent() }
        if let failure { throw failure }
    }

    private func nextOfScript() throws(PostgreSQLError) -> OpaquePointer? {
        do throws(PostgreSQLError) {
            return try wire.nextResult()
        } catch {
            throw close(error)
        }
    }
}
