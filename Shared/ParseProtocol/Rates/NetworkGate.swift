import Synchronization

/// Runs jobs when it is their network's turn (`NetworkTurns`).
package final class NetworkGate: Sendable {
    private struct State {
        var turns: NetworkTurns
        /// They go on with true, and are refused with false.
        var waiting: [NetworkTurns.Ticket: CheckedContinuation<Bool, Never>] = [:]
    }

    private let state: Mutex<State>

    package init(_ limits: NetworkTurns.Limits) { state = Mutex(State(turns: NetworkTurns(limits))) }

    /// - Returns: nil when too many jobs wait.
    /// - Throws: the errors of the job.
    package func run<Value: Sendable>(
        for network: ClientNetwork, _ job: () async throws -> Value
    ) async rethrows -> Value? {
        guard await enter(network) else { return nil }
        defer { leave(network) }
        return try await job()
    }

    private func enter(_ network: ClientNetwork) async -> Bool {
        await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            // The entry and the continuation are stored under one lock: else the turn could come between them.
            let (isIn, refused) = state.withLock { state -> (Bool?, CheckedContinuation<Bool, Never>?) in
                switch state.turns.enter(network) {
                case .goesOn: return (true, nil)
                case .full: return (false, nil)
                case .waits(let ticket):
                    state.waiting[ticket] = continuation
                    return (nil, nil)
                case .replaces(let ticket, let other):
                    state.waiting[ticket] = continuation
                    return (nil, state.waiting.removeValue(forKey: other))
                }
            }
            refused?.resume(returning: false)
            if let isIn { continuation.resume(returning: isIn) }
        }
    }

    private func leave(_ network: ClientNetwork) {
        let next = state.withLock { state in
            state.turns.leave(network).flatMap { ticket in state.waiting.removeValue(forKey: ticket) }
        }
        next?.resume(returning: true)
    }
}
