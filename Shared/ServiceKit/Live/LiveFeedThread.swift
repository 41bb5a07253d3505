import Foundation
import Messages
import ObjectStore
import ParseProtocol

/// The thread on which a service matches committed changes with the subscriptions, so that neither the writer nor a
/// lane waits for the matching. The first subscription starts it.
package final class LiveFeedThread: @unchecked Sendable {
    private enum Work {
        case subscribe(LiveFeed.SubscribeRequest, @Sendable (Result<Subscribed, any Error>) -> Void)
        case settle(String, feed: UInt64)
        case hold(LiveHold)
        case unsubscribe(LiveUnsubscribe)
        case next(LiveNext, @Sendable (Result<News, any Error>) -> Void)
        case changes([StoredChange])
    }

    package typealias Subscribed = (answer: LiveSubscribed, isSettled: Bool)
    package typealias News = (news: LiveNews, documents: [[UInt8]])

    /// A gateway's pending request for news.
    private struct Waiter {
        let message: LiveNext
        let deadline: ContinuousClock.Instant
        let completion: @Sendable (Result<News, any Error>) -> Void
    }

    /// Limits of unmatched changes. Beyond them all changes are dropped and all subscriptions must be renewed.
    private static let waitingMax = 20_000
    private static let waitingBytesMax = 64 << 20
    private static let tidyingPause = Duration.seconds(5)
    private static let waitMillisecondsMax: UInt32 = 60_000
    private static let stopping = ParseError(.serviceUnavailable, "The service is stopping.")

    /// Receives the set of watched classes.
    private let watching: @Sendable (Set<String>) -> Void
    /// Only the feed's own thread waits on it, so `signal` suffices: glibc may lose a wake-up only with several waiting
    /// threads (glibc bug 25847).
    private let condition = NSCondition()
    // `condition` guards the following properties.
    private var work: [Work] = []
    private var waiting = 0
    private var waitingBytes = 0
    private var hasLost = false
    private var isStopping = false
    private var hasStarted = false

    /// A feed of the changes that this process commits.
    package init(_ store: ClassStore) {
        watching = { [watch = store.watch] in watch.watch($0) }
        store.watch.listen({ [weak self] in self?.committed($0) }, lost: { [weak self] in self?.lose() })
    }

    /// A feed of the changes passed to `committed`.
    /// - Parameter watching: receives the watched classes before `subscribe` returns.
    package init(watching: @escaping @Sendable (Set<String>) -> Void) { self.watching = watching }

    /// - Throws: `.serviceUnavailable` (2) while the service stops.
    package func subscribe(_ request: LiveFeed.SubscribeRequest) async throws -> Subscribed {
        try await withCheckedThrowingContinuation { continuation in
            post(.subscribe(request) { continuation.resume(with: $0) }) { continuation.resume(throwing: Self.stopping) }
        }
    }

    package func settle(_ className: String, in feed: UInt64) { post(.settle(className, feed: feed)) {} }

    /// Takes effect after all earlier commits, and before any change that the calling thread submits to the writer
    /// afterwards.
    package func hold(_ message: LiveHold) { post(.hold(message)) {} }

    package func unsubscribe(_ message: LiveUnsubscribe) { post(.unsubscribe(message)) {} }

    /// Returns when there is news or when the wait time of the message is over.
    /// - Throws: `.serviceUnavailable` (2) while the service stops, or when the same gateway asks again meanwhile.
    package func next(_ message: LiveNext) async throws -> News {
        try await withCheckedThrowingContinuation { continuation in
            post(.next(message) { continuation.resume(with: $0) }) { continuation.resume(throwing: Self.stopping) }
        }
    }

    /// Replies to all pending requests and refuses later ones.
    package func stop() {
        condition.withLock {
            isStopping = true
            condition.signal()
        }
    }

    private func post(_ item: Work, refused: () -> Void) {
        let isTaken = condition.withLock {
            guard !isStopping else { return false }
            work.append(item)
            start()
            condition.signal()
            return true
        }
        if !isTaken { refused() }
    }

    private func start() {
        guard !hasStarted else { return }
        hasStarted = true
        let thread = Thread { [self] in run() }
        thread.name = "live-feed"
        thread.stackSize = 8 << 20
        thread.start()
    }

    /// Ends all subscriptions, because changes may have been missed.
    package func lose() {
        condition.withLock {
            hasLost = true
            condition.signal()
        }
    }

    /// Adds committed changes in commit order. Called on the writer's thread.
    package func committed(_ changes: [StoredChange]) {
        condition.withLock {
            waiting += changes.count
            waitingBytes += changes.reduce(0) { $0 + $1.bytes }
            if waiting > Self.waitingMax || waitingBytes > Self.waitingBytesMax {
                work.removeAll { if case .changes = $0 { true } else { false } }
                (waiting, waitingBytes, hasLost) = (0, 0, true)
            } else {
                work.append(.changes(changes))
            }
            condition.signal()
        }
    }

    // MARK: On the thread

    private func run() {
        let feed = LiveFeed(
            clock: { Int64(SystemClock.monotonic) }, processor: { Int64(SystemClock.threadTime) })
        var waiters: [UInt64: Waiter] = [:]
        var tidied = ContinuousClock.now
        // Late networks get half of this thread's time, and only when it has no other work.
        var nextTurn = ContinuousClock.now
        while let (items, hasLost) = take(until: feed.isBehind ? nextTurn : waiters.values.map(\.deadline).min()) {
            if hasLost { feed.lose() }
            for item in items { perform(item, feed, &waiters) }
            if feed.isBehind, nextTurn <= .now {
                let start = ContinuousClock.now
                feed.catchUp()
                let end = ContinuousClock.now
                nextTurn = end + (end - start)
            }
            if ContinuousClock.now - tidied > Self.tidyingPause {
                tidied = .now
                feed.tidy()
                // Removes classes that are no longer watched. New ones are added when their subscription begins.
                watching(feed.classes)
            }
            answer(&waiters, feed)
        }
        watching([])
        for waiter in waiters.values { waiter.completion(.failure(Self.stopping)) }
        // Work that was added while the thread was stopping.
        for item in condition.withLock({ work }) {
            switch item {
            case .subscribe(_, let completion): completion(.failure(Self.stopping))
            case .next(_, let completion): completion(.failure(Self.stopping))
            case .changes, .settle, .hold, .unsubscribe: break
            }
        }
    }

    /// The pending work; nil when the thread must end.
    private func take(until deadline: ContinuousClock.Instant?) -> (work: [Work], hasLost: Bool)? {
        let limit = ContinuousClock.now + Self.tidyingPause
        let end = min(deadline ?? limit, limit)
        return condition.withLock {
            while work.isEmpty, !hasLost, !isStopping {
                // By the wall clock: a clock that is set back meanwhile prolongs this wait until there is work.
                if !condition.wait(until: Date(timeIntervalSinceNow: (end - .now) / .seconds(1))) { break }
            }
            guard !isStopping else { return nil }
            defer { (work, waiting, waitingBytes, hasLost) = ([], 0, 0, false) }
            return (work, hasLost)
        }
    }

    private func perform(_ item: Work, _ feed: LiveFeed, _ waiters: inout [UInt64: Waiter]) {
        switch item {
        case .changes(let changes): changes.forEach(feed.changed)
        case .settle(let className, let former): feed.settle(className, in: former)
        case .hold(let message): feed.hold(message)
        case .unsubscribe(let message): feed.unsubscribe(message)
        case .subscribe(let request, let completion):
            let isNew = !feed.watches(request.query.className)
            let result = Result { () throws -> Subscribed in try feed.subscribe(request) }
            // Must precede the job that the caller runs on the writer.
            if isNew { watching(feed.classes) }
            completion(result)
        case .next(let message, let completion):
            waiters[message.gateway]?.completion(.failure(ParseError(.serviceUnavailable, "Asked again.")))
            feed.asked(message)
            let milliseconds = min(message.waitMs, Self.waitMillisecondsMax)
            waiters[message.gateway] = Waiter(
                message: message, deadline: ContinuousClock.now + .milliseconds(milliseconds), completion: completion)
        }
    }

    private func answer(_ waiters: inout [UInt64: Waiter], _ feed: LiveFeed) {
        for (gateway, waiter) in waiters {
            if let news = feed.news(for: waiter.message) {
                waiter.completion(.success(news))
            } else if waiter.deadline <= .now {
                waiter.completion(.success((feed.nothing(for: waiter.message), [])))
            } else {
                continue
            }
            waiters[gateway] = nil
        }
    }
}
