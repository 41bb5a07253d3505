import ParseProtocol
import ServiceContextModule

extension WriterThread {
    /// A job in the queue. Only one thread at a time uses it.
    final class Job: QueuedWrite {
        let client: WorkClient
        let weight: Int
        private let job: any StoreJob
        private let share: WorkShare?
        private let context: ServiceContext?
        private let span: RunningSpan?
        private var runs = 0
        /// Microseconds that the earlier runs were charged.
        private var charged: Int64 = 0

        init(_ job: any StoreJob, for share: WorkShare?, of context: ServiceContext?) {
            self.job = job
            self.share = share
            self.context = context
            client = share?.client ?? .shop
            weight = share?.weight ?? 1
            span = RunningSpan("store transaction", .internal, of: context?.requestTrace?.context)
        }

        /// - Parameter isCarefully: a failure of this job must not harm another job.
        func perform(in transaction: StoreTransaction, isCarefully: Bool) throws {
            if job.changesAtOnce(in: transaction) {
                try isCarefully
                    ? transaction.atOnce { try run(in: transaction) }
                    : transaction.outright { try run(in: transaction) }
            } else if job.seldomFails, !isCarefully {
                try transaction.unguarded { try run(in: transaction) }
            } else {
                try transaction.nested { try run(in: transaction) }
            }
        }

        private func run(in transaction: StoreTransaction) throws {
            transaction.isRepeated = runs > 0
            runs += 1
            defer { transaction.isRepeated = false }
            try transaction.accounted(share, beyond: &charged) {
                guard let context else { return try job.run(in: transaction) }
                try ServiceContext.$current.withValue(context) { try job.run(in: transaction) }
            }
        }

        func finish(_ failure: (any Error)?) {
            span?.end(isError: failure != nil)
            job.finish(failure)
        }
    }
}
