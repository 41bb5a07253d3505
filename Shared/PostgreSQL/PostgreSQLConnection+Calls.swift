import CPostgreSQL

/// A notification that a connection sent by NOTIFY.
package struct PostgreSQLNotification: Sendable, Hashable {
    package let channel: String
    /// At most 7999 bytes; empty for none.
    package let payload: String
    /// The server process of the sending connection, which may be this connection itself (`serverProcess`).
    package let process: Int32
}

extension PostgreSQLConnection {
    /// Runs several statements without parameters, for example the statements of a schema. Without a BEGIN they are one
    /// transaction.
    package func execute(script: String) throws(PostgreSQLError) { try session.run(script: script) }

    /// Runs `body` with a deadline. At the deadline the running statement is cancelled and fails with `isTimedOut`; so
    /// does every later statement of `body`. An earlier deadline of an enclosing call remains in force. The connection
    /// is usable afterwards, unless the server does not end the statement within three seconds (`isBroken`).
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

    /// The socket, for waiting until input arrives. It does not change while the connection is open. -1 after the
    /// connection is closed.
    package var descriptor: Int32 { session.wire.handle.map(PQsocket) ?? -1 }

    /// The notifications on the channels that this connection subscribes to (`LISTEN channel`), in order.
    /// - Parameter patience: the time to wait for the first notification; by default the call does not wait.
    /// - Throws: `PostgreSQLError` when the connection is lost. Notifications sent before a new connection subscribes
    ///   are lost too.
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
            // Input that has already arrived is read even when `patience` is zero.
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
