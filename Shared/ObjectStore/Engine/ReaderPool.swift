import Foundation
import ParseProtocol

/// A few threads with a reader each, for async code and for reads that are too long for a lane. The threads start at
/// the first read. `ReadQueue` decides which read is next.
final class ReaderPool: @unchecked Sendable {
    struct Job {
        let share: WorkShare?
        /// Runs the read and stores its result; may be called again after the read exceeded its slice.
        let run: (StoreReader) throws -> Void
        /// Called once, with the error that the read threw.
        let finish: ((any Error)?) -> Void
    }

    /// Nanoseconds of processor time after which a read counts as long: many times the cost of a shop's page.
    private static let slice: UInt64 = 50_000_000
    /// The priority of these threads (nice 10): when processors are scarce, lanes and the writer get nine times as much
    /// time.
    static let niceness: Int32 = 10
    /// At most as many threads as processors, but at least one of each kind.
    private static let kinds: [ReadQueue.Kind] =
        ProcessInfo.processInfo.activeProcessorCount > 2 ? [.short, .short, .long] : [.short, .long]

    private let open: @Sendable () throws -> StoreReader
    private let condition = NSCondition()
    private var queue = ReadQueue()
    private var jobs: [ReadQueue.Ticket: Job] = [:]
    private var running = 0
    private var isStarted = false
    private var isStopping = false

    init(open: @escaping @Sendable () throws -> StoreReader) { self.open = open }

    /// Accepts a read, or completes it at once with `.requestLimitExceeded` (155) or `.serviceUnavailable` (2). A read
    /// that loses its place to the new one is completed with 155.
    func submit(_ job: Job, isCostly: Bool) {
        let refused: (job: Job, error: ParseError)? = condition.withLock {
            guard !isStopping else {
                return (job, ParseError(.serviceUnavailable, "The service is stopping. Try again."))
            }
            let displaced: Job?
            do throws(ReadQueue.Refusal) {
                let entered = try queue.enter(job.share?.client ?? .shop, isCostly: isCostly, now: TimeLimit.monotonic)
                jobs[entered.ticket] = job
                displaced = entered.displaced.flatMap { jobs.removeValue(forKey: $0) }
            } catch {
                return (job, Self.error(error))
            }
            startThreads()
            // Not every thread may take every read, so all are woken. `signal` must not be used where several threads
            // wait: glibc may lose such a wake-up (glibc bug 25847).
            condition.broadcast()
            return displaced.map { ($0, Self.error(.full)) }
        }
        if let refused { refused.job.finish(refused.error) }
    }

    /// Reads that wait for a thread.
    var waitingCount: Int { condition.withLock { queue.waitingCount } }

    private static func error(_ refusal: ReadQueue.Refusal) -> ParseError {
        switch refusal {
        case .clientHasTooMany:
            .tooManyRequests("Too many of your costly requests are waiting. Try again later.", retryAfterSeconds: 2)
        case .full: .tooManyRequests("Too many costly requests are waiting. Try again later.", retryAfterSeconds: 2)
        }
    }

    /// Finishes the accepted reads, then returns.
    func stop() {
        condition.withLock {
            isStopping = true
            condition.broadcast()
            while running > 0 { condition.wait() }
        }
    }

    private func startThreads() {
        guard !isStarted else { return }
        isStarted = true
        running = Self.kinds.count
        for (index, kind) in Self.kinds.enumerated() {
            let thread = Thread { [self] in
                ThreadPriority.lower(to: Self.niceness)
                run(kind)
            }
            thread.name = "store-reader-\(index)"
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    private func run(_ kind: ReadQueue.Kind) {
        var reader: StoreReader?
        while let (ticket, kind, job) = next(kind) {
            do {
                let open = try reader ?? open()
                reader = open
                perform(job, ticket, kind, open)
            } catch {
                ended(ticket, used: 0)
                job.finish(error)
            }
        }
        reader = nil
        condition.withLock {
            running -= 1
            condition.broadcast()
        }
    }

    private func perform(_ job: Job, _ ticket: ReadQueue.Ticket, _ kind: ReadQueue.Kind, _ reader: StoreReader) {
        let start = TimeLimit.processor
        let limit = reader.connection.timeLimit
        limit.begin(allowance(of: job.share, kind), processorStart: start)
        reader.connection.queried = []
        let failure: (any Error)?
        do {
            guard job.share?.meter.left != 0 else { throw TimeLimit.budgetSpent }
            try job.run(reader)
            failure = nil
        } catch {
            failure = error
        }
        let isLong = limit.end == .slice
        let used = TimeLimit.processor - start + limit.waited
        let isQuick = failure == nil && used <= QuickQueries.quick
        reader.connection.quickQueries?.ran(reader.connection.queried ?? [], quickly: isQuick)
        reader.connection.queried = nil
        limit.begin(nil)
        job.share?.meter.use(Int64(used / 1000))
        ended(ticket, used: used, again: isLong ? job : nil)
        if !isLong { job.finish(failure) }
    }

    private func allowance(of share: WorkShare?, _ kind: ReadQueue.Kind) -> TimeLimit.Allowance? {
        let left = share.map { UInt64(clamping: min($0.meter.left, 1 << 50)) * 1000 }
        switch kind {
        case .short:
            if let left, left <= Self.slice { return .init(nanoseconds: left, end: .budget) }
            return .init(nanoseconds: Self.slice, end: .slice)
        case .long: return left.map { .init(nanoseconds: $0, end: .budget) }
        }
    }

    private func ended(_ ticket: ReadQueue.Ticket, used: UInt64, again job: Job? = nil) {
        condition.withLock {
            queue.ended(ticket, used: used, now: TimeLimit.monotonic, isLong: job != nil)
            if let job { jobs[ticket] = job }
            if job != nil || isStopping { condition.broadcast() }
        }
    }

    private func next(_ kind: ReadQueue.Kind) -> (ReadQueue.Ticket, ReadQueue.Kind, Job)? {
        condition.withLock {
            while true {
                if let next = queue.next(for: kind, now: TimeLimit.monotonic),
                    let job = jobs.removeValue(forKey: next.ticket)
                {
                    return (next.ticket, next.kind, job)
                }
                // A read on another thread may still turn out to be long.
                if isStopping, queue.isIdle { return nil }
                condition.wait()
            }
        }
    }
}
