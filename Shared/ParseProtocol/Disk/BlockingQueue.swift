import Dispatch

/// A serial thread for work that blocks on the disk or uses a processor for long.
///
/// Tasks run on as many threads as there are processors. A task that blocks would take one of them from the whole
/// service.
public final class BlockingQueue: Sendable {
    private let queue: DispatchQueue

    /// - Parameter label: shown in debuggers.
    public init(_ label: String) { queue = DispatchQueue(label: label) }

    /// Runs the work after all earlier work. Cancelling the task does not interrupt it.
    /// - Throws: errors of the work.
    public func run<Value: Sendable, Problem: Error>(
        _ work: @escaping @Sendable () throws(Problem) -> Value
    ) async throws(Problem) -> Value {
        let result: Result<Value, Problem> = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: Result { () throws(Problem) -> Value in try work() }) }
        }
        return try result.get()
    }
}
