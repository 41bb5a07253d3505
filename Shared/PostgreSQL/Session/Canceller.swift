import CPostgreSQL
import Foundation
import Synchronization

/// Ends what a connection's server is doing, from any thread.
package final class PostgreSQLCanceller: Sendable {
    /// libpq only reads it (https://www.postgresql.org/docs/current/libpq-cancel.html).
    private nonisolated(unsafe) let handle: OpaquePointer

    /// - Parameter connection: libpq's; nil when it is not open.
    init?(_ connection: OpaquePointer) {
        guard let handle = PQgetCancel(connection) else { return nil }
        self.handle = handle
    }

    deinit { PQfreeCancel(handle) }

    /// Asks the server to end the statement that runs now, if any; it then fails with `isCancelled`. Blocks until the
    /// server has taken the request.
    /// - Returns: whether it took it.
    @discardableResult
    package func cancel() -> Bool {
        var problem = [CChar](repeating: 0, count: 256)
        return PQcancel(handle, &problem, Int32(problem.count)) == 1
    }
}

/// One request to cancel, made by a thread of its own: a host that vanished keeps who asks it waiting.
final class CancelAttempt: Sendable {
    private let ended = Mutex(false)
    private let condition = NSCondition()

    init(_ canceller: PostgreSQLCanceller) {
        Thread.detachNewThread { [self] in
            canceller.cancel()
            ended.withLock { $0 = true }
            condition.withLock { condition.broadcast() }
        }
    }

    var hasEnded: Bool { ended.withLock { $0 } }

    /// Waits for the end, `seconds` at most.
    /// - Returns: whether it came.
    func waits(seconds: Double) -> Bool {
        let end = Date(timeIntervalSinceNow: seconds)
        return condition.withLock {
            while !hasEnded { if !condition.wait(until: end) { return hasEnded } }
            return true
        }
    }
}
