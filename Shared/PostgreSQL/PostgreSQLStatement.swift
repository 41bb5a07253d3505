import CPostgreSQL

/// A prepared statement. It belongs to one connection, and one thread at a time uses it.
///
/// The first `step` runs it. `send` queues it earlier, so that several statements share one round trip. Bound values
/// remain until they are replaced.
package final class PostgreSQLStatement {
    package let sql: String
    /// Whether rows are delivered as they arrive, for results that must not be in memory as a whole. The caller should
    /// run nothing else on the connection before the last row: another statement first reads all remaining rows into
    /// memory.
    package var streams = false
    /// Rows that the last run inserted, changed, removed or returned.
    package private(set) var affectedRows = 0

    private let session: Session
    let parameters: Parameters
    let preparation: Preparation
    /// The last use, as a count of the connection's statement look-ups.
    var lastUse = 0

    /// The number of the current run; results of earlier runs are dropped.
    private var run = 0
    /// Whether the run was sent; the next `step` then continues with its results.
    private var hasBegun = false
    /// Whether the server still owes a part of the run's result.
    private(set) var isRunning = false
    private var failure: PostgreSQLError?

    /// The result with the current row.
    private(set) var result: OpaquePointer?
    private(set) var row: Int32 = -1
    /// Received results after the current one.
    private var waiting: ArraySlice<OpaquePointer> = []

    init(_ sql: String, _ session: Session) {
        self.sql = sql
        self.session = session
        parameters = Parameters(of: sql)
        preparation = Preparation(session)
    }

    /// Shares the prepared statement on the server with `other`, and has its own values and result. Several runs of
    /// the same SQL can thus be sent together.
    package init(besides other: PostgreSQLStatement) {
        sql = other.sql
        session = other.session
        parameters = Parameters(like: other.parameters)
        preparation = other.preparation
    }

    deinit { clear() }

    /// Steps to the next row. The first call runs the statement, and so does the first call after the last row.
    /// - Returns: false when there is no further row.
    /// - Throws: `PostgreSQLError`: the statement's own failure, the failure of a statement queued before it, or
    ///   `isTimedOut`.
    package func step() throws(PostgreSQLError) -> Bool {
        do throws(PostgreSQLError) {
            if !hasBegun { try begin() }
            while true {
                if advance() { return true }
                if let failure { throw failure }
                guard isRunning else { break }
                try receive()
            }
            hasBegun = false
            return false
        } catch {
            reset()
            throw error
        }
    }

    /// Runs the statement. If it is stale, prepares and runs it a second time, provided that no transaction is open and
    /// nothing else was queued.
    private func begin() throws(PostgreSQLError) {
        let mayRepeat = session.isQuiet && !session.isInTransaction
        try send()
        guard mayRepeat else { return }
        try receive()
        guard failure?.isStale == true else { return }
        reset()
        try send()
    }

    private func receive() throws(PostgreSQLError) {
        try session.receive { streams && (hasRow || !isRunning) }
    }

    /// Whether a row after the current one has been received.
    private var hasRow: Bool { !waiting.isEmpty || row + 1 < (result.map(PQntuples) ?? 0) }

    private func advance() -> Bool {
        while true {
            if let result, row + 1 < PQntuples(result) {
                row += 1
                return true
            }
            guard let next = waiting.popFirst() else { return false }
            // The last result is kept for the names of its columns.
            if let result { PQclear(result) }
            (result, row) = (next, -1)
        }
    }

    /// Queues a run; `step` takes its result. Several sent statements share one round trip. When one fails, those after
    /// it fail too.
    package func send() throws(PostgreSQLError) {
        reset()
        run += 1
        try session.send(self, run: run)
        (hasBegun, isRunning) = (true, true)
    }

    /// Queues a run whose result the caller does not need. Its failure is thrown by the next call that waits for a
    /// result, at the latest by `PostgreSQLConnection.settle`. Without such a call the run may never happen.
    package func enqueue() throws(PostgreSQLError) {
        reset()
        try session.send(self, run: nil)
    }

    /// Drops the rest of the result. Bound values remain. Rows of a stream that have not arrived yet are read and
    /// dropped when the next statement waits for its answer.
    package func reset() {
        clear()
        (hasBegun, isRunning, failure) = (false, false, nil)
        run += 1
    }

    private func clear() {
        if let result { PQclear(result) }
        for result in waiting { PQclear(result) }
        (result, waiting, row) = (nil, [], -1)
    }
}

// MARK: - Results from the session

extension PostgreSQLStatement {
    /// Whether this is the current run and its result is still expected.
    func wants(_ run: Int?) -> Bool { run == self.run && isRunning }

    /// Stores a result of the run. The statement owns the result and clears it.
    func take(_ result: OpaquePointer) {
        affectedRows = changedRows(result)
        waiting.append(result)
    }

    /// The run is complete, with its failure if any.
    func end(_ error: PostgreSQLError?) { (isRunning, failure) = (false, error) }

    /// The command tag of the last result, for example `INSERT 0 1`.
    package var commandTag: String { result.flatMap { PQcmdStatus($0) }.map { String(cString: $0) } ?? "" }
}

// MARK: - Parameters

extension PostgreSQLStatement {
    /// Binds the parameter with this number (from 1). Numbers that the SQL does not use are ignored.
    /// - Throws: `PostgreSQLError` (22021) for a text with a zero byte.
    package func bind(_ value: PostgreSQLValue, at index: Int32) throws(PostgreSQLError) {
        switch value {
        case .null: parameters.setNull(index)
        case .int(let value): try bind(value, at: index)
        case .real(let value): try bind(value, at: index)
        case .text(let value): try bind(value, at: index)
        case .utf8(let bytes): try bind(utf8: bytes, at: index)
        case .blob(let bytes): parameters.set(blob: bytes, index)
        case .bool(let value): try bind(value ? 1 : 0 as Int64, at: index)
        }
    }

    package func bind(_ values: [PostgreSQLValue]) throws(PostgreSQLError) {
        for (index, value) in values.enumerated() { try bind(value, at: Int32(clamping: index + 1)) }
    }

    package func bind(_ value: Int64, at index: Int32) throws(PostgreSQLError) {
        try parameters.set(text: String(value).utf8, index)
    }

    /// Binds the shortest text that reads back as the same number; infinities and NaN are allowed.
    package func bind(_ value: Double, at index: Int32) throws(PostgreSQLError) {
        try parameters.set(text: "\(value)".utf8, index)
    }

    package func bind(_ text: String, at index: Int32) throws(PostgreSQLError) {
        try parameters.set(text: text.utf8, index)
    }

    /// Binds UTF-8 bytes as text.
    package func bind(utf8 bytes: [UInt8], at index: Int32) throws(PostgreSQLError) {
        try parameters.set(text: bytes, index)
    }
}
