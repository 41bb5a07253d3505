/// A failure of the database or of the connection to it. It belongs in the log, never in a response to a client.
///
/// It contains neither parameter values nor any part of the connection string. It keeps only the primary message of the
/// server's diagnostic, and shortens that for errors in data (class 22).
package struct PostgreSQLError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The SQLSTATE, five characters (https://www.postgresql.org/docs/current/errcodes-appendix.html). Errors that
    /// libpq or this module detects have one too: 08006 for a lost connection, 57014 for a deadline.
    package let state: String
    /// The message of the server, of libpq or of this module, for the log; may name tables and columns.
    package let message: String
    /// The violated constraint, if any.
    package let constraint: String?
    /// Whether the caller's deadline passed (`PostgreSQLConnection.limited`).
    package let isTimedOut: Bool
    /// A prepared statement is no longer valid because a table was changed. The next run prepares it again. Outside a
    /// transaction that second run has already failed too; within one, the caller may repeat the whole transaction.
    package let isStale: Bool

    package init(
        state: String, message: String, constraint: String? = nil, isTimedOut: Bool = false, isStale: Bool = false
    ) {
        self.state = state
        self.message = message
        self.constraint = constraint
        self.isTimedOut = isTimedOut
        self.isStale = isStale
    }

    /// The SQLSTATE and the message.
    package var description: String { "PostgreSQL \(state): \(message)" }

    /// A UNIQUE or PRIMARY KEY constraint was violated.
    package var isUniqueViolation: Bool { state == "23505" }
    /// The transaction was in a deadlock with another transaction; a retry may succeed.
    package var isDeadlock: Bool { state == "40P01" }
    /// The server accepts no writes: it is a standby, or the transaction is read-only.
    package var isReadOnly: Bool { state == "25006" }
    /// The statement was cancelled by `PostgreSQLCanceller`, a deadline or the server's statement_timeout.
    package var isCancelled: Bool { state == "57014" }
    /// The connection is lost, or could not be made. The outcome of a COMMIT that was in progress is unknown.
    package var isConnectionLost: Bool {
        state.hasPrefix("08") || ["57P01", "57P02", "57P03"].contains(state)
    }
}

extension PostgreSQLError {
    /// The caller's deadline passed.
    static let timedOut = PostgreSQLError(state: "57014", message: "the deadline was over", isTimedOut: true)
    /// The connection was closed before the call.
    static let closed = PostgreSQLError(state: "08003", message: "the connection is closed")

    /// The commit is on one server only, which may lose it. The error counts as a lost connection because the outcome
    /// of the commit is unknown.
    static let unreplicated = PostgreSQLError(
        state: "08007", message: "a commit's wait for its synchronous standby was cancelled")

    static func lost(_ message: String) -> PostgreSQLError { PostgreSQLError(state: "08006", message: message) }

    /// The server or libpq sent an answer that does not fit the request.
    static func protocolViolation(_ message: String) -> PostgreSQLError {
        PostgreSQLError(state: "08P01", message: message)
    }
}
