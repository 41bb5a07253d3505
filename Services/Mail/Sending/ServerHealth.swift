import ParseProtocol
import ServiceKit

/// The mail server's health: limits concurrent mails by the server's latest answers. After a problem that affects every
/// mail (no connection, a wrong password) sending pauses, then continues with a single mail: a thousand mails with a
/// wrong password would lock the account.
package struct ServerHealth: Sendable {
    private enum State {
        case works
        case fails(outages: Int, outagePause: Duration, until: Timestamp)
    }

    private var state = State.works
    /// Short, because every mail waits for it.
    private let backoff: Backoff

    package init(first: Duration, longest: Duration = .seconds(300)) {
        backoff = Backoff(first: first, longest: longest)
    }

    /// Mails that may be sent concurrently now, at most `connections`.
    package func slots(of connections: Int, at now: Timestamp) -> Int {
        switch state {
        case .works: connections
        case .fails: isWaiting(at: now) ? 0 : 1
        }
    }

    /// If the end is further away than the pause, the clock was set back, and the pause counts as over.
    private func isWaiting(at now: Timestamp) -> Bool {
        guard case .fails(_, let pause, let until) = state else { return false }
        return now < until && until <= now.advanced(by: pause)
    }

    /// When sending resumes; nil when it is not paused.
    package func resumesAt(from now: Timestamp) -> Timestamp? {
        if case .fails(_, _, let until) = state, isWaiting(at: now) { until } else { nil }
    }

    /// Called when the server accepted a mail, or refused only that mail.
    package mutating func recordSuccess() { state = .works }

    /// Called after a problem that affects every mail.
    /// - Parameter retryAfter: the delay that the server asks for.
    /// - Returns: how long all mails wait, and whether the problem is new: concurrent mails fail together.
    package mutating func recordFailure(
        at now: Timestamp, retryAfter: Duration? = nil
    ) -> (pause: Duration, shouldReport: Bool) {
        var outages = 0
        if case .fails(let count, _, let until) = state {
            if isWaiting(at: now) { return (.milliseconds(until.milliseconds - now.milliseconds), false) }
            outages = count
        }
        outages += 1
        let pause = retryAfter ?? backoff.pause(afterFailures: outages)
        state = .fails(outages: outages, outagePause: pause, until: now.advanced(by: pause))
        return (pause, true)
    }
}
