/// A failure of the database or of the way to it. It belongs in the log and never into an answer.
///
/// It has neither values of parameters nor anything of the connection string: of the server's diagnostic only the first
/// message is kept, which of data that cannot be converted is cut short.
package struct PostgreSQLError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The SQLSTATE, five characters (https://www.postgresql.org/docs/current/errcodes-appendix.html). What libpq or
    /// this module finds has one too: 08006 for a connection that ended, 57014 for a deadline.
    package let state: String
    /// The server's or libpq's words or ours, for the log; may name tables and columns.
    package let message: String
    /// The constraint that was violated, where there is one.
    package let constraint: String?
    /// Whether the caller's deadline was over (`PostgreSQLConnection.limited`).
    package let isTimedOut: Bool
    /// A prepared statement is no longer what it was, since a table was changed. The next run prepares it anew: outside
    /// of a transaction that was tried already, within one the whole of it may be run again.
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
    /// The transaction met another; run again it may succeed.
    package var isSerializationFailure: Bool { state == "40001" }
    /// The transaction waited for one that waited for it; run again it may succeed.
    package var isDeadlock: Bool { state == "40P01" }
    /// The server takes no writes: a standby, or a transaction that is read-only.
    package var isReadOnly: Bool { state == "25006" }
    /// The statement was ended, by `PostgreSQLCanceller`, a deadline or the server's statement_timeout.
    package var isCancelled: Bool { state == "57014" }
    /// The server's disk is full.
    package var isDiskFull: Bool { state == "53100" }
    /// The connection is gone, or could not be made. Whether a COMMIT that was under way was done is not known.
    package var isConnectionLost: Bool {
        state.hasPrefix("08") || ["57P01", "57P02", "57P03"].contains(state)
    }
}

extension PostgreSQLError {
    /// The caller's deadline was over.
    static let timedOut = PostgreSQLError(state: "57014", message: "the deadline was over", isTimedOut: true)
    /// The connection was closed before.
    static let closed = PostgreSQLError(state: "08003", message: "the connection is closed")

    /// What was committed is on one server, which may lose it. It counts as lost with the connection: whether it was
    /// done is not known.
    static let unreplicated = PostgreSQLError(
        state: "08007", message: "a commit's wait for its synchronous standby was cancelled")

    static func lost(_ message: String) -> PostgreSQLError { PostgreSQLError(state: "08006", message: message) }

    /// The server or libpq answered what the request cannot have as its answer.
    static func outOfStep(_ message: String) -> PostgreSQLError { PostgreSQLError(state: "08P01", message: message) }
}
