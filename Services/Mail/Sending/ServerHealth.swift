import ParseProtocol

/// The mail server's health: how many mails may be under way, by what the server did last. After a problem that any
/// mail would meet (no connection, our password is wrong) nothing is sent for a while, then one mail alone: a thousand
/// mails with a wrong password would get the account locked.
package struct ServerHealth: Sendable {
    private enum State {
        case works
        case fails(outages: Int, until: Timestamp)
    }

    private var state = State.works
    private let first: Duration
    /// Short, because every mail waits for it.
    private let longest: Duration

    package init(first: Duration, longest: Duration = .seconds(300)) {
        self.first = first
        self.longest = max(first, longest)
    }

    /// Mails that may be under way now, of at most `connections`.
    package func slots(of connections: Int, at now: Timestamp) -> Int {
        switch state {
        case .works: connections
        case .fails(_, let until): now < until ? 0 : 1
        }
    }

    /// The time at which sending goes on; nil when it need not wait.
    package var resumesAt: Timestamp? {
        if case .fails(_, let until) = state { until } else { nil }
    }

    /// The server took or refused a mail by itself.
    package mutating func worked() { state = .works }

    /// A problem that any mail would have met.
    /// - Parameter asked: how long the server asks us to wait.
    /// - Returns: how long all mails wait, and whether this is news: mails that were under way together fail together.
    package mutating func failed(at now: Timestamp, asked: Duration? = nil) -> (pause: Duration, isNews: Bool) {
        var outages = 0
        if case .fails(let count, let until) = state {
            if now < until { return (.milliseconds(until.milliseconds - now.milliseconds), false) }
            outages = count
        }
        outages += 1
        let pause = asked ?? min(first * (1 << min(outages - 1, 20)), longest)
        state = .fails(outages: outages, until: now.advanced(by: pause))
        return (pause, true)
    }
}
