import Foundation
import Logging
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization
import Testing

/// A writer's live query feed: positions, repeated requests, and that no event is missed silently.
@Suite struct LiveFeedTests {
    /// A store whose changes the test passes to a feed.
    private final class Writer: Sendable {
        let store: ClassStore
        private let folder = NSTemporaryDirectory() + "live-\(UUID().uuidString)"
        private let changes = Mutex<[StoredChange]>([])

        init() async throws {
            store = try ClassStore(
                .file(path: folder + "/live.sqlite"), classes: [], synchronous: .normal, allowClassCreation: true,
                allowCustomObjectId: false, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let store = store
            await withCheckedContinuation { continuation in store.startWriting { continuation.resume() } }
            store.watch.listen { [unowned self] new in changes.withLock { $0 += new } }
            store.watch.watch(["Note"])
        }

        deinit {
            store.stop()
            try? FileManager.default.removeItem(atPath: folder)
        }

        func create(_ n: Int64) async throws -> [StoredChange] {
            _ = try await store.write { try $0.create("Note", ["n": .int(n)], caller: .master) }
            return changes.withLock { changes in
                defer { changes = [] }
                return changes
            }
        }
    }

    private static func wish(
        _ id: UInt64, gateway: UInt64 = 1, place: String? = nil, after: (feed: UInt64, position: UInt64)? = nil,
        replaces: UInt64 = 0, condition: String = "", network: String? = nil
    ) throws -> LiveFeed.SubscribeRequest {
        let message = LiveSubscribe.with {
            $0.gateway = gateway
            $0.place = place ?? "gateway-\(gateway)"
            $0.subscription = id
            $0.className = "Note"
            $0.resumes = after != nil
            $0.feed = after?.feed ?? 0
            $0.after = after?.position ?? 0
            $0.replaces = replaces
        }
        let query = try LiveQuery(className: "Note", condition: Array(condition.utf8), keys: [], watch: [])
        return LiveFeed.SubscribeRequest(
            message, query, .anonymous, client: 0, network: network.map { ClientNetwork($0) })
    }

    /// A feed in which each evaluation of a condition takes 150 ms, and a network has a budget of 200 ms.
    private static func slowFeed() -> LiveFeed {
        var time: Int64 = 0
        return LiveFeed(
            clock: { 0 },
            processor: {
                time += 150_000_000
                return time
            }, makeFeed: { 5 })
    }

    /// The positions that a subscription received in all waiting news.
    private static func positions(_ feed: LiveFeed, of number: UInt64) -> [UInt64] {
        let news = feed.next(question(feed: 5, taken: 0))?.news.notices ?? []
        return news.filter { $0.subscriptions.contains(number) }.map(\.position)
    }

    @Test func aNetworkThatUsedUpItsTimeIsMatchedLaterAndInOrder() async throws {
        let writer = try await Writer()
        let feed = Self.slowFeed()
        _ = try feed.subscribe(try Self.wish(1, network: "cb007107"))
        _ = try feed.subscribe(try Self.wish(2, condition: #"{"n":{"$gt":0}}"#))
        for n in 1...5 { for change in try await writer.create(Int64(n)) { feed.changed(change) } }
        #expect(Self.positions(feed, of: 2) == [1, 2, 3, 4, 5], "Others wait for nothing.")
        #expect(Self.positions(feed, of: 1) == [1, 2])
        // A subscription that starts now receives only changes from now on.
        _ = try feed.subscribe(try Self.wish(3, condition: #"{"n":{"$gt":1}}"#, network: "cb007107"))
        for change in try await writer.create(6) { feed.changed(change) }
        var turns = 0
        while feed.isBehind, turns < 10 {
            feed.catchUp()
            turns += 1
        }
        #expect(Self.positions(feed, of: 1) == [1, 2, 3, 4, 5, 6])
        #expect(Self.positions(feed, of: 3) == [6])
        #expect(!feed.isBehind)
    }

    @Test func whatWasNotMatchedYetIsForTheRightsAfterAHold() async throws {
        let writer = try await Writer()
        let feed = Self.slowFeed()
        _ = try feed.subscribe(try Self.wish(1, network: "cb007107"))
        for n in 1...4 { for change in try await writer.create(Int64(n)) { feed.changed(change) } }
        #expect(Self.positions(feed, of: 1) == [1, 2])
        feed.hold(Self.held(1, gateway: 1))
        while feed.isBehind { feed.catchUp() }
        _ = try feed.subscribe(try Self.wish(2, replaces: 1, network: "cb007107"))
        #expect(Self.positions(feed, of: 1) == [1, 2])
        #expect(Self.positions(feed, of: 2) == [3, 4])
        // A replay requested by a client is refused while its network's budget is used up.
        #expect(throws: ParseError.self) { try feed.subscribe(Self.wish(9, after: (5, 0), network: "cb007107")) }
        _ = try feed.subscribe(try Self.wish(9, after: (5, 0), network: "c6336407"))
    }

    private static func question(feed: UInt64, taken: UInt64, gateway: UInt64 = 1) -> LiveNext {
        .with {
            $0.gateway = gateway
            $0.place = "gateway-\(gateway)"
            $0.feed = feed
            $0.taken = taken
        }
    }

    private static func held(_ number: UInt64, gateway: UInt64) -> LiveHold {
        .with {
            $0.gateway = gateway
            $0.subscriptions = [number]
        }
    }

    /// Consecutive feed numbers.
    private static func counter(from first: UInt64) -> () -> UInt64 {
        var next = first
        return {
            defer { next += 1 }
            return next
        }
    }

    @Test func whatWasNotTakenIsSentAgain() async throws {
        let writer = try await Writer()
        let feed = LiveFeed(clock: { 0 }, makeFeed: { 5 })
        let (answer, isSettled) = try feed.subscribe(try Self.wish(1))
        #expect(answer.feed == 5 && answer.position == 0 && !isSettled)
        for n in 1...2 { for change in try await writer.create(Int64(n)) { feed.changed(change) } }
        let first = try #require(feed.next(Self.question(feed: 5, taken: 0)))
        #expect(first.news.notices.map(\.position) == [1, 2])
        #expect(first.news.position == 2)
        let again = try #require(feed.next(Self.question(feed: 5, taken: 0)))
        #expect(again.news == first.news)
        #expect(feed.next(Self.question(feed: 5, taken: first.news.sent)) == nil)
    }

    @Test func aCursorBringsWhatCameSince() async throws {
        let writer = try await Writer()
        let feed = LiveFeed(clock: { 0 }, makeFeed: { 5 })
        _ = try feed.subscribe(try Self.wish(1))
        for n in 1...4 { for change in try await writer.create(Int64(n)) { feed.changed(change) } }
        // The first subscription ends; the class is watched for a while longer.
        feed.unsubscribe(
            .with {
                $0.gateway = 1
                $0.subscriptions = [1]
            })
        for change in try await writer.create(5) { feed.changed(change) }
        let resumed = try feed.subscribe(try Self.wish(2, after: (5, 2))).answer
        #expect(!resumed.missed)
        #expect(resumed.position == 5)
        let news = try #require(feed.next(Self.question(feed: 5, taken: 0))).news
        let own = news.notices.filter { $0.subscriptions == [2] }
        #expect(own.map(\.position) == [3, 4, 5])
        #expect(news.sent >= resumed.sent)
    }

    @Test func whatIsNotKnownAnyMoreIsSaid() async throws {
        let writer = try await Writer()
        let time = Mutex<Int64>(0)
        let feeds = Mutex<UInt64>(4)
        let feed = LiveFeed(
            clock: { time.withLock { $0 } },
            makeFeed: {
                feeds.withLock { feed in
                    feed += 1
                    return feed
                }
            })
        #expect(try feed.subscribe(try Self.wish(1, after: (4, 0))).answer.missed, "another writer's")
        #expect(try feed.subscribe(try Self.wish(1, after: (5, 9))).answer.missed, "of the future")
        for change in try await writer.create(1) { feed.changed(change) }
        time.withLock { $0 = LiveFeed.lingerNanoseconds * 4 }
        _ = feed.next(Self.question(feed: 5, taken: 0))
        for change in try await writer.create(2) { feed.changed(change) }
        #expect(try feed.subscribe(try Self.wish(2, after: (5, 0))).answer.missed, "too old")
        #expect(!(try feed.subscribe(try Self.wish(3, after: (5, 1))).answer.missed))
        // Events are lost: the gateway gets a new feed number, and has no subscriptions there.
        feed.lose()
        let news = try #require(feed.next(Self.question(feed: 5, taken: 0))).news
        #expect(news.feed == 6 && news.notices.isEmpty)
        #expect(feed.subscriptionCount == 0)
    }

    @Test func aSilentGatewayLosesItsSubscriptionsWithNotice() async throws {
        let time = Mutex<Int64>(0)
        let feed = LiveFeed(clock: { time.withLock { $0 } }, makeFeed: { .random(in: 1 ... .max) })
        let before = try feed.subscribe(try Self.wish(1)).answer.feed
        time.withLock { $0 = LiveFeed.silenceNanoseconds + 1 }
        feed.tidy()
        #expect(feed.subscriptionCount == 0)
        #expect(try #require(feed.next(Self.question(feed: before, taken: 0))).news.feed != before)
    }

    /// Changes after the hold are matched for the subscription that replaces it, and for none before.
    @Test func aHeldSubscriptionIsContinuedByAnother() async throws {
        let writer = try await Writer()
        let feed = LiveFeed(clock: { 0 }, makeFeed: { 5 })
        _ = try feed.subscribe(try Self.wish(1))
        for change in try await writer.create(1) { feed.changed(change) }
        feed.hold(
            .with {
                $0.gateway = 1
                $0.subscriptions = [1]
            })
        for change in try await writer.create(2) { feed.changed(change) }
        let answer = try feed.subscribe(try Self.wish(2, replaces: 1)).answer
        #expect(!answer.missed)
        for change in try await writer.create(3) { feed.changed(change) }
        let news = try #require(feed.next(Self.question(feed: 5, taken: 0))).news
        #expect(news.notices.map(\.position) == [1, 2, 3])
        #expect(news.notices.map(\.subscriptions) == [[1], [2], [2]])
        #expect(try feed.subscribe(try Self.wish(3, replaces: 9)).answer.missed, "Nobody of that number is held.")
    }

    /// Two gateways use the same subscription numbers, and each receives news of its own subscriptions only.
    @Test func eachGatewayHasNewsOfItsOwn() async throws {
        let writer = try await Writer()
        let feed = LiveFeed(clock: { 0 }, makeFeed: Self.counter(from: 5))
        let (first, second) = (try feed.subscribe(try Self.wish(1)), try feed.subscribe(try Self.wish(1, gateway: 2)))
        #expect([first.answer.feed, second.answer.feed] == [5, 6])
        _ = try feed.subscribe(try Self.wish(2, gateway: 2))
        #expect(feed.subscriptionCount == 3)
        for change in try await writer.create(1) { feed.changed(change) }
        let one = try #require(feed.next(Self.question(feed: 5, taken: 0))).news
        #expect(one.notices.map(\.subscriptions) == [[1]])
        let two = try #require(feed.next(Self.question(feed: 6, taken: 0, gateway: 2))).news
        #expect(two.notices.map { $0.subscriptions.sorted() } == [[1, 2]])
        #expect(two.position == 1)
        // What one gateway has taken, the other still has to take.
        #expect(feed.next(Self.question(feed: 5, taken: one.sent)) == nil)
        #expect(feed.next(Self.question(feed: 6, taken: 0, gateway: 2))?.news == two)
        feed.hold(Self.held(1, gateway: 2))
        for change in try await writer.create(2) { feed.changed(change) }
        let later = try #require(feed.next(Self.question(feed: 5, taken: one.sent))).news
        #expect(later.notices.map(\.position) == [2])
        let rest = try #require(feed.next(Self.question(feed: 6, taken: two.sent, gateway: 2))).news
        #expect(rest.notices.map(\.subscriptions) == [[2]])
    }

    /// A client may resume through another gateway.
    @Test func aCursorOfOneGatewayCountsAtAnother() async throws {
        let writer = try await Writer()
        let feed = LiveFeed(clock: { 0 }, makeFeed: Self.counter(from: 5))
        _ = try feed.subscribe(try Self.wish(1))
        for n in 1...2 { for change in try await writer.create(Int64(n)) { feed.changed(change) } }
        let resumed = try feed.subscribe(try Self.wish(1, gateway: 2, after: (5, 1))).answer
        #expect(!resumed.missed)
        let news = try #require(feed.next(Self.question(feed: resumed.feed, taken: 0, gateway: 2))).news
        #expect(news.notices.map(\.position) == [2])
    }

    /// A place runs one process: a second one with the same place is the restarted gateway.
    @Test func aGatewayThatIsStartedAgainBeginsWithNothing() throws {
        let feed = LiveFeed(clock: { 0 }, makeFeed: Self.counter(from: 5))
        _ = try feed.subscribe(try Self.wish(1, place: "gateway-1"))
        _ = try feed.subscribe(try Self.wish(1, gateway: 2, place: "gateway-2"))
        let again = try feed.subscribe(try Self.wish(1, gateway: 3, place: "gateway-1")).answer
        #expect(feed.subscriptionCount == 2)
        #expect(again.feed == 7)
        feed.settle("Note", in: 4)
        #expect(!(try feed.subscribe(try Self.wish(2, gateway: 3, place: "gateway-1")).isSettled), "Another feed.")
        feed.settle("Note", in: 6)
        #expect(try feed.subscribe(try Self.wish(2, gateway: 3, place: "gateway-1")).isSettled)
        #expect(feed.classes == ["Note"])
    }

    /// A gateway that was away for long learns that its subscriptions are gone; others are not affected.
    @Test func oneThatIsSilentLosesNothingOfTheOthers() throws {
        let time = Mutex<Int64>(0)
        let feed = LiveFeed(clock: { time.withLock { $0 } }, makeFeed: Self.counter(from: 5))
        _ = try feed.subscribe(try Self.wish(1, place: "gateway-1"))
        _ = try feed.subscribe(try Self.wish(1, gateway: 2, place: "gateway-2"))
        time.withLock { $0 = LiveFeed.silenceNanoseconds }
        #expect(feed.next(Self.question(feed: 6, taken: 0, gateway: 2)) == nil)
        time.withLock { $0 += 1 }
        feed.tidy()
        #expect(feed.subscriptionCount == 1)
        #expect(feed.next(Self.question(feed: 6, taken: 0, gateway: 2)) == nil)
        #expect(try #require(feed.next(Self.question(feed: 5, taken: 0))).news.feed == 7)
    }

    /// A running gateway is identified by its place, however often others restart.
    @Test func aNameInUseIsNotForgotten() throws {
        let feed = LiveFeed(clock: { 0 }, makeFeed: Self.counter(from: 5))
        _ = try feed.subscribe(try Self.wish(1, place: "gateway-1"))
        for process in 2...200 as ClosedRange<UInt64> {
            _ = try feed.subscribe(try Self.wish(1, gateway: process, place: "gateway-2"))
        }
        #expect(feed.subscriptionCount == 2)
        #expect(!(try feed.subscribe(try Self.wish(2, place: "gateway-1", after: (5, 0))).answer.missed))
        #expect(try feed.subscribe(try Self.wish(3, place: "gateway-1", after: (6, 0))).answer.missed)
    }

    /// Clients that invent class names cause no unbounded growth.
    @Test func namesOfClassesDoNotPileUp() throws {
        let time = Mutex<Int64>(0)
        let feed = LiveFeed(clock: { time.withLock { $0 } }, makeFeed: { 5 })
        for number in 1...2000 as ClosedRange<UInt64> {
            time.withLock { $0 += 1 }
            let name = "Class\(number)"
            let message = LiveSubscribe.with {
                $0.gateway = 1
                $0.subscription = number
                $0.className = name
            }
            let query = try LiveQuery(className: name, condition: [], keys: [], watch: [])
            _ = try feed.subscribe(LiveFeed.SubscribeRequest(message, query, .anonymous, client: 0))
            feed.settle(name, in: 5)
            feed.unsubscribe(
                .with {
                    $0.gateway = 1
                    $0.subscriptions = [number]
                })
        }
        #expect(feed.classes.count <= LiveFeed.lingeringMax)
        #expect(feed.watches("Class2000") && !feed.watches("Class1"))
        // A class that is no longer watched starts again with a job of the writer.
        let message = LiveSubscribe.with {
            $0.gateway = 1
            $0.subscription = 3000
            $0.className = "Class1"
        }
        let query = try LiveQuery(className: "Class1", condition: [], keys: [], watch: [])
        #expect(!(try feed.subscribe(LiveFeed.SubscribeRequest(message, query, .anonymous, client: 0)).isSettled))
    }
}
