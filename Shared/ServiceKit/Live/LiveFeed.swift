import Messages
import ObjectStore
import ParseProtocol

/// The live queries of a writer: the subscriptions, the new changes, and what each gateway has received. Pure except
/// for its clock; `LiveFeedThread` owns it.
///
/// Each gateway has its own subscriptions, numbers and notices, and its own name for the feed. Positions count the
/// watched changes for all gateways together, so that a client may reconnect through another gateway. A position is
/// valid while the feed's name is known. Another writer has other names, and so has a feed that had to drop changes. A
/// client that resumes under an unknown name gets `missed`, so no change is lost silently.
package final class LiveFeed {
    /// A validated request to subscribe.
    package struct SubscribeRequest: Sendable {
        package let message: LiveSubscribe
        package let query: LiveQuery
        package let caller: Caller
        package let client: Int
        /// Nil for an operator: operators have no limit per network.
        package let network: ClientNetwork?

        package init(
            _ message: LiveSubscribe, _ query: LiveQuery, _ caller: Caller, client: Int, network: ClientNetwork? = nil
        ) {
            self.message = message
            self.query = query
            self.caller = caller
            self.client = client
            self.network = network
        }
    }

    /// A class is still watched for this long after its last subscription, because clients reconnect.
    package static let lingerNanoseconds: Int64 = 120_000_000_000
    /// Limit of classes that are watched without a subscription: subscribing to many class names must not use unbounded
    /// memory.
    package static let lingeringMax = 256
    /// A gateway that has not asked for news for this long is considered gone.
    package static let silenceNanoseconds: Int64 = 60_000_000_000
    private let clock: () -> Int64
    private let makeFeed: () -> UInt64
    private let matcher: LiveMatcher
    private var window = LiveWindow()
    private var position: UInt64 = 0
    private var gateways = LiveGateways()
    /// The names of the feed under which positions of `window` were sent, the latest last.
    private var names: [UInt64] = []
    /// The times at which classes lost their last subscription.
    private var left: [String: Int64] = [:]
    /// Limit of remembered names. Each restarted gateway gets a new one.
    private static let namesMax = 64
    /// Subscriptions whose rights may have changed, with the position after which they get no notices.
    private var held: [UInt64: (position: UInt64, className: String, at: Int64)] = [:]
    /// The watched classes of which every later change is reported. A job of the writer has begun since the watching
    /// began, so that no running job still uses the earlier set of classes.
    private var settled: Set<String> = []
    /// Networks that have exhausted their budget of matching time, with the position up to which changes were matched
    /// for them.
    private var late: [ClientNetwork: UInt64] = [:]
    /// Nanoseconds of matching per turn of a late network; a single change may take longer.
    private static let turn: Int64 = 2_000_000

    /// - Parameters:
    ///   - clock: nanoseconds of a monotonic clock.
    ///   - processor: nanoseconds of processor time of this thread; nil to use `clock`.
    package init(
        clock: @escaping () -> Int64, processor: (() -> Int64)? = nil,
        makeFeed: @escaping () -> UInt64 = { .random(in: 1 ... .max) }
    ) {
        self.clock = clock
        self.makeFeed = makeFeed
        matcher = LiveMatcher(clock: clock, processor: processor)
    }

    /// The watched classes.
    package var classes: Set<String> { matcher.classNames.union(left.keys) }
    /// Whether a class is watched.
    package func watches(_ className: String) -> Bool { matcher.hasClass(className) || left[className] != nil }
    package var subscriptionCount: Int { matcher.count }

    // MARK: Subscriptions

    /// - Throws: `.inefficientQuery` (154) for a client that has exhausted its time, `.requestLimitExceeded` (155) for
    ///   too many subscriptions, `.invalidQuery` (102) for a condition that live queries do not support.
    /// - Returns: the reply, and whether every later change of the class is noticed. If not, the caller must run a job
    ///   on the writer before it replies.
    package func subscribe(_ request: SubscribeRequest) throws -> (answer: LiveSubscribed, isSettled: Bool) {
        meet(request.message.gateway, at: request.message.place)
        // A replacement of an existing subscription is always allowed.
        if request.message.replaces == 0 { try matcher.checkBudget(of: request.client) }
        // A replay needs matching time at once.
        if request.message.resumes, let network = request.network, matcher.isSpent(network) {
            throw ParseError.tooManyRequests(
                "Too many changes are being matched for your subscriptions.", retryAfterSeconds: 1)
        }
        guard let id = gateways.id(of: request.message.subscription, at: request.message.gateway) else {
            throw ParseError.internalError
        }
        let className = request.query.className
        let start = start(of: request.message, className)
        let missed = start?.isKnown == false
        try matcher.add(
            .init(id: id, caller: request.caller, client: request.client, network: request.network, start: position),
            to: request.query)
        left[className] = nil
        window.watch(className, from: position)
        if let start, start.isKnown {
            for entry in window.changes(of: className, after: start.position) ?? [] {
                tell(matcher.outcome(of: entry.change, for: id), of: entry.position)
            }
        }
        let own = gateways[request.message.gateway]
        let answer = LiveSubscribed.with {
            $0.feed = own?.name ?? 0
            $0.position = position
            $0.missed = missed
            $0.sent = own?.outbox.last ?? 0
        }
        return (answer, settled.contains(className))
    }

    /// The position at which a resumed or replacing subscription starts, and whether all later changes are known. Nil
    /// for a new subscription, which starts now.
    private func start(of message: LiveSubscribe, _ className: String) -> (position: UInt64, isKnown: Bool)? {
        if message.replaces != 0 {
            let former = gateways.id(of: message.replaces, at: message.gateway)
            guard let entry = former.flatMap({ held[$0] }), entry.className == className else { return (0, false) }
            return (entry.position, window.changes(of: className, after: entry.position) != nil)
        }
        guard message.resumes else { return nil }
        let isKnown =
            names.contains(message.feed) && message.after <= position
            && window.changes(of: className, after: message.after) != nil
        return (message.after, isKnown)
    }

    /// Suspends subscriptions until others replace them.
    package func hold(_ message: LiveHold) {
        for id in message.subscriptions.compactMap({ gateways.id(of: $0, at: message.gateway) }) {
            guard let className = matcher.className(of: id), let subscriber = matcher.subscriber(id) else { continue }
            let matched = subscriber.network.flatMap { late[$0] }.map { max($0, subscriber.start) }
            held[id] = (matched ?? position, className, clock())
            matcher.remove(id)
        }
        noteLeft()
    }

    /// A job of the writer has begun and ended since the class became watched.
    /// - Parameter feed: the feed's name at the time the watching began. Another feed may have replaced it since.
    package func settle(_ className: String, in feed: UInt64) {
        if names.contains(feed), watches(className) { settled.insert(className) }
    }

    package func unsubscribe(_ message: LiveUnsubscribe) {
        for id in message.subscriptions.compactMap({ gateways.id(of: $0, at: message.gateway) }) {
            matcher.remove(id)
            held[id] = nil
        }
        noteLeft()
    }

    private func noteLeft() {
        let current = matcher.classNames
        let now = clock()
        for name in window.classes where !current.contains(name) && left[name] == nil { left[name] = now }
        guard left.count > Self.lingeringMax else { return }
        // Drops half of them at once to amortise the sorting.
        let oldest = left.sorted { $0.value < $1.value }.prefix(left.count - Self.lingeringMax / 2)
        for (name, _) in oldest {
            left[name] = nil
            settled.remove(name)
        }
        window.watch(classes, from: position)
    }

    /// Registers a gateway, or notes that a known one is alive. A new gateway has no subscriptions yet.
    private func meet(_ gateway: UInt64, at replica: String) {
        if gateways[gateway] == nil {
            for other in gateways.replaced(by: gateway, at: replica) { drop(other) }
            gateways.add(gateway, at: replica, name: newName())
        }
        gateways[gateway]?.lastHeard = clock()
    }

    private func newName() -> UInt64 {
        let name = makeFeed()
        names.append(name)
        // Names in use remain, however old they are.
        if names.count > Self.namesMax, let oldest = names.firstIndex(where: { !gateways.use($0) }) {
            names.remove(at: oldest)
        }
        return name
    }

    /// Ends all subscriptions of a gateway that is gone or has lost notices.
    private func drop(_ gateway: UInt64, renaming: Bool = false) {
        let isOwn = gateways.owns(gateway)
        matcher.remove(where: isOwn)
        held = held.filter { !isOwn($0.key) }
        if renaming {
            gateways[gateway]?.begin(name: newName())
        } else {
            gateways.remove(gateway)
        }
        noteLeft()
    }

    // MARK: Changes

    package func changed(_ change: StoredChange) {
        guard watches(change.className) else { return }
        position += 1
        window.add(change, at: position, now: clock())
        let outcome = matcher.outcome(of: change, late: Set(late.keys))
        tell(outcome, of: position)
        if !outcome.ended.isEmpty { noteLeft() }
        for network in matcher.takeSpent() where late[network] == nil { late[network] = position }
        dropOverfull()
    }

    private func dropOverfull() {
        // A gateway that does not take its notices must not affect the clients of another gateway.
        for gateway in gateways.overfull { drop(gateway, renaming: true) }
    }

    /// Whether changes remain to be matched for late networks. Matching pauses while a gateway has a large backlog.
    package var isBehind: Bool { !late.isEmpty && !gateways.areCrowded }

    /// Matches some changes for the late network that has used the least time.
    package func catchUp() {
        guard isBehind, let network = matcher.modest(among: late.keys), let matched = late[network] else { return }
        guard let entries = window.entries(after: matched) else {
            // More changes arrived than the window holds.
            late[network] = nil
            let ids = matcher.ids(of: network)
            ids.forEach(matcher.remove)
            tell(LiveOutcome(ended: [(ids, Self.tooLate)]), of: position)
            return noteLeft()
        }
        let end = clock() + Self.turn
        for entry in entries {
            let outcome = matcher.outcome(of: entry.change, forLate: network, at: entry.position)
            tell(outcome, of: entry.position)
            if !outcome.ended.isEmpty { noteLeft() }
            late[network] = entry.position
            if clock() >= end { break }
        }
        if late[network] == position || entries.isEmpty { late[network] = nil }
        dropOverfull()
    }

    private static let tooLate = ParseError.tooManyRequests(
        "Too many changes are waiting to be matched for your subscriptions.", retryAfterSeconds: 10)

    /// Ends all subscriptions after a loss of changes. Each gateway learns it from its next request.
    package func lose() {
        names = []
        for gateway in gateways.all { gateways[gateway]?.begin(name: newName()) }
        held = [:]
        late = [:]
        matcher.removeAll()
        window.removeAll()
        left = [:]
        settled = []
    }

    private func tell(_ outcome: LiveOutcome, of changePosition: UInt64) {
        var drafts: [UInt64: [LiveGateways.Draft]] = [:]
        for event in outcome.events {
            for (gateway, numbers) in gateways.numbers(of: event.ids) {
                let notice = LiveNotice.with {
                    $0.kind = .init(event.kind)
                    $0.position = changePosition
                    $0.subscriptions = numbers
                    $0.hidden = event.hidden
                }
                drafts[gateway, default: []].append((notice, event.object, event.original))
            }
        }
        for (ids, error) in outcome.ended {
            for (gateway, numbers) in gateways.numbers(of: ids) {
                let notice = LiveNotice.with {
                    $0.kind = .ended
                    $0.position = changePosition
                    $0.subscriptions = numbers
                    $0.code = Int32(error.code.rawValue)
                    $0.message = error.message
                }
                drafts[gateway, default: []].append((notice, nil, nil))
            }
        }
        for (gateway, drafts) in drafts {
            // Notices of a replay belong to changes before the current position.
            gateways[gateway]?.add(drafts, through: position, isLatest: changePosition == position)
        }
    }

    // MARK: Gateways

    /// The reply to a request for news; nil when there is none and the gateway knows the feed's current name.
    package func next(_ message: LiveNext) -> (news: LiveNews, documents: [[UInt8]])? {
        asked(message)
        return news(for: message)
    }

    /// Notes a gateway's request for news.
    package func asked(_ message: LiveNext) {
        meet(message.gateway, at: message.place)
        guard message.feed == gateways[message.gateway]?.name else { return }
        gateways[message.gateway]?.outbox.taken(message.taken)
    }

    /// The reply to a noted request; nil when there is no news yet.
    package func news(for message: LiveNext) -> (news: LiveNews, documents: [[UInt8]])? {
        guard let own = gateways[message.gateway] else { return (.with { $0.feed = makeFeed() }, []) }
        guard message.feed == 0 || message.feed == own.name else { return (.with { $0.feed = own.name }, []) }
        return own.outbox.isEmpty ? nil : own.outbox.news(feed: own.name, position: position)
    }

    /// The reply to a request that timed out.
    package func nothing(for message: LiveNext) -> LiveNews {
        .with {
            $0.feed = gateways[message.gateway]?.name ?? 0
            $0.sent = gateways[message.gateway]?.outbox.last ?? 0
            $0.position = position
        }
    }

    /// Drops expired data. To be called every few seconds.
    package func tidy() {
        let now = clock()
        // A gateway that returns later gets a new feed name, by which it sees that its subscriptions are gone.
        for gateway in gateways.unheard(since: now - Self.silenceNanoseconds) { drop(gateway) }
        held = held.filter { now - $0.value.at < Self.lingerNanoseconds }
        left = left.filter { now - $0.value < Self.lingerNanoseconds }
        window.watch(classes, from: position)
        window.makeRoom(now)
        settled.formIntersection(classes)
    }
}

extension LiveWindow {
    /// The watched classes.
    var classes: Set<String> { Set(watchedFrom.keys) }
}
