import MessageBus
import Messages
import NIOCore
import ParseProtocol

/// The hub's calls of cloud code triggers: for connections, for new subscriptions and for events.
extension LiveHub {
    // MARK: Connections

    /// Whether connections need no cloud code.
    var needsNoConnectTrigger: Bool { triggers.has(.beforeConnect, Hook.connectClass) == false }

    /// Runs `beforeConnect`, if there is one.
    /// - Throws: its refusal; `.serviceUnavailable` (2) while it cannot be called.
    func mayConnect(
        _ admitted: Principal, _ credentials: Credentials, from address: SocketAddress?, in context: CallContext
    ) async throws(ParseError) {
        guard try await triggers.isThere(.beforeConnect, Hook.connectClass, in: context) else { return }
        var principal = admitted
        do throws(ParseError) {
            principal = try await access.signIn(admitted, credentials, in: context)
        } catch {
            // A client with an expired session counts as a guest, as in Parse Server. Its subscriptions end with 209.
            guard error.code == .invalidSessionToken else { throw error }
        }
        var subject = subject(principal, credentials, address)
        // Counts the other clients.
        subject.clients = max(subject.clients - 1, 0)
        try await triggers.beforeConnect(subject, in: context)
    }

    private func subject(
        _ principal: Principal, _ credentials: Credentials, _ address: SocketAddress?
    ) -> LiveTriggers.Subject {
        .init(
            principal: principal, sessionToken: credentials.sessionToken, address: address,
            clients: connectionCount, subscriptions: subscriptionCount)
    }

    // MARK: Subscriptions

    /// Runs `beforeSubscribe` for a query, if there is one and it has not run yet.
    /// - Parameter check: asks the service whether the client may subscribe to its query. The code gets no queries that
    ///   are refused anyway.
    /// - Throws: its refusal; `.requestLimitExceeded` (155) when too many subscriptions of the connection wait for it;
    ///   `.serviceUnavailable` (2) while it cannot be called.
    func decide(
        _ subscription: LiveSubscription, _ principal: Principal, in context: CallContext,
        check: () async throws(ParseError) -> Void
    ) async throws(ParseError) {
        guard !subscription.isDecided else { return }
        guard try await triggers.isThere(.beforeSubscribe, subscription.className, in: context) else {
            return subscription.decide(subscription.query, byCode: false)
        }
        let sink = ObjectIdentifier(subscription.sink)
        guard deciding.withLock({ $0.enter(sink, max: access.settings.subscriptionsPerConnection) }) else {
            throw ParseError(.requestLimitExceeded, "Too many subscriptions wait for beforeSubscribe.")
        }
        defer { deciding.withLock { $0.leave(sink) } }
        try await check()
        let subject = subject(principal, subscription.credentials, subscription.address)
        let decided = try await triggers.beforeSubscribe(
            subscription.query, requestId: subscription.requestId, subject, in: context)
        subscription.decide(decided, byCode: true)
    }

    // MARK: Events

    /// Delivers messages in order: events of classes with `afterLiveQueryEvent` go through cloud code, all others go to
    /// their connections at once.
    func hand(_ deliveries: SubscriptionRegistry.Deliveries) {
        guard !deliveries.isEmpty else { return }
        let asks = triggers.askers
        perform { $0.take(deliveries, asks: asks) }
    }

    private func perform(_ work: (inout LiveTriggerQueue) -> LiveTriggerQueue.Step) {
        let (calls, over) = turns.withLock { turns in
            let step = work(&turns)
            // Within the lock, so that events keep their order.
            Self.deliver(step.deliveries)
            return (step.calls, step.over)
        }
        // The caller may hold the register's lock.
        if !over.isEmpty { Task.detached { self.end(over) } }
        for call in calls {
            Task.detached {
                let outcome = await self.outcome(of: call)
                self.perform { $0.finish(call.number, outcome) }
            }
        }
    }

    /// Delivers messages to their connections, adjacent ones of a connection together.
    private static func deliver(_ deliveries: SubscriptionRegistry.Deliveries) {
        var start = deliveries.startIndex
        while start < deliveries.endIndex {
            let sink = deliveries[start].subscription.sink
            let end = deliveries[start...].firstIndex { $0.subscription.sink !== sink } ?? deliveries.endIndex
            sink.deliver(deliveries[start..<end])
            start = end
        }
    }

    /// The outcome of an event. When the code cannot be called, the subscription ends and the client reconnects: no
    /// event is sent without the code's check.
    private func outcome(of call: LiveTriggerQueue.Call) async -> LiveTriggerQueue.Outcome {
        let (subscription, context) = (call.subscription, CallContext())
        let subject: LiveTriggers.Subject
        do throws(ParseError) {
            guard try await triggers.isThere(.afterEvent, subscription.className, in: context) else {
                return .deliver(call.event)
            }
            let principal = try await access.signIn(subscription.admitted, subscription.credentials, in: context)
            subject = self.subject(principal, subscription.credentials, nil)
        } catch {
            return .ended(LiveProblem(error, requestId: nil))
        }
        do throws(ParseError) {
            return try await triggers.afterEvent(
                call.event, subscription.className, keys: subscription.query.keys, subject, in: context)
        } catch {
            let problem = LiveProblem(error, requestId: nil)
            return problem.reconnects ? .ended(problem) : .refused(problem)
        }
    }
}

/// Per connection, the subscriptions that wait for `beforeSubscribe`.
struct PendingSubscribeCounts {
    private var counts: [ObjectIdentifier: Int] = [:]

    /// - Returns: whether the limit allows one more.
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
