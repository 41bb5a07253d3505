import Foundation
import Glibc
import Logging
import MessageBus
import Messages
import Synchronization

/// The pool of Node processes: one thread that polls their sockets and performs the decisions of `PoolMachine`.
package final class NodePool: Sendable {
    /// The pool's callbacks. They run on its thread and must return quickly.
    package struct Events: Sendable {
        /// A process has loaded the code.
        package var loaded: @Sendable (LoadedCode) -> Void
        /// The code makes a request; the receiver calls `answer` once.
        package var asked: @Sendable (CodeAsk) -> Void
        /// Why no code can run; empty when it can.
        package var problem: @Sendable (String) -> Void
        /// Whether a process would accept a call now. Called on each change, first when a process has loaded the code.
        package var ready: @Sendable (Bool) -> Void

        package init(
            loaded: @escaping @Sendable (LoadedCode) -> Void, asked: @escaping @Sendable (CodeAsk) -> Void,
            problem: @escaping @Sendable (String) -> Void, ready: @escaping @Sendable (Bool) -> Void = { _ in }
        ) {
            self.loaded = loaded
            self.asked = asked
            self.problem = problem
            self.ready = ready
        }
    }

    enum Work: Sendable {
        case run(CodeRun, @Sendable (RunOutcome) -> Void)
        case answer(CodeAsk, [UInt8])
        case cancelJob(String)
        case cancelJobs
        /// Wakes the thread to poll again.
        case look
        case stop
    }

    private let mailbox: ThreadMailbox<Work>
    private let configuration: CloudConfiguration
    private let logger: Logger
    /// Whether the thread runs.
    private let isRunning = Atomic(false)
    /// Nil before the start and after the end.
    private let state = Mutex<PoolThread?>(nil)

    package init(configuration: CloudConfiguration, logger: Logger) throws {
        mailbox = try ThreadMailbox()
        self.configuration = configuration
        self.logger = logger
    }

    /// Starts the processes, which end with this process or by `stop`. Call once.
    package func start(_ events: Events) {
        let (mailbox, configuration, logger) = (mailbox, configuration, logger)
        isRunning.store(true, ordering: .releasing)
        let thread = Thread { [self] in
            Thread.current.name = "cloud-pool"
            var wait: PoolThread.Wait? = state.withLock { state in
                let made = PoolThread(
                    mailbox: mailbox, configuration: configuration, events: events, logger: logger)
                let wait = made.begin()
                state = made
                return wait
            }
            while var current = wait {
                _ = poll(&current.polled, nfds_t(current.polled.count), current.timeout)
                wait = turn(after: current)
            }
            isRunning.store(false, ordering: .releasing)
        }
        thread.start()
    }

    private func turn(after wait: PoolThread.Wait) -> PoolThread.Wait? {
        state.withLock { state in
            let next = state?.turn(after: wait)
            if next == nil { state = nil }
            return next
        }
    }

    /// Runs a call until its end, at the latest its deadline.
    package func run(_ run: CodeRun) async -> RunOutcome {
        await withCheckedContinuation { continuation in
            self.run(run) { continuation.resume(returning: $0) }
        }
    }

    /// Runs a call until its end. While the pool's thread waits, the calling thread starts the call itself, which saves
    /// a context switch. Never blocks.
    /// - Parameter completion: called once, usually on the pool's thread with its lock held, so it must return quickly.
    package func run(_ run: CodeRun, completion: @escaping @Sendable (RunOutcome) -> Void) {
        let mustWake = state.withLockIfAvailable { state in state?.call(run, completion) } ?? nil
        if mustWake == nil, !mailbox.post(.run(run, completion)) { completion(Self.closed) }
        if mustWake == true { mailbox.post(.look) }
    }

    /// - Parameter text: `status`, `headers` and `body`, as a JSON object.
    package func answer(_ ask: CodeAsk, _ text: [UInt8]) { mailbox.post(.answer(ask, text)) }

    /// Cancels a job if it runs: its run fails, and the code's further requests are refused.
    /// - Parameter id: its `CodeRun.jobId`.
    package func cancel(job id: String) { mailbox.post(.cancelJob(id)) }

    /// Cancels all jobs, as `cancel(job:)` does, and refuses new ones. Calls continue.
    package func cancelJobs() { mailbox.post(.cancelJobs) }

    /// Replaces `start` when there is no code: calls are answered at once.
    package func close() {
        for case .run(_, let completion) in mailbox.close() { completion(Self.closed) }
    }

    static let closed = RunOutcome.notRun("This replica runs no cloud code now.")

    /// Ends the processes, all programs that the code started, and the thread. Running calls end with them.
    package func stop() { mailbox.post(.stop) }

    /// Calls `stop` and waits until it is done.
    /// - Parameter limit: for a process that the kernel does not end.
    package func stop(within limit: Duration) async {
        let end = ContinuousClock.now + limit
        stop()
        while isRunning.load(ordering: .acquiring), ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(5))
        }
    }
}
