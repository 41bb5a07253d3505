import MessageBus
import Messages
import NIOCore
import ParseProtocol

/// The triggers of cloud code on the hub's ways: of connections, of subscriptions that begin, and of what is told.
extension LiveHub {
    // MARK: Connections

    /// Whether connections pass without cloud code.
    var areConnectionsFree: Bool { triggers.has(.beforeConnect, Hook.connectClass) == false }

    /// Asks `beforeConnect`, where there is one.
    /// - Throws: what it refuses; `.serviceUnavailable` (2) while nobody can ask it.
    func mayConnect(
        _ admitted: Principal, _ credentials: Credentials, from address: SocketAddress?
    ) async throws(ParseError) {
        guard try await triggers.isThere(.beforeConnect, Hook.connectClass) else { return }
        var principal = admitted
        do throws(ParseError) {
            principal = try await access.signIn(admitted, credentials)
        } catch {
            // Whoever names a session that is over is nobody, as for Parse Server. His subscriptions end with 209.
            guard error.code == .invalidSessionToken else { throw error }
        }
        try await triggers.beforeConnect(subject(principal, credentials, address))
    }

    private func subject(
        _ principal: Principal, _ credentials: Credentials, _ address: SocketAddress?
    ) -> LiveTriggers.Subject {
        .init(
            principal: principal, sessionToken: credentials.sessionToken, address: address,
            clients: connectionCount, subscriptions: subscriptionCount)
    }

    // MARK: Subscriptions

    /// Has `beforeSubscribe` decide about a query, where there is one and it has not yet.
    /// - Parameter check: asks the service whether the client may subscribe to what it asked for. The code hears of
    ///   nothing that is refused anyway.
    /// - Throws: what it refuses; `.requestLimitExceeded` (155) when too many of the connection wait for it;
    ///   `.serviceUnavailable` (2) while nobody can ask it.
    func decide(
        _ subscription: LiveSubscription, _ principal: Principal, check: () async throws(ParseError) -> Void
    ) async throws(ParseError) {
        guard !subscription.isDecided else { return }
        guard try await triggers.isThere(.beforeSubscribe, subscription.className) else {
            return subscription.decide(subscription.wish, byCode: false)
        }
        let sink = ObjectIdentifier(subscription.sink)
        guard deciding.withLock({ $0.enter(sink, max: access.settings.subscriptionsPerConnection) }) else {
            throw ParseError(.requestLimitExceeded, "Too many subscriptions wait for beforeSubscribe.")
        }
        defer { deciding.withLock { $0.leave(sink) } }
        try await check()
        let subject = subject(principal, subscription.credentials, subscription.address)
        subscription.decide(try await triggers.beforeSubscribe(subscription.wish, subject), byCode: true)
    }

    // MARK: Events

    /// Hands connections what they are told, in its order: past cloud code where it has something to say of the events
    /// of a class, and straight on where it has not.
    func hand(_ told: LiveRegister.Told) {
        guard !told.isEmpty else { return }
        let asks = triggers.askers
        perform { $0.take(told, asks: asks) }
    }

    private func perform(_ work: (inout LiveTurns) -> LiveTurns.Step) {
        let (calls, over) = turns.withLock { turns in
            let step = work(&turns)
            // Within the lock, so that no event overtakes another.
            Self.deliver(step.told)
            return (step.calls, step.over)
        }
        // The caller may hold the register's lock.
        if !over.isEmpty { Task.detached { self.end(over) } }
        for call in calls {
            // Not on the account of whoever made the change.
            Task.detached {
                let outcome = await self.outcome(of: call)
                self.perform { $0.finish(call.number, outcome) }
            }
        }
    }

    /// Hands each connection its messages, those that stand together at once.
    private static func deliver(_ told: LiveRegister.Told) {
        var start = told.startIndex
        while start < told.endIndex {
            let sink = told[start].subscription.sink
            let end = told[start...].firstIndex { $0.subscription.sink !== sink } ?? told.endIndex
            sink.deliver(told[start..<end])
            start = end
        }
    }

    /// What becomes of an event. Where the code cannot be asked the subscription is over and the client comes back:
    /// nothing leaves that the code has not seen.
    private func outcome(of call: LiveTurns.Call) async -> LiveTurns.Outcome {
        let subscription = call.subscription
        let subject: LiveTriggers.Subject
        do throws(ParseError) {
            guard try await triggers.isThere(.afterEvent, subscription.className) else { return .told(call.event) }
            let principal = try await access.signIn(subscription.admitted, subscription.credentials)
            subject = self.subject(principal, subscription.credentials, nil)
        } catch {
            return .ended(LiveProblem(error, requestId: nil))
        }
        do throws(ParseError) {
            return try await triggers.afterEvent(
                call.event, subscription.className, keys: subscription.wish.keys, subject)
        } catch {
            let problem = LiveProblem(error, requestId: nil)
            return problem.reconnects ? .ended(problem) : .refused(problem)
        }
    }
}

/// The subscriptions of each connection that wait for `beforeSubscribe`.
struct LiveDeciding {
    private var counts: [ObjectIdentifier: Int] = [:]

    /// - Returns: whether there is a place for one more.
    mutating func enter(_ sink: ObjectIdentifier, max: Int) -> Bool {
        guard counts[sink, default: 0] < max else { return false }
        counts[sink, default: 0] += 1
        return true
    }

    mutating func leave(_ sink: ObjectIdentifier) {
        let left = counts[sink, default: 1] - 1
        counts[sink] = left > 0 ? left : nil
    }
}
