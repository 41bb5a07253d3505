import ParseProtocol

/// Changes for the writer, and their result. One object: each closure of a job would be another allocation, which its
/// thread makes and the writer's thread frees.
package protocol StoreJob: AnyObject {
    /// Whether the job throws only before its first change and so needs no savepoint (`StoreTransaction.atOnce`).
    func changesAtOnce(in transaction: StoreTransaction) -> Bool
    /// Whether the job gets a savepoint only when its group runs again after a failure (`ClassStore.submit`).
    var seldomFails: Bool { get }
    /// Makes the changes and keeps the result. Called again after a conflict with another process; only the last result
    /// counts.
    func run(in transaction: StoreTransaction) throws
    /// Called once, as the completion of `ClassStore.submit`.
    /// - Parameter failure: nil when the changes are committed.
    func finish(_ failure: (any Error)?)
}

/// A job made of closures.
final class ClosureJob<Value: Sendable>: StoreJob {
    private let body: @Sendable (StoreTransaction) throws -> Value
    private let completion: @Sendable (Result<Value, any Error>) -> Void
    private let atOnce: @Sendable (StoreTransaction) -> Bool
    let seldomFails: Bool
    private var result: Value?

    init(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void,
        changesAtOnce: @escaping @Sendable (StoreTransaction) -> Bool, seldomFails: Bool
    ) {
        self.body = body
        self.completion = completion
        atOnce = changesAtOnce
        self.seldomFails = seldomFails
    }

    func changesAtOnce(in transaction: StoreTransaction) -> Bool { atOnce(transaction) }

    func run(in transaction: StoreTransaction) throws { result = try body(transaction) }

    func finish(_ failure: (any Error)?) { completion(ClassStore.outcome(result, failure)) }
}
