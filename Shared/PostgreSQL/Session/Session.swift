import CPostgreSQL

/// Sends the statements of a connection and matches the server's answers to them.
///
/// Statements use libpq's pipeline mode (https://www.postgresql.org/docs/current/libpq-pipeline-mode.html): any number
/// of statements, then a sync, at which the server answers all of them. After a failure the server skips the statements
/// up to the sync. Without a BEGIN, the statements between two syncs are one transaction.
final class Session {
    let wire: Wire
    /// The answers that are still outstanding.
    var expected = Expectations()
    /// Whether a sync was sent after the last statement.
    private var isSynced = true
    /// The first failure since the last sync.
    var failure: PostgreSQLError?
    /// The failure of a statement whose result no caller needs. The next call that waits for a result throws it.
    var untold: PostgreSQLError?
    /// The first failure of any statement that the last `settle` waited for, including those already reported.
    var settleFailure: PostgreSQLError?
    /// Names of prepared statements to remove from the server.
    private var forgotten: [String] = []
    private var names = 0
    /// The number of waits for the server.
    var roundTrips = 0

    /// Bytes queued since the last wait for the server.
    private var queuedBytes = 0

    /// Limits of the unanswered runs and of the bytes of their values (4 MiB). Beyond them `send` waits for the server.
    private static let (unansweredMax, queuedBytesMax) = (1024, 4_194_304)

    init(_ target: PostgreSQLTarget) throws(PostgreSQLError) {
        wire = try Wire(target)
    }

    /// A new name for a prepared statement.
    func nextName() -> String {
        names += 1
        return "s\(names)"
    }

    /// Marks a prepared statement for removal from the server.
    func forget(_ name: String) { if wire.handle != nil { forgotten.append(name) } }

    /// Whether the server has answered all statements and the last sync.
    var isQuiet: Bool { expected.isEmpty && isSynced }

    /// Whether a transaction is open, or an unanswered statement may open one.
    var isInTransaction: Bool {
        guard let handle = wire.handle else { return false }
        return !isQuiet || ![PQTRANS_IDLE, PQTRANS_UNKNOWN].contains(PQtransactionStatus(handle))
    }

    /// Closes the connection. Statements that wait for a result fail with the returned error.
    @discardableResult
    func close(_ reason: PostgreSQLError = .closed) -> PostgreSQLError {
        // The server may have reported a reason before the connection ended.
        let error = failure.flatMap { $0.isConnectionLost ? $0 : nil } ?? reason
        wire.close()
        for case .execution(let statement, let run, _) in expected.rest where statement.wants(run) {
            statement.end(error)
        }
        (expected, isSynced, failure, untold, forgotten) = (Expectations(), true, nil, nil, [])
        return error
    }
}

// MARK: - Sending

extension Session {
    /// Queues a run of a statement with its bound values.
    /// - Parameters:
    ///   - run: the number of the run; nil when the caller does not need the rows.
    ///   - tally: receives the number of changed rows.
    /// - Throws: the failure of a statement queued before, or the reason why this one cannot be sent.
    func send(_ statement: PostgreSQLStatement, run: Int?, _ tally: Tally? = nil) throws(PostgreSQLError) {
        let handle = try wire.open()
        try wire.checkDeadline()
        if expected.count >= Self.unansweredMax || queuedBytes >= Self.queuedBytesMax { try flush(handle) }
        deallocateRemoved(handle)
        isSynced = false
        if !statement.preparation.isSent { try prepare(statement, handle) }
        guard statement.parameters.send(statement.preparation.name, handle) else { throw notSent() }
        queuedBytes += statement.parameters.byteCount
        expected.append(.execution(statement, run: run, tally))
    }

    private func prepare(_ statement: PostgreSQLStatement, _ handle: OpaquePointer) throws(PostgreSQLError) {
        let (types, preparation) = (statement.parameters.types, statement.preparation)
        guard PQsendPrepare(handle, preparation.name, statement.sql, Int32(types.count), types) == 1 else {
            throw notSent()
        }
        preparation.isSent = true
        expected.append(.preparation(preparation, name: preparation.name))
    }

    /// Removes the marked prepared statements from the server, without an extra round trip. Does nothing within a
    /// transaction, which might have failed.
    private func deallocateRemoved(_ handle: OpaquePointer) {
        guard !forgotten.isEmpty, isQuiet, PQtransactionStatus(handle) == PQTRANS_IDLE else { return }
        let names = forgotten.prefix(Self.unansweredMax)
        for name in names where PQsendQueryParams(handle, "DEALLOCATE \(name)", 0, nil, nil, nil, nil, 0) == 1 {
            expected.append(.removal)
        }
        forgotten.removeFirst(names.count)
        // If this fails, so does the run that follows, which reports the failure.
        if PQpipelineSync(handle) == 1 { expected.append(.sync) }
    }

    /// Closes the connection after libpq rejected a call.
    func notSent() -> PostgreSQLError {
        let problem = wire.problem
        return close(wire.isUsable ? .protocolViolation(problem) : .lost(problem))
    }

    private func waited() {
        roundTrips += 1
        queuedBytes = 0
    }

    /// Sends a sync, which ends the implicit transaction of statements without a BEGIN.
    private func sync() throws(PostgreSQLError) {
        guard PQpipelineSync(try wire.open()) == 1 else { throw notSent() }
        expected.append(.sync)
        isSynced = true
        waited()
    }

    /// Waits for the answers to all queued statements without ending their implicit transaction.
    private func flush(_ handle: OpaquePointer) throws(PostgreSQLError) {
        guard PQsendFlushRequest(handle) == 1 else { throw notSent() }
        waited()
        while !expected.isEmpty { try takeNext() }
        // The server would skip all statements up to the next sync.
        if failure != nil { try settle() }
    }

    /// Waits until the server has answered all sent statements.
    /// - Throws: the first failure among them.
    func settle() throws(PostgreSQLError) {
        settleFailure = nil
        try receive { false }
        if let settleFailure { throw settleFailure }
    }

    /// Waits until the server has answered all sent statements, or until `isEnough` returns true.
    /// - Throws: the failure of a statement whose result no caller needs.
    func receive(until isEnough: () -> Bool) throws(PostgreSQLError) {
        if !isSynced { try sync() }
        while !expected.isEmpty, !isEnough() { try takeNext() }
        if expected.isEmpty { wire.finishCancelRequest() }
        guard let untold else { return }
        self.untold = nil
        throw untold
    }
}
