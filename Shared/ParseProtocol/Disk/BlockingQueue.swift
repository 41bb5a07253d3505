import Dispatch

/// A thread for work that waits for the disk or takes a processor for long, one piece after the other.
///
/// Tasks run on as many threads as there are processors; one that blocks takes a part of the whole service with it.
public final class BlockingQueue: Sendable {
    private let queue: DispatchQueue

    /// - Parameter label: what debuggers show.
    public init(_ label: String) { queue = DispatchQueue(label: label) }

    /// Runs the work when everything before it is done. It is not interrupted by the end of the task.
    /// - Throws: what the work throws.
    public func run<Value: Sendable, Problem: Error>(
        _ work: @escaping @Sendable () throws(Problem) -> Value
    ) async throws(Problem) -> Value {
        let result: Result<Value, Problem> = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: Result { () throws(Problem) -> Value in try work() }) }
        }
        return try result.get()
    }
}
