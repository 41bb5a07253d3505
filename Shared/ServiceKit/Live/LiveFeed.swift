import Messages
import ObjectStore
import ParseProtocol

/// A writer's live queries: who subscribes, what is new, and what the gateway has taken of it. Pure but for its clock;
/// `LiveFeedThread` owns it.
///
/// Positions count the changes that were watched. They mean something within one feed only: another writer, or one that
/// had to drop something, begins another, and whoever asks for the old one is told so. Nothing is missed in silence.
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
    private var outbox = LiveOutbox()
    private var feed: UInt64
    private var position: UInt64 = 0
    private var gateway: UInt64 = 0
    private var lastHeard: Int64 = 0
    /// The moments at which classes lost their last subscription.
    private var left: [String: Int64] = [:]
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
        feed = makeFeed()
    }

    /// The classes whose changes are wanted.
    package var classes: Set<String> { matcher.classNames.union(left.keys) }
    /// Whether a class is one of them.
    package func watches(_ className: String) -> Bool { matcher.hasClass(className) || left[className] != nil }
    package var hasNews: Bool { !outbox.isEmpty }
    package var subscriptionCount: Int { matcher.count }

    // MARK: Subscriptions

    /// - Throws: `.inefficientQuery` (154) for a client that has spent its time, `.requestLimitExceeded` (155) for too
    ///   many, `.invalidQuery` (102) for a condition that cannot be live.
    /// - Returns: the answer, and whether a job of the writer must have ended before it is given, so that no change
    ///   after it is overlooked.
    package func subscribe(_ wish: Wish) throws -> (answer: LiveSubscribed, isSettled: Bool) {
        meet(wish.message.gateway)
        // Who was there before goes on.
        if wish.message.replaces == 0 { try matcher.checkBudget(of: wish.client) }
        let id = wish.message.subscription
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
        let answer = LiveSubscribed.with {
            $0.feed = feed
            $0.position = position
            $0.missed = missed
            $0.sent = outbox.last
        }
        return (answer, settled.contains(className))
    }

    /// Where a subscription begins that does not begin now, and whether all that followed is known.
    private func start(of message: LiveSubscribe, _ className: String) -> (position: UInt64, isKnown: Bool)? {
        if message.replaces != 0 {
            guard let place = held[message.replaces], place.className == className else { return (0, false) }
            return (place.position, window.changes(of: className, after: place.position) != nil)
        }
        guard message.resumes else { return nil }
        let isKnown =
            message.feed == feed && message.after <= position
            && window.changes(of: className, after: message.after) != nil
        return (message.after, isKnown)
    }

    /// Stops matching for subscriptions until others take their places.
    package func hold(_ message: LiveHold) {
        guard message.gateway == gateway else { return }
        for id in message.subscriptions {
            guard let className = matcher.className(of: id) else { continue }
            held[id] = (position, className, clock())
            matcher.remove(id)
        }
        noteLeft()
    }

    /// A job of the writer has begun and ended since the class is watched.
    /// - Parameter feed: the one that watched it then. Another one may have begun to do so since.
    package func settle(_ className: String, in feed: UInt64) {
        if feed == self.feed, watches(className) { settled.insert(className) }
    }

    package func unsubscribe(_ message: LiveUnsubscribe) {
        guard message.gateway == gateway else { return }
        for id in message.subscriptions {
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

    /// Another gateway has other subscriptions.
    private func meet(_ other: UInt64) {
        lastHeard = clock()
        guard other != gateway else { return }
        gateway = other
        held = [:]
        matcher.removeAll()
        outbox.removeAll()
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
        if outbox.isOverfull { lose() }
    }

    /// Something was lost: all subscriptions are over, which whoever asks next hears.
    package func lose() {
        feed = makeFeed()
        held = [:]
        matcher.removeAll()
        outbox.removeAll()
        window.removeAll()
        left = [:]
        settled = []
    }

    private func tell(_ outcome: LiveOutcome, of changePosition: UInt64) {
        // The last notice of a change completes it. Those of a replay are of changes before the present position.
        let count = outcome.events.count + outcome.ended.count
        var number = 0
        func add(_ notice: LiveNotice, _ object: [UInt8]? = nil, _ original: [UInt8]? = nil) {
            number += 1
            let isComplete = number == count || changePosition < position
            outbox.add(
                notice, object: object, original: original, through: isComplete ? position : position - 1)
        }
        for event in outcome.events {
            let notice = LiveNotice.with {
                $0.kind = .init(event.kind)
                $0.position = changePosition
                $0.subscriptions = event.ids
                $0.hidden = event.hidden
            }
            add(notice, event.object, event.original)
        }
        for (ids, error) in outcome.ended {
            let notice = LiveNotice.with {
                $0.kind = .ended
                $0.position = changePosition
                $0.subscriptions = ids
                $0.code = Int32(error.code.rawValue)
                $0.message = error.message
            }
            add(notice)
        }
    }

    // MARK: The gateway

    /// The answer to a question for news; nil when there is nothing and the feed is the one that was asked for.
    package func next(_ message: LiveNext) -> (news: LiveNews, documents: [[UInt8]])? {
        meet(message.gateway)
        guard message.feed == 0 || message.feed == feed else { return (.with { $0.feed = feed }, []) }
        outbox.taken(message.taken)
        return outbox.isEmpty ? nil : outbox.news(feed: feed, position: position)
    }

    /// The answer when the wait is over.
    package var nothing: LiveNews {
        .with {
            $0.feed = feed
            $0.sent = outbox.last
            $0.position = position
        }
    }

    /// Lets go of what nobody wants any more. To be called every few seconds.
    package func tidy() {
        let now = clock()
        // Should it come back, it must hear that its subscriptions are gone.
        if matcher.count > 0, now - lastHeard > Self.silenceNanoseconds { lose() }
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
