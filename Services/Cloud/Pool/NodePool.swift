import Foundation
import Glibc
import Logging
import MessageBus
import Messages
import Synchronization

/// The pool of Node processes: one thread that waits for their sockets and does what `PoolMachine` decides.
package final class NodePool: Sendable {
    /// The pool's news; called on its thread, so that it must only hand over.
    package struct Events: Sendable {
        /// A process has loaded the code.
        package var loaded: @Sendable (CodeDefinitions) -> Void
        /// The code makes a request, which is answered by `answer` once.
        package var asked: @Sendable (CodeAsk) -> Void
        /// Why no code can be run; empty when it can.
        package var problem: @Sendable (String) -> Void
        /// Whether a process would take a call now; told when it changes, first when one has loaded the code.
        package var ready: @Sendable (Bool) -> Void

        package init(
            loaded: @escaping @Sendable (CodeDefinitions) -> Void, asked: @escaping @Sendable (CodeAsk) -> Void,
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
        /// There is more to wait for.
        case look
        case stop
    }

    private let mailbox: ThreadMailbox<Work>
    private let configuration: CloudConfiguration
    private let logger: Logger
    /// Whether the thread is there.
    private let isRunning = Atomic(false)
    /// Nil before the start and after the end.
    private let state = Mutex<PoolThread?>(nil)

    package init(configuration: CloudConfiguration, logger: Logger) throws {
        mailbox = try ThreadMailbox()
        self.configuration = configuration
        self.logger = logger
    }

    /// Starts the processes, which end with this process or by `stop`. To be called once.
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

    /// Runs a call to its end, at the latest its deadline.
    package func run(_ run: CodeRun) async -> RunOutcome {
        await withCheckedContinuation { continuation in
            self.run(run) { continuation.resume(returning: $0) }
        }
    }

    /// Runs a call to its end. The calling thread begins it itself while the pool's waits, which is a change of threads
    /// less, and waits for nothing.
    /// - Parameter completion: called once, as a rule on the pool's thread and within its lock, so that it must only
    ///   hand over.
    package func run(_ run: CodeRun, completion: @escaping @Sendable (RunOutcome) -> Void) {
        let mustWake = state.withLockIfAvailable { state in state?.call(run, completion) } ?? nil
        if mustWake == nil, !mailbox.post(.run(run, completion)) { completion(Self.closed) }
        if mustWake == true { mailbox.post(.look) }
    }

    /// - Parameter text: `status`, `headers` and `body`, as a JSON object.
    package func answer(_ ask: CodeAsk, _ text: [UInt8]) { mailbox.post(.answer(ask, text)) }

    /// Ends a job, if it runs: its run fails, and the code can ask for nothing more.
    /// - Parameter id: its `CodeRun.jobId`.
    package func cancel(job id: String) { mailbox.post(.cancelJob(id)) }

    /// Ends all jobs, as `cancel(job:)` does; later ones are not begun. Calls go on.
    package func cancelJobs() { mailbox.post(.cancelJobs) }

    /// In place of `start`, where there is no code: calls that come nevertheless are answered at once.
    package func close() {
        for case .run(_, let completion) in mailbox.close() { completion(Self.closed) }
    }

    static let closed = RunOutcome.notRun("No cloud code is run here now.")

    /// Ends the processes, with what the code started in them, and the thread. Calls that are under way end with them.
    package func stop() { mailbox.post(.stop) }

    /// Does so, and waits for their end.
    /// - Parameter limit: for a process that the kernel does not end.
    package func stop(within limit: Duration) async {
        let end = ContinuousClock.now + limit
        stop()
        while isRunning.load(ordering: .acquiring), ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(5))
        }
    }
}
