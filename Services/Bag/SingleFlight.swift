import ServiceKit
import Synchronization

/// Work with a name that runs once at a time, however many wait for its end, and that goes on when nobody waits any
/// more, until the service stops.
final class SingleFlight<Outcome: Sendable>: Sendable {
    /// Nil when it was cancelled before its end.
    typealias Work = @Sendable () async -> Outcome?
    private typealias Waiter = CheckedContinuation<Outcome?, Never>

    private struct Running {
        /// The tasks that wait, by name and ticket. A name is in here while its work runs.
        var waiters: [String: [Int: Waiter]] = [:]
        var lastTicket = 0
    }

    private let running = Mutex(Running())
    private let background: BackgroundGroup

    init(background: BackgroundGroup) { self.background = background }

    /// Joins the work of this name, or sets it going, and waits for its end. Nil when it has not ended within `limit`;
    /// it goes on then, here or in the process that comes after this one.
    func outcome(of name: String, within limit: Duration, _ work: @escaping Work) async -> Outcome? {
        // Ended with the wait, or thousands of them would sleep in a busy shop.
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

    /// Sets the work going unless it runs.
    func begin(_ name: String, _ work: @escaping Work) {
        let isNew = running.withLock { running in
            guard running.waiters[name] == nil else { return false }
            running.waiters[name] = [:]
            return true
        }
        if isNew { start(name, work) }
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
