import CPostgreSQL
import Glibc

/// Owns libpq's connection: opens it, waits for it with a deadline and closes it. `Session` matches requests and
/// answers.
///
/// libpq runs in non-blocking mode (https://www.postgresql.org/docs/current/libpq-async.html); only `poll` waits. While
/// data is being sent, `poll` also waits for input. Otherwise both sides could block with full buffers.
final class Wire {
    /// libpq's connection; nil after it is closed.
    private(set) var handle: OpaquePointer?
    let words: ConnectionRedactor
    let canceller: PostgreSQLCanceller
    /// Whether the server stopped waiting for its synchronous standby before it answered a commit.
    private var isUnreplicated = false
    /// The time at which the running statement is cancelled; nil for no deadline.
    var deadline: ContinuousClock.Instant?
    /// Nanoseconds spent waiting for the server.
    private(set) var waited: UInt64 = 0
    /// The cancellation that a passed deadline started; nil without one.
    private var expiry: Expiry?

    /// The cancel request for a passed deadline, and the time at which the connection is closed.
    private struct Expiry {
        var attempt: CancelRequest
        let giveUp: ContinuousClock.Instant
    }

    /// The time that the server has to end a cancelled statement. After it the connection is closed.
    private static let grace: Duration = .seconds(3)
    /// The interval after which the cancel request is repeated: the first may have arrived between two statements.
    private static let repetition: Duration = .milliseconds(500)

    /// - Throws: `PostgreSQLError` of class 08 when the connection string is invalid, no host can be reached or the
    ///   server refuses the connection.
    init(_ target: PostgreSQLTarget) throws(PostgreSQLError) {
        if let problem = PostgreSQLConnection.libraryProblem { throw PostgreSQLError(state: "08001", message: problem) }
        words = try ConnectionRedactor(target.connection)
        let connection = Self.connect(target.parameters)
        guard let connection, PQstatus(connection) == CONNECTION_OK, let canceller = PostgreSQLCanceller(connection)
        else {
            let text = connection.map { String(cString: PQerrorMessage($0)) } ?? "no memory"
            if let connection { PQfinish(connection) }
            throw PostgreSQLError(state: "08001", message: words.told(text))
        }
        self.canceller = canceller
        handle = connection
        receiveNotices(connection)
        guard PQsetnonblocking(connection, 1) == 0, PQenterPipelineMode(connection) == 1 else {
            close()
            throw .lost("libpq cannot use the connection without blocking")
        }
    }

    deinit { close() }

    /// Receives the server's notices, which libpq prints to standard error by default. All but one are ignored. When a
    /// commit is cancelled while it waits for its synchronous standby, the server reports success. The only sign of the
    /// missing replica is a warning from the function that waits (`SyncRepWaitForLSN` in PostgreSQL's `syncrep.c`).
    private func receiveNotices(_ connection: OpaquePointer) {
        let hear: PQnoticeReceiver = { wire, notice in
            guard let wire, let function = satchel_pq_function(notice),
                String(cString: function) == "SyncRepWaitForLSN"
            else { return }
            Unmanaged<Wire>.fromOpaque(wire).takeUnretainedValue().isUnreplicated = true
        }
        // libpq does not call it after `close`, which `deinit` calls too. The unretained reference is therefore safe.
        PQsetNoticeReceiver(connection, hear, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Blocks, because libpq tries the next host after a timeout only in a blocking connect.
    private static func connect(_ parameters: [(String, String)]) -> OpaquePointer? {
        let texts = parameters.flatMap { [strdup($0.0), strdup($0.1)] }
        defer { for text in texts { free(text) } }
        let keywords = stride(from: 0, to: texts.count, by: 2).map { UnsafePointer(texts[$0]) } + [nil]
        let values = stride(from: 1, to: texts.count, by: 2).map { UnsafePointer(texts[$0]) } + [nil]
        return PQconnectdbParams(keywords, values, 1)
    }

    func close() {
        guard let handle else { return }
        self.handle = nil
        expiry = nil
        PQfinish(handle)
    }

    /// The open connection.
    /// - Throws: `.closed`.
    func open() throws(PostgreSQLError) -> OpaquePointer {
        guard let handle else { throw .closed }
        return handle
    }

    /// Whether libpq reports the connection as usable.
    var isUsable: Bool { handle.map { PQstatus($0) == CONNECTION_OK } ?? false }

    /// libpq's last error message.
    var problem: String { handle.map { words.told(String(cString: PQerrorMessage($0))) } ?? "the connection is closed" }
}

// MARK: - Waiting

extension Wire {
    /// The next result; nil after the last result of one statement. The caller clears it.
    /// - Throws: `.timedOut` when the server did not end a cancelled statement in time; the connection is then closed.
    ///   `.unreplicated` in place of a result that reports a successful commit.
    func nextResult() throws(PostgreSQLError) -> OpaquePointer? {
        let handle = try open()
        while PQisBusy(handle) == 1 {
            guard try waits(handle) else { break }
        }
        // After the connection has ended, libpq first returns the results it has received, then a result with the
        // error.
        let result = PQgetResult(handle)
        guard !isUnreplicated else {
            if let result { PQclear(result) }
            throw .unreplicated
        }
        return result
    }

    /// Sends the rest of the output buffer and waits for input, until the deadline.
    /// - Returns: false when the connection has ended.
    private func waits(_ handle: OpaquePointer) throws(PostgreSQLError) -> Bool {
        try expire()
        // A failed flush is ignored: the input that can still be read contains the reason.
        let isSending = PQflush(handle) == 1
        var descriptor = pollfd(
            fd: PQsocket(handle), events: Int16(isSending ? POLLIN | POLLOUT : POLLIN), revents: 0)
        guard descriptor.fd >= 0 else { return false }
        let start = Self.monotonic
        let count = poll(&descriptor, 1, milliseconds)
        waited &+= Self.monotonic &- start
        if count == 0 {
            repeatCancelRequest()
            return true
        }
        if count < 0, errno == EINTR { return true }
        guard count > 0 else { return false }
        // `poll` returned because the socket accepts output; there is no input yet.
        if descriptor.revents & ~Int16(POLLOUT) == 0 { return true }
        return PQconsumeInput(handle) == 1
    }

    private static var monotonic: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    /// Whether input is available; the end of the connection counts as input.
    func canRead(_ handle: OpaquePointer, until end: ContinuousClock.Instant) -> Bool {
        var descriptor = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
        let left = ((end - .now) / .milliseconds(1)).rounded(.up)
        return poll(&descriptor, 1, Int32(max(0, min(left, 1e9)))) > 0
    }

    /// The timeout of `poll`: the time until the deadline, or, after it, until the cancel request is repeated.
    private var milliseconds: Int32 {
        if expiry != nil { return Int32(Self.repetition / .milliseconds(1)) }
        guard let deadline else { return -1 }
        let left = (deadline - .now) / .milliseconds(1)
        return left <= 0 ? 0 : Int32(min(left.rounded(.up), 1e9))
    }

    /// Cancels the running statement once the deadline has passed, and closes the connection after the grace period.
    /// Called on each wait, so that a steady flow of answers does not delay it.
    private func expire() throws(PostgreSQLError) {
        guard let deadline, deadline <= .now else { return }
        guard let expiry else {
            self.expiry = Expiry(attempt: CancelRequest(canceller), giveUp: .now + Self.grace)
            return
        }
        guard expiry.giveUp <= .now else { return }
        close()
        throw .timedOut
    }

    private func repeatCancelRequest() {
        if let expiry, expiry.attempt.hasEnded { self.expiry?.attempt = CancelRequest(canceller) }
    }

    /// Whether the running statement was cancelled because of the deadline.
    var isExpired: Bool { expiry != nil }

    /// Called when all statements are answered. Waits for a cancel request in progress, which would otherwise cancel
    /// the next statement. Closes the connection when the request does not end within the grace period.
    func finishCancelRequest() {
        guard let expiry else { return }
        self.expiry = nil
        if !expiry.attempt.waits(seconds: Self.grace / .seconds(1)) { close() }
    }

    /// - Throws: `.timedOut` when the deadline has already passed.
    func checkDeadline() throws(PostgreSQLError) {
        if let deadline, deadline <= .now { throw .timedOut }
    }
}
