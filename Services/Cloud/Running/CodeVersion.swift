import Logging
import MessageBus
import Messages
import ParseProtocol
import Synchronization

/// One running version of the code: its processes and their calls.
final class CodeVersion: Sendable {
    let configuration: CloudConfiguration
    /// Identifies the version for the gateway.
    let edition: UInt64
    let pool: NodePool
    private let calls = Atomic<Int>(0)
    private let limits = Mutex(CodeRateLimits())

    /// - Throws: when no descriptors are left.
    init(_ configuration: CloudConfiguration, logger: Logger) throws {
        self.configuration = configuration
        edition = CodeEdition.of(folder: configuration.folder)
        pool = try NodePool(configuration: configuration, logger: logger)
    }

    /// Sets the rate limits of the validators; every process of the version sends the same.
    func limit(by rules: [CodeRateLimits.Rule]) { limits.withLock { $0.replace(by: rules) } }

    /// Counts a call, unless a rate limit refuses it.
    /// - Throws: `.connectionFailed` (100).
    func admit(_ call: CodeRateLimits.Call) throws(ParseError) {
        let refusal = limits.withLock { $0.refusal(of: call, at: BusClock.now * 1_000_000) }
        if let refusal { throw refusal }
    }

    /// Announces a call, which counts as running from now on.
    func enter() { calls.add(1, ordering: .relaxed) }

    /// Withdraws an announced call.
    func leave() { calls.subtract(1, ordering: .releasing) }

    /// Runs an announced call.
    func run(_ run: CodeRun, completion: @escaping @Sendable (RunOutcome) -> Void) {
        pool.run(run) { [self] outcome in
            leave()
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

/// The result of loading a version on trial.
final class CodeTrial: Sendable {
    private struct State {
        var definitions: CodeDefinitions?
        var outcome: Outcome?
        var waiter: CheckedContinuation<Outcome, Never>?
    }

    enum Outcome: Sendable {
        /// A process accepts calls.
        case loaded(CodeDefinitions)
        case failed(String)
    }

    private let state = Mutex(State())

    func loaded(_ definitions: CodeDefinitions) { state.withLock { $0.definitions = definitions } }

    /// A process has loaded the code and accepts calls.
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

    /// Waits for the result. Call once.
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
