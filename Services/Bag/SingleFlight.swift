import ServiceKit
import Synchronization

/// Runs named work once at a time, for any number of waiting callers. The work continues when no caller waits any more,
/// until the service stops.
final class SingleFlight<Outcome: Sendable>: Sendable {
    /// Nil when it was cancelled before its end.
    typealias Work = @Sendable () async -> Outcome?
    private typealias Waiter = CheckedContinuation<Outcome?, Never>

    private struct Running {
        /// The waiting tasks, by name and ticket. A name is present while its work runs.
        var waiters: [String: [Int: Waiter]] = [:]
        var lastTicket = 0
    }

    private let running = Mutex(Running())
    private let background: BackgroundGroup

    init(background: BackgroundGroup) { self.background = background }

    /// Joins or starts the work of this name and waits for its end. Nil when it has not ended within `limit`; the work
    /// then continues, here or in the next process.
    func outcome(of name: String, within limit: Duration, _ work: @escaping Work) async -> Outcome? {
        // Cancelled when the wait ends. Otherwise thousands of timers would sleep in a busy shop.
        var timer: Task<Void, Never>?
        defer { timer?.cancel() }
        return await withCheckedContinuation { waiter in
            let ticket = join(name, waiter, work)
            timer = Task { [self] in
                guard (try? await Task.sleep(for: limit)) != nil else { return }
                running.withLock { $0.waiters[name]?.removeValue(forKey: ticket) }?.resume(returning: nil)
            }
        }
    }

    /// Starts the work unless it already runs.
    /// - Returns: whether it was started.
    @discardableResult func begin(_ name: String, _ work: @escaping Work) -> Bool {
        let isNew = running.withLock { running in
            guard running.waiters[name] == nil else { return false }
            running.waiters[name] = [:]
            return true
        }
        if isNew { start(name, work) }
        return isNew
    }

    private func join(_ name: String, _ waiter: Waiter, _ work: @escaping Work) -> Int {
        let (ticket, isNew) = running.withLock { running in
            running.lastTicket += 1
            let isNew = running.waiters[name] == nil
            running.waiters[name, default: [:]][running.lastTicket] = waiter
            return (running.lastTicket, isNew)
        }
        if isNew { start(name, work) }
        return ticket
    }

    private func start(_ name: String, _ work: @escaping Work) {
        let hasBegun = background.begin { [self] in end(name, await work()) }
        if !hasBegun { end(name, nil) }
    }

    private func end(_ name: String, _ outcome: Outcome?) {
        for waiter in running.withLock({ $0.waiters.removeValue(forKey: name) })?.values ?? [:].values {
            waiter.resume(returning: outcome)
        }
    }
}
