import Logging
import MessageBus
import Messages
import ParseProtocol
import Synchronization

/// One version of the code as it runs: its processes, and the calls that they have.
final class RunningCode: Sendable {
    let configuration: CloudConfiguration
    /// What the gateway knows it by.
    let edition: UInt64
    let pool: NodePool
    private let calls = Atomic<Int>(0)

    /// - Throws: when there are no descriptors for it.
    init(_ configuration: CloudConfiguration, logger: Logger) throws {
        self.configuration = configuration
        edition = CodeEdition.of(folder: configuration.folder)
        pool = try NodePool(configuration: configuration, logger: logger)
    }

    /// A call is about to come, and counts from now on.
    func enter() { calls.add(1, ordering: .relaxed) }

    /// Runs a call that `enter` announced.
    func run(_ run: CodeRun, completion: @escaping @Sendable (RunOutcome) -> Void) {
        pool.run(run) { [self] outcome in
            calls.subtract(1, ordering: .releasing)
            completion(outcome)
        }
    }

    /// Ends the processes when their calls are done, at the latest after the limit.
    func retire(within limit: Duration) async {
        let end = ContinuousClock.now + limit
        while calls.load(ordering: .acquiring) > 0, ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(20))
        }
        await pool.stop(within: .seconds(2))
    }
}

/// Whether a version loads that is tried beside the one that runs.
final class CodeTrial: Sendable {
    private struct State {
        var definitions: CodeDefinitions?
        var outcome: Outcome?
        var waiter: CheckedContinuation<Outcome, Never>?
    }

    enum Outcome: Sendable {
        /// A process takes calls.
        case loaded(CodeDefinitions)
        case failed(String)
    }

    private let state = Mutex(State())

    func loaded(_ definitions: CodeDefinitions) { state.withLock { $0.definitions = definitions } }

    /// A process takes calls, after it has loaded the code.
    func isReady() { end(.loaded(state.withLock { $0.definitions } ?? CodeDefinitions())) }

    func failed(_ problem: String) { end(.failed(problem)) }

    private func end(_ outcome: Outcome) {
        let waiter = state.withLock { state -> CheckedContinuation<Outcome, Never>? in
            guard state.outcome == nil else { return nil }
            state.outcome = outcome
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: outcome)
    }

    /// Waits for the end, once.
    func outcome(within limit: Duration) async -> Outcome {
        let timer = Task {
            try await Task.sleep(for: limit)
            failed("The code was not loaded in \(limit.components.seconds) seconds.")
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            let known = state.withLock { state -> Outcome? in
                if state.outcome == nil { state.waiter = continuation }
                return state.outcome
            }
            if let known { continuation.resume(returning: known) }
        }
    }
}
