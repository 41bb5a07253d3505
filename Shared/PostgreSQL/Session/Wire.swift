import CPostgreSQL
import Glibc

/// libpq's connection: opened, waited for with a deadline, closed. It knows nothing of what is asked and answered.
///
/// libpq does not block here (https://www.postgresql.org/docs/current/libpq-async.html): what waits is `poll`, which is
/// ready to read while it writes, so that neither side waits for the other with full buffers.
final class Wire {
    /// libpq's connection; nil once it is closed.
    private(set) var handle: OpaquePointer?
    let words: ConnectionWords
    let canceller: PostgreSQLCanceller
    /// Whether the server gave up waiting for its standby before it answered a commit.
    private var isUnreplicated = false
    /// The time at which what runs is cancelled; nil for none.
    var deadline: ContinuousClock.Instant?
    /// Nanoseconds that the server was waited for.
    private(set) var waited: UInt64 = 0
    /// What was done about a deadline that is over; nil while none is.
    private var expiry: Expiry?

    /// The events since a deadline was over.
    private struct Expiry {
        var attempt: CancelAttempt
        let giveUp: ContinuousClock.Instant
    }

    /// The time that a server has to end what was cancelled before the connection is closed.
    private static let grace: Duration = .seconds(3)
    /// The time after which it is asked once more: it may have been between two statements.
    private static let repetition: Duration = .milliseconds(500)

    /// - Throws: `PostgreSQLError` of class 08 when no host can be reached; the server's when it refuses.
    init(_ target: PostgreSQLTarget) throws(PostgreSQLError) {
        words = try ConnectionWords(target.connection)
        let connection = Self.connect(target.parameters)
        guard let connection, PQstatus(connection) == CONNECTION_OK, let canceller = PostgreSQLCanceller(connection)
        else {
            let text = connection.map { String(cString: PQerrorMessage($0)) } ?? "no memory"
            if let connection { PQfinish(connection) }
            throw PostgreSQLError(state: "08001", message: words.told(text))
        }
        self.canceller = canceller
        handle = connection
        hearNotices(connection)
        guard PQsetnonblocking(connection, 1) == 0, PQenterPipelineMode(connection) == 1 else {
            close()
            throw .lost("libpq cannot use the connection without blocking")
        }
    }

    deinit { close() }

    /// Hears of what the server says beside its answers, which goes to the standard error by default, one thing. A
    /// commit that is cancelled while it waits for its synchronous standby is answered as done, and a warning of the
    /// function that waits is all that says otherwise (`SyncRepWaitForLSN` in PostgreSQL's `syncrep.c`).
    private func hearNotices(_ connection: OpaquePointer) {
        let hear: PQnoticeReceiver = { wire, notice in
            guard let wire, let function = satchel_pq_function(notice),
                String(cString: function) == "SyncRepWaitForLSN"
            else { return }
            Unmanaged<Wire>.fromOpaque(wire).takeUnretainedValue().isUnreplicated = true
        }
        // It is not called after `close`, which the end of this object calls too.
        PQsetNoticeReceiver(connection, hear, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Blocks, because only then libpq goes on to the next host when one does not answer in time.
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

    /// - Throws: `.closed`.
    func open() throws(PostgreSQLError) -> OpaquePointer {
        guard let handle else { throw .closed }
        return handle
    }

    /// Whether libpq still believes in it.
    var isUsable: Bool { handle.map { PQstatus($0) == CONNECTION_OK } ?? false }

    /// libpq's last words.
    var problem: String { handle.map { words.told(String(cString: PQerrorMessage($0))) } ?? "the connection is closed" }
}

// MARK: - Waiting

extension Wire {
    /// The next result; nil at the end of what one command gives. The caller clears it.
    /// - Throws: `.timedOut` when the server did not end in time what was cancelled, and the connection is closed then;
    ///   `.unreplicated` in the place of a result that says that a commit is done.
    func nextResult() throws(PostgreSQLError) -> OpaquePointer? {
        let handle = try open()
        while PQisBusy(handle) == 1 {
            guard try waits(handle) else { break }
        }
        // Of a connection that ended it gives what it had received, and then a result that says so.
        let result = PQgetResult(handle)
        guard !isUnreplicated else {
            if let result { PQclear(result) }
            throw .unreplicated
        }
        return result
    }

    /// Sends what is left and waits for more, until the deadline.
    /// - Returns: false when the connection is at its end.
    private func waits(_ handle: OpaquePointer) throws(PostgreSQLError) -> Bool {
        try expire()
        // Nothing is made of a failure: the reason is in what can still be read.
        let isSending = PQflush(handle) == 1
        var descriptor = pollfd(
            fd: PQsocket(handle), events: Int16(isSending ? POLLIN | POLLOUT : POLLIN), revents: 0)
        guard descriptor.fd >= 0 else { return false }
        let start = Self.monotonic
        let count = poll(&descriptor, 1, milliseconds)
        waited &+= Self.monotonic &- start
        if count == 0 {
            askAgain()
            return true
        }
        if count < 0, errno == EINTR { return true }
        guard count > 0 else { return false }
        // Only writing may have become possible.
        if descriptor.revents & ~Int16(POLLOUT) == 0 { return true }
        return PQconsumeInput(handle) == 1
    }

    private static var monotonic: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    /// Whether there is something to read, also the end of the connection.
    func canRead(_ handle: OpaquePointer, until end: ContinuousClock.Instant) -> Bool {
        var descriptor = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
        let left = ((end - .now) / .milliseconds(1)).rounded(.up)
        return poll(&descriptor, 1, Int32(max(0, min(left, 1e9)))) > 0
    }

    /// Until the deadline, or until something more is done about one that is over.
    private var milliseconds: Int32 {
        if expiry != nil { return Int32(Self.repetition / .milliseconds(1)) }
        guard let deadline else { return -1 }
        let left = (deadline - .now) / .milliseconds(1)
        return left <= 0 ? 0 : Int32(min(left.rounded(.up), 1e9))
    }

    /// Does what is due about a deadline, also while answers keep coming.
    private func expire() throws(PostgreSQLError) {
        guard let deadline, deadline <= .now else { return }
        guard let expiry else {
            self.expiry = Expiry(attempt: CancelAttempt(canceller), giveUp: .now + Self.grace)
            return
        }
        guard expiry.giveUp <= .now else { return }
        close()
        throw .timedOut
    }

    private func askAgain() {
        if let expiry, expiry.attempt.hasEnded { self.expiry?.attempt = CancelAttempt(canceller) }
    }

    /// Whether what runs was cancelled because of the deadline.
    var isExpired: Bool { expiry != nil }

    /// Called when all is answered: a request to cancel that is still under way would hit what comes next.
    func endExpiry() {
        guard let expiry else { return }
        self.expiry = nil
        if !expiry.attempt.waits(seconds: Self.grace / .seconds(1)) { close() }
    }

    /// - Throws: `.timedOut` when the deadline is over already.
    func checkDeadline() throws(PostgreSQLError) {
        if let deadline, deadline <= .now { throw .timedOut }
    }
}
