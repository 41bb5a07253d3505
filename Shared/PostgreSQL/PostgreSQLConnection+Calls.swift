import CPostgreSQL

/// A word that another connection told by NOTIFY.
package struct PostgreSQLNotification: Sendable, Hashable {
    package let channel: String
    /// At most 7999 bytes; empty for none.
    package let payload: String
    /// The server process of the connection that told it, which may be this one (`serverProcess`).
    package let process: Int32
}

extension PostgreSQLConnection {
    /// Runs several statements without parameters, of a schema for example; without a BEGIN they are one transaction.
    package func execute(script: String) throws(PostgreSQLError) { try session.run(script: script) }

    /// Runs `body` with a deadline: what runs then is cancelled and fails with `isTimedOut`, as does what comes after.
    /// A deadline around it that is earlier stays. The connection is usable afterwards, unless the server does not end
    /// the statement within three seconds (`isBroken`).
    @discardableResult
    package func limited<T>(to limit: Duration, _ body: () throws -> T) throws -> T {
        let outer = session.wire.deadline
        let own = ContinuousClock.now + limit
        session.wire.deadline = outer.map { min($0, own) } ?? own
        defer { session.wire.deadline = outer }
        return try body()
    }

    /// The process of the server that serves this connection, as in `pg_stat_activity`.
    package var serverProcess: Int32 { session.wire.handle.map(PQbackendPID) ?? 0 }

    /// The socket, to wait for what can be read; it changes hands with no other connection. -1 once it is closed.
    package var descriptor: Int32 { session.wire.handle.map(PQsocket) ?? -1 }

    /// What was told on the channels that this connection listens on (`LISTEN channel`), in order.
    /// - Parameter patience: the time to wait for the first; by default it does not wait.
    /// - Throws: `PostgreSQLError` when the connection is gone: what is told until there is another is not heard.
    package func notifications(
        waiting patience: Duration = .zero
    ) throws(PostgreSQLError) -> [PostgreSQLNotification] {
        try session.notifications(waiting: patience)
    }
}

extension Session {
    func notifications(waiting patience: Duration) throws(PostgreSQLError) -> [PostgreSQLNotification] {
        try settle()
        let handle = try wire.open()
        var found = taken(handle)
        let end = ContinuousClock.now + patience
        repeat {
            // What is there already is read even when there is no time to wait.
            guard found.isEmpty, wire.canRead(handle, until: end) else { break }
            guard PQconsumeInput(handle) == 1 else { throw close(.lost(wire.problem)) }
            found = taken(handle)
        } while ContinuousClock.now < end
        return found
    }

    private func taken(_ handle: OpaquePointer) -> [PostgreSQLNotification] {
        var found: [PostgreSQLNotification] = []
        while let notification = PQnotifies(handle) {
            defer { PQfreemem(notification) }
            let told = notification.pointee
            found.append(
                PostgreSQLNotification(
                    channel: told.relname.map { String(cString: $0) } ?? "",
                    payload: told.extra.map { String(cString: $0) } ?? "", process: told.be_pid))
        }
        return found
    }
}
