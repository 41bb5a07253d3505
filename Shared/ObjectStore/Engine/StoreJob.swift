import ParseProtocol
import ServiceContextModule

/// Changes for the writer, and their result. A job is one object. With closures, the submitting thread would allocate
/// each of them and the writer's thread would free it.
package protocol StoreJob: AnyObject {
    /// Whether the job throws only before its first change and so needs no savepoint (`StoreTransaction.atOnce`).
    func changesAtOnce(in transaction: StoreTransaction) -> Bool
    /// Whether the job, which may fail halfway, runs without a savepoint at first. When it fails after its first
    /// change, its group runs again with savepoints (`ClassStore.submit`).
    var seldomFails: Bool { get }
    /// Makes the changes and keeps the result. Called again after a conflict with another process, and after a failure
    /// of another job of the group that ran without a savepoint; only the last result counts.
    func run(in transaction: StoreTransaction) throws
    /// Called once, as the completion of `ClassStore.submit`.
    /// - Parameter failure: nil when the changes are committed.
    func finish(_ failure: (any Error)?)
}

/// A job and the request that it is for.
package struct SubmittedJob {
    fileprivate let job: any StoreJob
    fileprivate let share: WorkShare?
    fileprivate let context: ServiceContext?

    /// - Parameters:
    ///   - share: the share of the request; nil for the process's own work.
    ///   - context: names the request.
    package init(_ job: any StoreJob, for share: WorkShare?, of context: ServiceContext?) {
        self.job = job
        self.share = share
        self.context = context
    }
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

extension WriterThread {
    /// A job in the queue. Only one thread at a time uses it.
    final class Job: QueuedWrite {
        let client: WorkClient
        let weight: Int
        private let job: any StoreJob
        private let share: WorkShare?
        private let context: ServiceContext?
        private let span: RunningSpan?
        /// An earlier run was not refused, so the quotas have counted it.
        private var isCounted = false
        /// Microseconds that the earlier runs were charged.
        private var charged: Int64 = 0

        init(_ submitted: SubmittedJob) {
            job = submitted.job
            share = submitted.share
            context = submitted.context
            client = share?.client ?? .shop
            weight = share?.weight ?? 1
            span = RunningSpan("store transaction", .internal, of: context?.requestTrace?.context)
        }

        /// - Parameter isCarefully: a failure of this job must not harm another job.
        func perform(in transaction: StoreTransaction, isCarefully: Bool) throws {
            transaction.runsAtOnce = !isCarefully && job.changesAtOnce(in: transaction)
            if transaction.runsAtOnce {
                try transaction.outright { try run(in: transaction) }
            } else if job.seldomFails, !isCarefully {
                try transaction.unguarded { try run(in: transaction) }
            } else {
                try transaction.nested { try run(in: transaction) }
            }
        }

        /// Runs the job without a savepoint of its own.
        func run(in transaction: StoreTransaction) throws {
            transaction.isRepeated = isCounted
            defer { transaction.isRepeated = false }
            do {
                try transaction.accounted(share, beyond: &charged) {
                    guard let context else { return try job.run(in: transaction) }
                    try ServiceContext.$current.withValue(context) { try job.run(in: transaction) }
                }
                isCounted = true
            } catch {
                // A `ParseError` is a refusal, and the quotas did not count it. Every other error (a conflict) ends a
                // run that they counted.
                if !(((error as? PartialChange)?.cause ?? error) is ParseError) { isCounted = true }
                throw error
            }
        }

        func finish(_ failure: (any Error)?) {
            span?.end(isError: failure != nil)
            job.finish(failure)
        }
    }
}
