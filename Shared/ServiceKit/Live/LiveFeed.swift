import Messages
import ObjectStore
import ParseProtocol

/// A writer's live queries: who subscribes, what is new, and what each gateway has taken of it. Pure but for its clock;
/// `LiveFeedThread` owns it.
///
/// Each gateway has subscriptions, numbers and notices of its own, and a name for the feed. Positions count the changes
/// that were watched, for all gateways together, so that a client may come back by another one. They mean something
/// as long as the feed's name is known: another writer, or one that had to drop something, has others, and whoever asks
/// for an old one is told so. Nothing is missed in silence.
package final class LiveFeed {
    /// A wish to subscribe, checked.
    package struct Wish: Sendable {
        package let message: LiveSubscribe
        package let query: LiveQuery
        package let caller: Caller
        package let client: Int

        package init(_ message: LiveSubscribe, _ query: LiveQuery, _ caller: Caller, client: Int) {
            self.message = message
            self.query = query
            self.caller = caller
            self.client = client
        }
    }

    /// A class is watched for so long after its last subscription: clients come back.
    package static let lingerNanoseconds: Int64 = 120_000_000_000
    /// Classes that are watched so: whoever makes up names of classes makes nothing grow.
    package static let lingeringMax = 256
    /// A gateway that asks for nothing for so long is gone.
    package static let silenceNanoseconds: Int64 = 60_000_000_000
    private let clock: () -> Int64
    private let makeFeed: () -> UInt64
    private let matcher: LiveMatcher
    private var window = LiveWindow()
    private var position: UInt64 = 0
    private var gateways = LiveGateways()
    /// The feed's names under which positions of `window` were told, the latest last.
    private var names: [UInt64] = []
    /// The moments at which classes lost their last subscription.
    private var left: [String: Int64] = [:]
    /// Names that are remembered. Each gateway that starts anew has another one.
    private static let namesMax = 64
    /// Subscriptions whose rights may have changed, with the position from which on they are told nothing.
    private var held: [UInt64: (position: UInt64, className: String, at: Int64)] = [:]
    /// The classes whose every later change is told: the writer has begun a job since they are watched.
    private var settled: Set<String> = []

    /// - Parameters:
    ///   - clock: nanoseconds of a clock that nobody sets.
    ///   - processor: nanoseconds that this thread has had of a processor; nil for those of the clock.
    package init(
        clock: @escaping () -> Int64, processor: (() -> Int64)? = nil,
        makeFeed: @escaping () -> UInt64 = { .random(in: 1 ... .max) }
    ) {
        self.clock = clock
        self.makeFeed = makeFeed
        matcher = LiveMatcher(clock: clock, processor: processor)
    }

    /// The classes whose changes are wanted.
    package var classes: Set<String> { matcher.classNames.union(left.keys) }
    /// Whether a class is one of them.
    package func watches(_ className: String) -> Bool { matcher.hasClass(className) || left[className] != nil }
    package var subscriptionCount: Int { matcher.count }

    // MARK: Subscriptions

    /// - Throws: `.inefficientQuery` (154) for a client that has spent its time, `.requestLimitExceeded` (155) for too
    ///   many, `.invalidQuery` (102) for a condition that cannot be live.
    /// - Returns: the answer, and whether a job of the writer must have ended before it is given, so that no change
    ///   after it is overlooked.
    package func subscribe(_ wish: Wish) throws -> (answer: LiveSubscribed, isSettled: Bool) {
        meet(wish.message.gateway, at: wish.message.place)
        // Who was there before goes on.
        if wish.message.replaces == 0 { try matcher.checkBudget(of: wish.client) }
        guard let id = gateways.id(of: wish.message.subscription, at: wish.message.gateway) else {
            throw ParseError.internalError
        }
        let className = wish.query.className
        let start = start(of: wish.message, className)
        let missed = start?.isKnown == false
        try matcher.add(.init(id: id, caller: wish.caller, client: wish.client), to: wish.query)
        left[className] = nil
        window.watch(className, from: position)
        if let start, start.isKnown {
            for entry in window.changes(of: className, after: start.position) ?? [] {
                tell(matcher.outcome(of: entry.change, for: id), of: entry.position)
            }
        }
        let own = gateways[wish.message.gateway]
        let answer = LiveSubscribed.with {
            $0.feed = own?.name ?? 0
            $0.position = position
            $0.missed = missed
            $0.sent = own?.outbox.last ?? 0
        }
        return (answer, settled.contains(className))
    }

    /// Where a subscription begins that does not begin now, and whether all that followed is known.
    private func start(of message: LiveSubscribe, _ className: String) -> (position: UInt64, isKnown: Bool)? {
        if message.replaces != 0 {
            let former = gateways.id(of: message.replaces, at: message.gateway)
            guard let place = former.flatMap({ held[$0] }), place.className == className else { return (0, false) }
            return (place.position, window.changes(of: className, after: place.position) != nil)
        }
        guard message.resumes else { return nil }
        let isKnown =
            names.contains(message.feed) && message.after <= position
            && window.changes(of: className, after: message.after) != nil
        return (message.after, isKnown)
    }

    /// Stops matching for subscriptions until others take their places.
    package func hold(_ message: LiveHold) {
        for id in message.subscriptions.compactMap({ gateways.id(of: $0, at: message.gateway) }) {
            guard let className = matcher.className(of: id) else { continue }
            held[id] = (position, className, clock())
            matcher.remove(id)
        }
        noteLeft()
    }

    /// A job of the writer has begun and ended since the class is watched.
    /// - Parameter feed: the name of the one that watched it then. Another one may have begun to do so since.
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
        // Half of them at once, so that the sorting is paid for.
        let oldest = left.sorted { $0.value < $1.value }.prefix(left.count - Self.lingeringMax / 2)
        for (name, _) in oldest {
            left[name] = nil
            settled.remove(name)
        }
        window.watch(classes, from: position)
    }

    /// A gateway is there: one that was known, or another one, which has nothing yet.
    private func meet(_ gateway: UInt64, at place: String) {
        if gateways[gateway] == nil {
            for other in gateways.replaced(by: gateway, at: place) { drop(other) }
            gateways.add(gateway, at: place, name: newName())
        }
        gateways[gateway]?.lastHeard = clock()
    }

    private func newName() -> UInt64 {
        let name = makeFeed()
        names.append(name)
        // Those in use stay, however long they have been.
        if names.count > Self.namesMax, let oldest = names.firstIndex(where: { !gateways.use($0) }) {
            names.remove(at: oldest)
        }
        return name
    }

    /// A gateway is gone, or has lost something: its subscriptions are over.
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
        let outcome = matcher.outcome(of: change)
        tell(outcome, of: position)
        if !outcome.ended.isEmpty { noteLeft() }
        // One gateway that takes nothing is no reason for clients of another one to come anew.
        for gateway in gateways.overfull { drop(gateway, renaming: true) }
    }

    /// Something was lost: all subscriptions are over, which whoever asks next hears.
    package func lose() {
        names = []
        for gateway in gateways.all { gateways[gateway]?.begin(name: newName()) }
        held = [:]
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
            // Those of a replay are of changes before the present position.
            gateways[gateway]?.add(drafts, through: position, isLatest: changePosition == position)
        }
    }

    // MARK: The gateways

    /// The answer to a question for news; nil when there is nothing and the feed is the one that was asked for.
    package func next(_ message: LiveNext) -> (news: LiveNews, documents: [[UInt8]])? {
        asked(message)
        return news(for: message)
    }

    /// A gateway has asked for news.
    package func asked(_ message: LiveNext) {
        meet(message.gateway, at: message.place)
        guard message.feed == gateways[message.gateway]?.name else { return }
        gateways[message.gateway]?.outbox.taken(message.taken)
    }

    /// The answer to a question that was asked; nil when there is nothing yet.
    package func news(for message: LiveNext) -> (news: LiveNews, documents: [[UInt8]])? {
        guard let own = gateways[message.gateway] else { return (.with { $0.feed = makeFeed() }, []) }
        guard message.feed == 0 || message.feed == own.name else { return (.with { $0.feed = own.name }, []) }
        return own.outbox.isEmpty ? nil : own.outbox.news(feed: own.name, position: position)
    }

    /// The answer when the wait is over.
    package func nothing(for message: LiveNext) -> LiveNews {
        .with {
            $0.feed = gateways[message.gateway]?.name ?? 0
            $0.sent = gateways[message.gateway]?.outbox.last ?? 0
            $0.position = position
        }
    }

    /// Lets go of what nobody wants any more. To be called every few seconds.
    package func tidy() {
        let now = clock()
        // Should one come back, it hears by another name that its subscriptions are gone.
        for gateway in gateways.unheard(since: now - Self.silenceNanoseconds) { drop(gateway) }
        held = held.filter { now - $0.value.at < Self.lingerNanoseconds }
        left = left.filter { now - $0.value < Self.lingerNanoseconds }
        window.watch(classes, from: position)
        window.makeRoom(now)
        settled.formIntersection(classes)
    }
}

extension LiveWindow {
    /// The classes that are watched.
    var classes: Set<String> { Set(watchedFrom.keys) }
}
