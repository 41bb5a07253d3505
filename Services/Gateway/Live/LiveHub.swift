import Logging
import MessageBus
import Messages
import ParseProtocol
import ProcessKit
import Synchronization

/// The gateway's end of live queries: it asks services for what is new and hands it to the connections that wait for
/// it.
///
/// Rights are those of the moment. When `users` says that sessions have to be looked up again, the broker tells the hub
/// before the reply that carried it goes anywhere: what is written by somebody who knows of it is matched with their
/// new rights or not at all.
final class LiveHub: ProcessPart {
    let access: LiveAccess
    let triggers: LiveTriggers
    let backlog = LiveBacklog()
    /// What waits for cloud code. Its lock is taken within that of the register, never around it.
    let turns: Mutex<LiveTurns>
    let deciding = Mutex(LiveDeciding())
    private let broker: Broker
    private let links: FileLinks
    private let logger: Logger
    /// This gateway's name in the suite.
    private let place: String
    /// Names this process to services.
    private let gateway = UInt64.random(in: 1 ... .max)
    private let register = Mutex(LiveRegister())
    private let holds = Mutex(LiveHolds())
    private let connections = Atomic<Int>(0)
    private let isStopping = Atomic<Bool>(false)

    /// The longest wait for news. A service that has none answers then, so that it knows that the gateway is there.
    private static let waitMilliseconds: UInt32 = 20_000
    /// Between two questions after one that failed.
    private static let pause = Duration.milliseconds(100)
    /// Sessions also end by time, and when somebody edits a database by hand.
    private static let sessionsEvery = Duration.seconds(300)
    /// Subscriptions that are renewed at the same time, after a change of roles.
    private static let renewalsAtOnce = 32

    init(access: LiveAccess, triggers: LiveTriggers, broker: Broker, links: FileLinks, place: String, logger: Logger) {
        self.access = access
        self.triggers = triggers
        turns = Mutex(LiveTurns(bytesMax: access.settings.queueBytesMax, backlog: backlog))
        self.broker = broker
        self.links = links
        self.place = place
        self.logger = logger
    }

    // MARK: Connections

    /// - Returns: whether there is a place for one more; `leave` gives it back.
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

    /// Begins a subscription. Its sink is told when it has begun, before the first event.
    /// - Throws: as a find of the query would.
    func subscribe(_ subscription: LiveSubscription, after cursor: LiveCursor?) async throws(ParseError) {
        try await begin(subscription, after: cursor, replacing: 0)
        // Whoever came between the last look at the connections and the end of the gateway would not hear of it.
        if isStopping.load(ordering: .acquiring) { subscription.sink.stop() }
    }

    /// - Parameter former: the number whose place it takes; 0 for a subscription that the client has just asked for.
    private func begin(
        _ subscription: LiveSubscription, after cursor: LiveCursor?, replacing former: UInt64
    ) async throws(ParseError) {
        while true {
            let number = register.withLock { $0.begin(subscription, after: cursor, replacing: former) }
            do throws(ParseError) {
                guard try await hasBegun(subscription, number, after: cursor, replacing: former) else { continue }
                if former != 0 { forget([(subscription.service, former)]) }
                return
            } catch {
                register.withLock { _ = $0.end(number) }
                // Whatever the register knew: the service may have begun it and the answer be lost.
                forget([(subscription.service, number)])
                throw error
            }
        }
    }

    /// - Returns: false when it has to be asked again, because the rights may have changed meanwhile.
    private func hasBegun(
        _ subscription: LiveSubscription, _ number: UInt64, after cursor: LiveCursor?, replacing former: UInt64
    ) async throws(ParseError) -> Bool {
        // Whoever ended it before it was there left a sign.
        guard !subscription.isOver else {
            forget(register.withLock { $0.end(subscription) }.map { (subscription.service, $0) })
            return true
        }
        let principal = try await access.signIn(subscription.admitted, subscription.credentials)
        if former == 0 { try access.count(subscription.className, principal, from: subscription.address) }
        try await access.check(subscription.className)
        guard register.withLock({ $0.identify(number, principal.userID) }) else {
            // Ended, or asked for again.
            return !register.withLock { $0.end(number) }
        }
        try await decide(subscription, principal) { () async throws(ParseError) in
            _ = try await ask(subscription, number, principal, after: nil, replacing: 0, checks: true)
        }
        startAsking(subscription.service)
        let answer = try await ask(subscription, number, principal, after: cursor, replacing: former)
        let (isAnswered, isWanted): (Bool, Bool) = register.withLock { register in
            switch register.began(number, answer) {
            case .again: return (false, false)
            case .told(let told):
                // Within the lock, so that no event overtakes it.
                hand(told)
                return (true, register.has(number))
            }
        }
        // Ended while the service was asked, it may have been forgotten there before it began.
        if !isWanted { forget([(subscription.service, number)]) }
        return isAnswered
    }

    private func ask(
        _ subscription: LiveSubscription, _ number: UInt64, _ principal: Principal, after cursor: LiveCursor?,
        replacing former: UInt64, checks: Bool = false
    ) async throws(ParseError) -> LiveSubscribed {
        let wish = subscription.wish
        let message = LiveSubscribe.with {
            $0.gateway = gateway
            $0.place = place
            $0.subscription = number
            $0.className = wish.className
            $0.keys = wish.keys
            $0.watch = wish.watch
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
            request.documents = [wish.condition]
            // Only the writer knows what is committed. Repeated by nobody: a second answer would be another position.
            request.writes = true
            return try LiveSubscribed(serializedBytes: try await broker.call(request).body)
        } catch let failure as BusFailure {
            throw ParseError(failure)
        } catch {
            throw .internalError
        }
    }

    /// Ends subscriptions; nothing more is told of them.
    func end(_ subscriptions: [LiveSubscription]) {
        guard !subscriptions.isEmpty else { return }
        for subscription in subscriptions { subscription.end() }
        let numbers = register.withLock { register in
            subscriptions.flatMap { subscription in
                register.end(subscription).map { (service: subscription.service, number: $0) }
            }
        }
        // What waits for cloud code is not told any more.
        turns.withLock { turns in subscriptions.forEach { turns.forget($0) } }
        forget(numbers)
    }

    /// Tells services which numbers are over. What gets lost is told again with the next news of one.
    private func forget(_ numbers: [(service: String, number: UInt64)]) {
        for (service, numbers) in Dictionary(grouping: numbers, by: \.service) {
            let message = LiveUnsubscribe.with {
                $0.gateway = gateway
                $0.subscriptions = numbers.map(\.number)
            }
            guard var request = try? BusRequest(ObjectCalls(of: service).liveUnsubscribe, message) else { continue }
            request.writes = true
            broker.call(request) { _ in }
        }
    }

    // MARK: Rights

    /// On the broker's thread, before the reply that carried it goes anywhere.
    /// - Parameters:
    ///   - isGap: changes may have been missed that somebody knows of: what was decided since must not be told.
    ///   - done: called once, when services hold the subscriptions, or nothing more is told of them.
    func forget(_ forget: Forget, isGap: Bool = false, _ done: @escaping @Sendable () -> Void = {}) {
        if isGap { end(register.withLock { $0.withSessions(in: forget) }, LiveRegister.reconnect) }
        let renewals = register.withLock { $0.forget(forget) }
        for (service, renewals) in Dictionary(grouping: renewals, by: \.subscription.service) {
            hold(renewals, in: service)
        }
        // Also for those under way that an earlier forgetting began, perhaps of the same sessions.
        if holds.withLock({ $0.wait(done) }) { done() }
        if !renewals.isEmpty { renew(renewals) }
    }

    private func hold(_ renewals: [LiveRegister.Renewal], in service: String) {
        let message = LiveHold.with {
            $0.gateway = gateway
            $0.subscriptions = renewals.map(\.replaces)
        }
        guard var request = try? BusRequest(ObjectCalls(of: service).liveHold, message) else { return }
        let number = holds.withLock { $0.begin() }
        // It goes the way of writes, before those that somebody sends who knows of the change.
        request.writes = true
        broker.call(request) { [weak self] result in
            // Nobody knows what it still tells under the old rights.
            if case .failure = result { self?.end(renewals.map(\.subscription), LiveRegister.reconnect) }
            for done in self?.holds.withLock({ $0.end(number) }) ?? [] { done() }
        }
    }

    private func end(_ subscriptions: [LiveSubscription], _ problem: LiveProblem) {
        end(subscriptions)
        for subscription in subscriptions { subscription.sink.deliver([(subscription, .ended(problem))]) }
    }

    /// Looks up the sessions, and goes on where they still are.
    private func renew(_ renewals: [LiveRegister.Renewal]) {
        Task.detached {
            await withTaskGroup(of: Void.self) { group in
                for (count, renewal) in renewals.enumerated() {
                    if count >= Self.renewalsAtOnce { await group.next() }
                    group.addTask { await self.renew(renewal) }
                }
            }
        }
    }

    private func renew(_ renewal: LiveRegister.Renewal) async {
        do throws(ParseError) {
            try await begin(renewal.subscription, after: nil, replacing: renewal.replaces)
        } catch {
            end(renewal.subscription, error)
        }
    }

    private func end(_ subscription: LiveSubscription, _ error: ParseError) {
        end([subscription])
        subscription.sink.deliver([(subscription, .ended(LiveProblem(error, requestId: subscription.requestId)))])
    }

    // MARK: News

    private func startAsking(_ service: String) {
        guard register.withLock({ $0.startsAsking(service) }) else { return }
        // Not on the account of the request that happens to be the first.
        Task.detached { await self.askForNews(of: service) }
    }

    private func askForNews(of service: String) async {
        while let question = register.withLock({ $0.question(service) }) {
            let message = LiveNext.with {
                $0.gateway = gateway
                $0.place = place
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
                // A writer that starts anew is asked for its feed, and then it shows whether something was missed.
                logger.debug("live.news.failed", metadata: ["bus.service": "\(service)", "error": "\(error)"])
                try? await Task.sleep(for: Self.pause)
            }
        }
    }

    private func take(_ news: LiveNews, _ documents: [[UInt8]], of service: String) async {
        let linked = documents.map(links.linked)
        let standing = news.notices.isEmpty ? { _ in .open } : await access.standing()
        let strangers = register.withLock { register in
            // After the news have come: what is known of rights at this moment counts for all that they tell.
            let trust = LiveRegister.Trust(sessions: access.leases.sessions.isValid, classes: standing != nil)
            let (told, strangers) = register.take(news, linked, of: service, trust: trust) {
                standing?($0) ?? .closed
            }
            // Within the lock, so that nothing overtakes anything.
            hand(told)
            return strangers
        }
        forget(strangers.map { (service, $0) })
    }

    // MARK: Life

    /// Looks up sessions from time to time until the gateway stops, and then tells every connection.
    func run(until end: ProcessEnd) async throws {
        while !end.isAskedFor, !Task.isCancelled {
            await end.cancels {
                try await Task.sleep(for: Self.sessionsEvery)
                await self.lookUpSessions()
            }
        }
        isStopping.store(true, ordering: .releasing)
        for sink in register.withLock({ $0.sinks }) { sink.stop() }
    }

    private func lookUpSessions() async {
        for subscription in register.withLock({ $0.withSessions }) where !Task.isCancelled {
            do throws(ParseError) {
                _ = try await access.signIn(subscription.admitted, subscription.credentials)
            } catch {
                if error.code == .invalidSessionToken { end(subscription, error) }
            }
        }
    }
}
