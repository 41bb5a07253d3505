import CPostgreSQL

/// A statement that the server has prepared. Belongs to one connection and is used by one thread at a time.
///
/// It runs at the first `step`, or is sent before by `send`, so that several wait for the server once. What is bound
/// stays bound until something else is.
package final class PostgreSQLStatement {
    package let sql: String
    /// Whether rows are taken as they come, for a result that is not to be in memory as a whole. Nothing else should
    /// run on the connection until the last row: what is left of them would be taken into memory before.
    package var streams = false
    /// Rows that the last run inserted, changed, removed or gave.
    package private(set) var affectedRows = 0

    private let session: Session
    let parameters: Parameters
    /// The time of the last use, of the connection's own clock.
    var lastUse = 0

    /// The name on the server.
    private(set) var name: String
    var isPrepared = false

    /// The number of the run whose result is wanted.
    private var run = 0
    /// Whether it was sent; the next `step` goes on with what it gives.
    private var hasBegun = false
    /// Whether more of the run's result is expected.
    private(set) var isRunning = false
    private var failure: PostgreSQLError?

    /// The result with the current row.
    private(set) var result: OpaquePointer?
    private(set) var row: Int32 = -1
    /// Results behind it.
    private var waiting: ArraySlice<OpaquePointer> = []

    init(_ sql: String, _ session: Session) {
        self.sql = sql
        self.session = session
        parameters = Parameters(of: sql)
        name = session.nextName()
    }

    deinit {
        clear()
        if isPrepared { session.forget(name) }
    }

    /// Steps to the next row; the first time and after the last row the statement runs.
    /// - Returns: false when there is none.
    /// - Throws: `PostgreSQLError`: its own, of something queued before, or `isTimedOut`.
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

    /// Runs, once more where the server only wants the statement to be prepared anew and nothing else is affected.
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

    /// Whether there is a row behind the current one.
    private var hasRow: Bool { !waiting.isEmpty || row + 1 < (result.map(PQntuples) ?? 0) }

    private func advance() -> Bool {
        while true {
            if let result, row + 1 < PQntuples(result) {
                row += 1
                return true
            }
            guard let next = waiting.popFirst() else { return false }
            // The last one stays, for the names of its columns.
            if let result { PQclear(result) }
            (result, row) = (next, -1)
        }
    }

    /// Queues a run; `step` takes what it gives. Several statements that were sent are one round trip, and a failure of
    /// one is a failure of those after it.
    package func send() throws(PostgreSQLError) {
        reset()
        run += 1
        try session.send(self, run: run)
        (hasBegun, isRunning) = (true, true)
    }

    /// Queues a run whose result nobody needs. A failure of it is thrown where the next result is asked for, at the
    /// latest by `PostgreSQLConnection.settle`, without which it may never run.
    package func enqueue() throws(PostgreSQLError) {
        reset()
        try session.send(self, run: nil)
    }

    /// Drops what is left of the result. What is bound stays bound. Rows of a stream that are still to come are read
    /// and dropped with the answer to what is asked next.
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

// MARK: - What the session tells

extension PostgreSQLStatement {
    /// Whether a run is one whose result is still wanted.
    func wants(_ run: Int?) -> Bool { run == self.run && isRunning }

    /// Takes a result of the run; it is cleared here.
    func take(_ result: OpaquePointer) {
        affectedRows = changedRows(result)
        waiting.append(result)
    }

    /// The run gives no more.
    func end(_ error: PostgreSQLError?) { (isRunning, failure) = (false, error) }

    /// What the server calls that which it did: `INSERT 0 1`.
    package var commandTag: String { result.flatMap { PQcmdStatus($0) }.map { String(cString: $0) } ?? "" }

    /// The next run prepares it anew.
    /// - Parameter isThere: whether the server may still have it.
    func unprepare(isThere: Bool) {
        if isThere { session.forget(name) }
        (name, isPrepared) = (session.nextName(), false)
    }
}

// MARK: - Parameters

extension PostgreSQLStatement {
    /// Binds the parameter with this number (from 1). A number that the SQL does not use is ignored.
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

    /// The shortest text that is this number: infinities and what is no number too.
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
