import Foundation
import Messages
import ObjectStore
import ParseProtocol

/// The thread on which a service matches what was committed with the subscriptions: neither the writer nor a lane waits
/// for it. It begins with the first subscription.
package final class LiveFeedThread: @unchecked Sendable {
    private enum Work {
        case subscribe(LiveFeed.Wish, @Sendable (Result<Subscribed, any Error>) -> Void)
        case settle(String, feed: UInt64)
        case hold(LiveHold)
        case unsubscribe(LiveUnsubscribe)
        case next(LiveNext, @Sendable (Result<News, any Error>) -> Void)
        case changes([StoredChange])
    }

    package typealias Subscribed = (answer: LiveSubscribed, isSettled: Bool)
    package typealias News = (news: LiveNews, documents: [[UInt8]])

    /// A gateway that waits for news.
    private struct Waiter {
        let message: LiveNext
        let deadline: Date
        let completion: @Sendable (Result<News, any Error>) -> Void
    }

    /// Changes that wait to be matched; past them all subscriptions begin anew rather than that memory fills up.
    private static let waitingMax = 20_000
    private static let waitingBytesMax = 64 << 20
    private static let tidyingSeconds = 5.0
    private static let waitMillisecondsMax: UInt32 = 60_000
    private static let stopping = ParseError(.serviceUnavailable, "The service is stopping.")

    /// Names the classes whose changes are wanted.
    private let watching: @Sendable (Set<String>) -> Void
    /// One thread waits for it, the feed's own, so that `signal` is enough: the C library may lose a wake-up only where
    /// several wait (glibc's bug 25847).
    private let condition = NSCondition()
    // What follows is guarded by `condition`.
    private var work: [Work] = []
    private var waiting = 0
    private var waitingBytes = 0
    private var hasLost = false
    private var isStopping = false
    private var hasStarted = false

    /// A feed of what this process commits.
    package init(_ store: ClassStore) {
        watching = { [watch = store.watch] in watch.watch($0) }
        store.watch.listen { [weak self] in self?.committed($0) }
    }

    /// A feed of what is handed to it.
    /// - Parameter watching: hears which classes are wanted, before whoever subscribed does.
    package init(watching: @escaping @Sendable (Set<String>) -> Void) { self.watching = watching }

    /// - Throws: `.serviceUnavailable` (2) while the service stops.
    package func subscribe(_ wish: LiveFeed.Wish) async throws -> Subscribed {
        try await withCheckedThrowingContinuation { continuation in
            post(.subscribe(wish) { continuation.resume(with: $0) }) { continuation.resume(throwing: Self.stopping) }
        }
    }

    package func settle(_ className: String, in feed: UInt64) { post(.settle(className, feed: feed)) {} }

    /// Takes effect between what was committed before and what the calling thread hands to the writer after.
    package func hold(_ message: LiveHold) { post(.hold(message)) {} }

    package func unsubscribe(_ message: LiveUnsubscribe) { post(.unsubscribe(message)) {} }

    /// Returns when there is something or the message's time is over.
    /// - Throws: `.serviceUnavailable` (2) while the service stops, or when asked again meanwhile.
    package func next(_ message: LiveNext) async throws -> News {
        try await withCheckedThrowingContinuation { continuation in
            post(.next(message) { continuation.resume(with: $0) }) { continuation.resume(throwing: Self.stopping) }
        }
    }

    /// Answers whoever waits; later ones are refused.
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

    /// Changes may have been missed: all subscriptions begin anew.
    package func lose() {
        condition.withLock {
            hasLost = true
            condition.signal()
        }
    }

    /// Changes that were committed, in their order. Called on the writer's thread.
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
            clock: { Self.nanoseconds(CLOCK_MONOTONIC) }, processor: { Self.nanoseconds(CLOCK_THREAD_CPUTIME_ID) })
        var waiters: [UInt64: Waiter] = [:]
        var tidied = Date()
        while let (items, hasLost) = take(until: waiters.values.map(\.deadline).min() ?? .distantFuture) {
            if hasLost { feed.lose() }
            for item in items { perform(item, feed, &waiters) }
            if -tidied.timeIntervalSinceNow > Self.tidyingSeconds {
                tidied = Date()
                feed.tidy()
                // Those that nobody wants any more; the others are there since their subscriptions began.
                watching(feed.classes)
            }
            answer(&waiters, feed)
        }
        watching([])
        for waiter in waiters.values { waiter.completion(.failure(Self.stopping)) }
        // What came in the last moment.
        for item in condition.withLock({ work }) {
            switch item {
            case .subscribe(_, let completion): completion(.failure(Self.stopping))
            case .next(_, let completion): completion(.failure(Self.stopping))
            case .changes, .settle, .hold, .unsubscribe: break
            }
        }
    }

    /// What is to be done; nil when it is time to end.
    private func take(until deadline: Date) -> (work: [Work], hasLost: Bool)? {
        let end = min(deadline, Date(timeIntervalSinceNow: Self.tidyingSeconds))
        return condition.withLock {
            while work.isEmpty, !hasLost, !isStopping {
                if !condition.wait(until: end) { break }
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
        case .subscribe(let wish, let completion):
            let isNew = !feed.watches(wish.query.className)
            let result = Result { () throws -> Subscribed in try feed.subscribe(wish) }
            // Before the caller has the writer run a job.
            if isNew { watching(feed.classes) }
            completion(result)
        case .next(let message, let completion):
            waiters[message.gateway]?.completion(.failure(ParseError(.serviceUnavailable, "Asked again.")))
            feed.asked(message)
            let milliseconds = min(message.waitMs, Self.waitMillisecondsMax)
            waiters[message.gateway] = Waiter(
                message: message, deadline: Date(timeIntervalSinceNow: Double(milliseconds) / 1000),
                completion: completion)
        }
    }

    private func answer(_ waiters: inout [UInt64: Waiter], _ feed: LiveFeed) {
        for (gateway, waiter) in waiters {
            if let news = feed.news(for: waiter.message) {
                waiter.completion(.success(news))
            } else if waiter.deadline <= Date() {
                waiter.completion(.success((feed.nothing(for: waiter.message), [])))
            } else {
                continue
            }
            waiters[gateway] = nil
        }
    }

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
