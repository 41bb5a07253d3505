import CPostgreSQL

/// The order of what is sent on a connection and what is expected in return.
///
/// Statements are sent in libpq's pipeline mode (https://www.postgresql.org/docs/current/libpq-pipeline-mode.html): any
/// number of them and then a sync, at which the server answers for all. A failure ends all that follow until the sync.
/// Without a BEGIN, what is between two syncs is one transaction.
final class Session {
    let wire: Wire
    /// Sent and not yet answered.
    var expected = Expectations()
    /// Whether a sync follows everything that was sent.
    private var isSynced = true
    /// The first failure since the last sync.
    var failure: PostgreSQLError?
    /// A failure of something that nobody waited for, until somebody asks for a result.
    var untold: PostgreSQLError?
    /// The first failure of what the last `settle` waited for, told or not.
    var unsettled: PostgreSQLError?
    /// Names of prepared statements that nobody has any more.
    private var forgotten: [String] = []
    private var names = 0
    /// The number of times that the server was waited for.
    var roundTrips = 0

    /// Bytes of what was queued since the server was last waited for.
    private var queuedBytes = 0

    /// Runs that may wait for their answers in memory, and the bytes of their values: 4 MiB.
    private static let (unansweredMax, queuedBytesMax) = (1024, 4_194_304)

    init(_ target: PostgreSQLTarget) throws(PostgreSQLError) {
        wire = try Wire(target)
    }

    /// A name for a prepared statement.
    func nextName() -> String {
        names += 1
        return "s\(names)"
    }

    /// Marks a prepared statement as one that nobody has any more.
    func forget(_ name: String) { if wire.handle != nil { forgotten.append(name) } }

    /// Whether everything that was sent is answered, and what it did is settled.
    var isQuiet: Bool { expected.isEmpty && isSynced }

    /// Whether a transaction is open, or a statement is on its way.
    var isInTransaction: Bool {
        guard let handle = wire.handle else { return false }
        return !isQuiet || ![PQTRANS_IDLE, PQTRANS_UNKNOWN].contains(PQtransactionStatus(handle))
    }

    /// Closes the connection. Whoever waits for a result is told why.
    @discardableResult
    func close(_ reason: PostgreSQLError = .closed) -> PostgreSQLError {
        // The server may have said why before it went.
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
    /// Queues a run of a statement with what is bound to it.
    /// - Parameters:
    ///   - run: nil for one whose rows nobody wants.
    ///   - tally: takes the number of its rows.
    /// - Throws: a failure of what was queued before, or what keeps this from being sent.
    func send(_ statement: PostgreSQLStatement, run: Int?, _ tally: Tally? = nil) throws(PostgreSQLError) {
        let handle = try wire.open()
        try wire.checkDeadline()
        if expected.count >= Self.unansweredMax || queuedBytes >= Self.queuedBytesMax { try flush(handle) }
        removeForgotten(handle)
        isSynced = false
        if !statement.isPrepared { try prepare(statement, handle) }
        guard statement.parameters.send(statement.name, handle) else { throw notSent() }
        queuedBytes += statement.parameters.byteCount
        expected.append(.execution(statement, run: run, tally))
    }

    private func prepare(_ statement: PostgreSQLStatement, _ handle: OpaquePointer) throws(PostgreSQLError) {
        let types = statement.parameters.types
        guard PQsendPrepare(handle, statement.name, statement.sql, Int32(types.count), types) == 1 else {
            throw notSent()
        }
        statement.isPrepared = true
        expected.append(.preparation(statement, name: statement.name))
    }

    /// Removes prepared statements from the server, at no cost in time. Not within a transaction: it might have failed.
    private func removeForgotten(_ handle: OpaquePointer) {
        guard !forgotten.isEmpty, isQuiet, PQtransactionStatus(handle) == PQTRANS_IDLE else { return }
        let names = forgotten.prefix(Self.unansweredMax)
        for name in names where PQsendQueryParams(handle, "DEALLOCATE \(name)", 0, nil, nil, nil, nil, 0) == 1 {
            expected.append(.removal)
        }
        forgotten.removeFirst(names.count)
        // A failure is one of the run that follows.
        if PQpipelineSync(handle) == 1 { expected.append(.sync) }
    }

    /// Closes the connection because libpq did not take something.
    func notSent() -> PostgreSQLError {
        let problem = wire.problem
        return close(wire.isUsable ? .outOfStep(problem) : .lost(problem))
    }

    private func waited() {
        roundTrips += 1
        queuedBytes = 0
    }

    /// Ends what is one transaction without a BEGIN.
    private func sync() throws(PostgreSQLError) {
        guard PQpipelineSync(try wire.open()) == 1 else { throw notSent() }
        expected.append(.sync)
        isSynced = true
        waited()
    }

    /// Lets the server answer what is queued, without an end of what is one transaction.
    private func flush(_ handle: OpaquePointer) throws(PostgreSQLError) {
        guard PQsendFlushRequest(handle) == 1 else { throw notSent() }
        waited()
        while !expected.isEmpty { try takeNext() }
        // The server would pass over what follows.
        if failure != nil { try settle() }
    }

    /// Waits until all is answered that was sent.
    /// - Throws: the first failure of it.
    func settle() throws(PostgreSQLError) {
        unsettled = nil
        try receive { false }
        if let unsettled { throw unsettled }
    }

    /// Waits until all is answered, or until `isEnough`.
    /// - Throws: a failure of what nobody waits for.
    func receive(until isEnough: () -> Bool) throws(PostgreSQLError) {
        if !isSynced { try sync() }
        while !expected.isEmpty, !isEnough() { try takeNext() }
        if expected.isEmpty { wire.endExpiry() }
        guard let untold else { return }
        self.untold = nil
        throw untold
    }
}
