import CPostgreSQL
import Foundation
import Synchronization

/// Cancels a connection's running statement, from any thread.
package final class PostgreSQLCanceller: Sendable {
    /// libpq only reads it (https://www.postgresql.org/docs/current/libpq-cancel.html).
    private nonisolated(unsafe) let handle: OpaquePointer

    /// - Parameter connection: libpq's connection; the initializer returns nil when it is not open.
    init?(_ connection: OpaquePointer) {
        guard let handle = PQgetCancel(connection) else { return nil }
        self.handle = handle
    }

    deinit { PQfreeCancel(handle) }

    /// Asks the server to cancel the running statement, if any. The statement then fails with `isCancelled`. Blocks
    /// until the server has received the request.
    /// - Returns: whether the server received it.
    @discardableResult
    package func cancel() -> Bool {
        var problem = [CChar](repeating: 0, count: 256)
        return PQcancel(handle, &problem, Int32(problem.count)) == 1
    }
}

/// One cancel request. It runs on a separate thread, because an unreachable host blocks the requesting thread.
final class CancelRequest: Sendable {
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

    /// Waits for the end of the request, at most `seconds`.
    /// - Returns: whether the request has ended.
    func waits(seconds: Double) -> Bool {
        let end = Date(timeIntervalSinceNow: seconds)
        return condition.withLock {
            while !hasEnded { if !condition.wait(until: end) { return hasEnded } }
            return true
        }
    }
}
