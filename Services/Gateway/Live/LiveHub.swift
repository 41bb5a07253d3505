import Logging
import MessageBus
import Messages
import ParseProtocol
import ProcessKit
import Synchronization

/// The gateway's side of live queries: it polls services for events and delivers them to the subscribed connections.
///
/// Rights are checked at the time of each event. When `users` invalidates sessions, the broker informs the hub before
/// it passes on the reply that carried the invalidation. A later write, by a client that saw the change, is matched
/// with the new rights or not at all.
final class LiveHub: ProcessPart {
    let access: LiveAccess
    let triggers: LiveTriggers
    let decoder: LiveDecoder
    let backlog = LiveBacklog()
    /// Events that wait for cloud code. Lock order: the register's lock first, then this one.
    let turns: Mutex<LiveTriggerQueue>
    let deciding = Mutex(PendingSubscribeCounts())
    private let broker: Broker
    private let links: FileLinks
    private let logger: Logger
    /// This gateway's name in the suite.
    private let replica: String
    /// Identifies this process to services.
    private let gateway = UInt64.random(in: 1 ... .max)
    private let register = Mutex(SubscriptionRegistry())
    private let holds = Mutex(PendingHolds())
    private let unsubscriptions = Mutex(LiveUnsubscriptions())
    private let connections = Atomic<Int>(0)
    private let isStopping = Atomic<Bool>(false)

    /// The longest poll. A service without events replies after this time, so the poll also shows that the gateway is
    /// alive.
    private static let waitMilliseconds: UInt32 = 20_000
    /// The pause after a failed poll.
    private static let pause = Duration.milliseconds(100)
    /// Sessions also expire or are edited in the database, so the hub resolves them again at this interval.
    private static let sessionsEvery = Duration.seconds(300)
    /// Subscriptions that are renewed concurrently after a change of roles.
    private static let renewalsAtOnce = 32

    init(
        access: LiveAccess, triggers: LiveTriggers, decoder: LiveDecoder, broker: Broker, links: FileLinks,
        replica: String, logger: Logger
    ) {
        self.access = access
        self.triggers = triggers
        self.decoder = decoder
        turns = Mutex(LiveTriggerQueue(bytesMax: access.settings.queueBytesMax, backlog: backlog))
        self.broker = broker
        self.links = links
        self.replica = replica
        self.logger = logger
    }

    // MARK: Connections

    /// - Returns: whether a connection slot was free; `leave` releases it.
    func enter() -> Bool {
        let now = connections.wrappingAdd(1, ordering: .relaxed).newValue
        guard access.settings.isOn, now <= access.settings.connectionsMax, !isStopping.load(ordering: .acquiring) else {
            leave()
            return false
        }
        return true
    }

    func leave() { connections.wrappingSubtract(1, ordering: .relaxed) }

    var connectionCount: Int { connections.load(ordering: .relaxed) }
    var subscriptionCount: Int { register.withLock { $0.count } }

    // MARK: Subscriptions

    /// Begins a subscription. Its sink gets the confirmation before the first event.
    /// - Parameter context: of the request that subscribes.
    /// - Throws: the errors of a find with the query.
    func subscribe(
        _ subscription: LiveSubscription, after cursor: LiveCursor?, in context: CallContext
    ) async throws(ParseError) {
        try await begin(subscription, after: cursor, replacing: 0, in: context)
        // A connection that came after the hub stopped all others would not be stopped.
        if isStopping.load(ordering: .acquiring) { subscription.sink.stop() }
    }

    /// - Parameter former: the number that this subscription replaces; 0 for a new subscription.
    private func begin(
        _ subscription: LiveSubscription, after cursor: LiveCursor?, replacing former: UInt64, in context: CallContext
    ) async throws(ParseError) {
        while true {
            let number = register.withLock { $0.begin(subscription, after: cursor, replacing: former) }
            do throws(ParseError) {
                let hasBegun = try await hasBegun(
                    subscription, number, after: cursor, replacing: former, in: context)
                guard hasBegun else { continue }
                if former != 0 { forget([(subscription.service, former)]) }
                return
            } catch {
                register.withLock { _ = $0.end(number) }
                // The service may have begun the subscription although its reply was lost.
                forget([(subscription.service, number)])
                throw error
            }
        }
    }

    /// - Returns: false when the rights may have changed in the meantime, so the service has to be asked again.
    private func hasBegun(
        _ subscription: LiveSubscription, _ number: UInt64, after cursor: LiveCursor?, replacing former: UInt64,
        in context: CallContext
    ) async throws(ParseError) -> Bool {
        // The client may have ended the subscription before it was registered; `isOver` records that.
        guard !subscription.isOver else {
            forget(register.withLock { $0.end(subscription) }.map { (subscription.service, $0) })
            return true
        }
        let principal = try await access.signIn(subscription.admitted, subscription.credentials, in: context)
        if former == 0 { try access.count(subscription.className, principal, from: subscription.address) }
        try await access.check(subscription.className, in: context)
        guard register.withLock({ $0.identify(number, principal.userID) }) else {
            // The subscription has ended, or has to be requested again.
            return !register.withLock { $0.end(number) }
        }
        try await decide(subscription, principal, in: context) { () async throws(ParseError) in
            _ = try await ask(subscription, number, principal, after: nil, replacing: 0, checks: true, in: context)
        }
        startAsking(subscription.service)
        let answer = try await ask(subscription, number, principal, after: cursor, replacing: former, in: context)
        let (isAnswered, isWanted): (Bool, Bool) = register.withLock { register in
            switch register.began(number, answer) {
            case .again: return (false, false)
            case .deliver(let deliveries):
                // Within the lock, so that no event overtakes the confirmation.
                hand(deliveries)
                return (true, register.has(number))
            }
        }
        // The subscription ended while the service was asked. The service may have handled the end before the
        // beginning.
        if !isWanted { forget([(subscription.service, number)]) }
        return isAnswered
    }

    private func ask(
        _ subscription: LiveSubscription, _ number: UInt64, _ principal: Principal, after cursor: LiveCursor?,
        replacing former: UInt64, checks: Bool = false, in context: CallContext
    ) async throws(ParseError) -> LiveSubscribed {
        let query = subscription.query
        let message = LiveSubscribe.with {
            $0.gateway = gateway
            $0.place = replica
            $0.subscription = number
            $0.className = query.className
            $0.keys = query.keys
            $0.watch = query.watch
            $0.resumes = cursor != nil
            $0.feed = cursor?.feed ?? 0
            $0.after = cursor?.position ?? 0
            $0.replaces = former
            $0.checks = checks
        }
        do {
            let call = ObjectCalls(of: subscription.service).liveSubscribe
            var request = try BusRequest(call, message, timeout: .seconds(10))
            request.principal = principal
            request.budget = context.budget
            request.documents = [query.condition]
            // Only the writer knows the committed changes. The request is not retried: a second reply would have
            // another position.
            request.writes = true
            return try LiveSubscribed(serializedBytes: try await broker.call(request).body)
        } catch let failure as BusFailure {
            throw ParseError(failure)
        } catch {
            throw .internalError
        }
    }

    /// Ends subscriptions; no further event is delivered to them.
    func end(_ subscriptions: [LiveSubscription]) {
        guard !subscriptions.isEmpty else { return }
        for subscription in subscriptions { subscription.end() }
        let numbers = register.withLock { register in
            subscriptions.flatMap { subscription in
                register.end(subscription).map { (service: subscription.service, number: $0) }
            }
        }
        // Drops the events that wait for cloud code.
        turns.withLock { turns in subscriptions.forEach { turns.forget($0) } }
        forget(numbers)
    }

    /// Sends ended numbers to their services. When the message is lost, services learn of them by the next poll.
    private func forget(_ numbers: [(service: String, number: UInt64)]) {
        for (service, numbers) in Dictionary(grouping: numbers, by: \.service) {
            unsubscribe(unsubscriptions.withLock { $0.add(numbers.map(\.number), of: service) }, from: service)
        }
    }

    private func unsubscribe(_ numbers: [UInt64]?, from service: String) {
        guard let numbers else { return }
        let message = LiveUnsubscribe.with {
            $0.gateway = gateway
            $0.subscriptions = numbers
        }
        guard var request = try? BusRequest(ObjectCalls(of: service).liveUnsubscribe, message) else {
            return unsubscribe(unsubscriptions.withLock { $0.answered(service) }, from: service)
        }
        request.writes = true
        broker.call(request) { [weak self] _ in
            guard let self else { return }
            unsubscribe(unsubscriptions.withLock { $0.answered(service) }, from: service)
        }
    }

    // MARK: Rights

    /// Handles an invalidation on the broker's thread, before the broker passes on the reply that carried it.
    /// - Parameters:
    ///   - isGap: changes that other clients know of may have been missed: events matched since then must not be
    ///     delivered.
    ///   - done: called once, when services hold the affected subscriptions, or these get no further events.
    func forget(_ forget: Forget, isGap: Bool = false, _ done: @escaping @Sendable () -> Void = {}) {
        if isGap { end(register.withLock { $0.withSessions(in: forget) }, SubscriptionRegistry.reconnect) }
        let renewals = register.withLock { $0.forget(forget) }
        for (service, renewals) in Dictionary(grouping: renewals, by: \.subscription.service) {
            hold(renewals, in: service)
        }
        // Waits also for the holds of an earlier invalidation, which may concern the same sessions.
        if holds.withLock({ $0.wait(done) }) { done() }
        if !renewals.isEmpty { renew(renewals) }
    }

    private func hold(_ renewals: [SubscriptionRegistry.Renewal], in service: String) {
        let message = LiveHold.with {
            $0.gateway = gateway
            $0.subscriptions = renewals.map(\.replaces)
        }
        guard var request = try? BusRequest(ObjectCalls(of: service).liveHold, message) else { return }
        let number = holds.withLock { $0.begin() }
        // Ordered before any write by a client that saw the change, because it takes the path of writes.
        request.writes = true
        broker.call(request) { [weak self] result in
            // The service may still match events under the old rights.
            if case .failure = result { self?.end(renewals.map(\.subscription), SubscriptionRegistry.reconnect) }
            for done in self?.holds.withLock({ $0.end(number) }) ?? [] { done() }
        }
    }

    private func end(_ subscriptions: [LiveSubscription], _ problem: LiveProblem) {
        end(subscriptions)
        for subscription in subscriptions { subscription.sink.deliver([(subscription, .ended(problem))]) }
    }

    /// Resolves the sessions again, and renews the subscriptions whose session is still valid.
    private func renew(_ renewals: [SubscriptionRegistry.Renewal]) {
        Task.detached {
            await withTaskGroup(of: Void.self) { group in
                for (count, renewal) in renewals.enumerated() {
                    if count >= Self.renewalsAtOnce { await group.next() }
                    group.addTask { await self.renew(renewal) }
                }
            }
        }
    }

    private func renew(_ renewal: SubscriptionRegistry.Renewal) async {
        do throws(ParseError) {
            try await begin(renewal.subscription, after: nil, replacing: renewal.replaces, in: CallContext())
        } catch {
            end(renewal.subscription, error)
        }
    }

    private func end(_ subscription: LiveSubscription, _ error: ParseError) {
        end([subscription])
        subscription.sink.deliver([(subscription, subscription.end(by: error))])
    }

    // MARK: Polling

    private func startAsking(_ service: String) {
        guard register.withLock({ $0.startsPolling(service) }) else { return }
        Task.detached { await self.askForNews(of: service) }
    }

    private func askForNews(of service: String) async {
        while let question = register.withLock({ $0.question(service) }) {
            let message = LiveNext.with {
                $0.gateway = gateway
                $0.place = replica
                $0.feed = question.feed
                $0.taken = question.taken
                $0.waitMs = Self.waitMilliseconds
            }
            do {
                let call = ObjectCalls(of: service).liveNext
                var request = try BusRequest(call, message, timeout: .milliseconds(Int(Self.waitMilliseconds) + 10_000))
                request.writes = true
                let reply = try await broker.call(request)
                await take(try LiveNews(serializedBytes: reply.body), reply.documents, of: service)
            } catch {
                // A restarted writer is polled for its feed, which shows whether events were missed.
                logger.debug("live.news.failed", metadata: ["bus.service": "\(service)", "error": "\(error)"])
                try? await Task.sleep(for: Self.pause)
            }
        }
    }

    private func take(_ news: LiveNews, _ documents: [[UInt8]], of service: String) async {
        let linked = documents.map(links.linked)
        let policy = news.notices.isEmpty ? { _ in .open } : await access.triggerPolicies()
        let strangers = register.withLock { register in
            // Checked after the poll: the rights that are valid now apply to all of its events.
            let trust = SubscriptionRegistry.Trust(sessions: access.leases.sessions.isValid, classes: policy != nil)
            let (deliveries, strangers) = register.take(news, linked, of: service, trust: trust) {
                policy?($0) ?? .closed
            }
            // Within the lock, so that events keep their order.
            hand(deliveries)
            return strangers
        }
        forget(strangers.map { (service, $0) })
    }

    // MARK: Lifecycle

    /// Resolves sessions periodically until the gateway stops, then stops every connection.
    func run(until end: ProcessEnd) async throws {
        while await !end.arrives(within: Self.sessionsEvery) {
            await end.cancels { await self.lookUpSessions() }
        }
        isStopping.store(true, ordering: .releasing)
        for sink in register.withLock({ $0.sinks }) { sink.stop() }
    }

    private func lookUpSessions() async {
        for subscription in register.withLock({ $0.withSessions }) where !Task.isCancelled {
            do throws(ParseError) {
                _ = try await access.signIn(subscription.admitted, subscription.credentials, in: CallContext())
            } catch {
                if error.code == .invalidSessionToken { end(subscription, error) }
            }
        }
    }
}
