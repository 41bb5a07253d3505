import GatewayService
import Messages
import ParseProtocol
import Testing

/// Which subscriptions receive which events, for any order of answers, news and ends of sessions.
@Suite struct SubscriptionRegistryTests {
    private final class Sink: LiveSink {
        func deliver(_ messages: SubscriptionRegistry.Deliveries.SubSequence) {}
        func stop() {}
    }

    private static func subscription(token: String? = "r:1", _ requestId: Int64 = 1) -> LiveSubscription {
        LiveSubscription(
            requestId: requestId,
            query: SubscribedQuery(className: "Note", condition: Array("{}".utf8), keys: [], watch: []),
            sessionToken: token, sink: Sink())
    }

    private static func answer(_ position: UInt64, feed: UInt64 = 5, sent: UInt64 = 0) -> LiveSubscribed {
        .with {
            $0.feed = feed
            $0.position = position
            $0.sent = sent
        }
    }

    private static func news(
        _ notices: [(position: UInt64, numbers: [UInt64])], feed: UInt64 = 5, sent: UInt64 = 1, position: UInt64
    ) -> LiveNews {
        .with { news in
            news.feed = feed
            news.sent = sent
            news.position = position
            news.notices = notices.map { notice in
                .with {
                    $0.kind = .create
                    $0.position = notice.position
                    $0.subscriptions = notice.numbers
                    $0.object = 1
                }
            }
        }
    }

    private static func take(
        _ register: inout SubscriptionRegistry, _ news: LiveNews, _ standing: LiveTriggerPolicy = .open
    ) -> (deliveries: SubscriptionRegistry.Deliveries, strangers: [UInt64]) {
        register.take(news, [Array("{}".utf8)], of: "catalog", policy: { _ in standing })
    }

    /// `s` for subscribed, the position of an event, `e` for the end.
    private static func short(_ deliveries: SubscriptionRegistry.Deliveries) -> [String] {
        deliveries.map { _, message in
            switch message {
            case .subscribed: "s"
            case .event(let event): String(event.cursor.position)
            case .refused(let problem, _): "r\(problem.code)"
            case .ended(let problem): problem.reconnects ? "reconnect" : "e\(problem.code)"
            case .loggedOut: "out"
            }
        }
    }

    private static func delivered(_ beginning: SubscriptionRegistry.ReplyResult) -> [String] {
        switch beginning {
        case .deliver(let deliveries): short(deliveries)
        case .again: ["again"]
        }
    }

    @Test func whatComesBeforeTheAnswerIsToldAfterIt() {
        var register = SubscriptionRegistry()
        let number = register.begin(Self.subscription(), after: nil)
        let (first, second) = (register.startsPolling("catalog"), register.startsPolling("catalog"))
        #expect(first && !second)
        let isKnown = register.identify(number, "ann")
        #expect(isKnown)
        let early = Self.take(&register, Self.news([(1, [number])], position: 1)).deliveries
        #expect(early.isEmpty)
        let began = Self.delivered(register.began(number, Self.answer(0)))
        #expect(began == ["s", "1"])
        let later = Self.take(&register, Self.news([(2, [number])], sent: 2, position: 2)).deliveries
        #expect(Self.short(later) == ["2"])
        let question = register.question("catalog")
        #expect(question.map { [$0.feed, $0.taken] } == [5, 2])
    }

    /// Events decided before the look-up are still sent, and events under the new rights come after them.
    @Test func aSessionThatIsLookedUpAgainGoesOnWhereItWasHeld() {
        var register = SubscriptionRegistry()
        let (ann, guest) = (Self.subscription(), Self.subscription(token: nil, 2))
        let number = register.begin(ann, after: nil)
        let other = register.begin(guest, after: nil)
        _ = register.identify(number, "ann")
        _ = register.identify(other, "")
        _ = register.began(number, Self.answer(0))
        _ = register.began(other, Self.answer(0))
        let others = register.forget(.with { $0.userIds = ["bob"] })
        #expect(others.isEmpty)
        let renewals = register.forget(.with { $0.everything = true })
        #expect(renewals.map(\.replaces) == [number], "A guest has no rights that could change.")
        let again = register.forget(.with { $0.everything = true })
        #expect(again.isEmpty, "It is being looked up.")
        let renewed = register.begin(ann, after: nil, replacing: number)
        _ = register.identify(renewed, "ann")
        // News up to number 3 contain the last events of the old subscription; the answer overtakes them.
        let silent = Self.delivered(register.began(renewed, Self.answer(8, sent: 3)))
        #expect(silent.isEmpty, "The client knows that it has begun.")
        let last = Self.take(&register, Self.news([(7, [number])], sent: 3, position: 8)).deliveries
        #expect(Self.short(last) == ["7"])
        let next = Self.take(&register, Self.news([(9, [number, renewed])], sent: 4, position: 9))
        #expect(Self.short(next.deliveries) == ["9"])
        #expect(next.strangers == [number])
        #expect(register.count == 2)
    }

    /// When a class gets find triggers, only subscriptions that the code approved continue.
    @Test(
        arguments: [
            (.open, [1: "1", 2: "1"]), (.decided, [1: "e119", 2: "1"]), (.closed, [1: "e119", 2: "e119"]),
        ] as [(LiveTriggerPolicy, [Int64: String])])
    func aSubscriptionEndsWhenFindsWouldShowSomethingElse(_ standing: LiveTriggerPolicy, _ expected: [Int64: String]) {
        var register = SubscriptionRegistry()
        let (own, codes) = (Self.subscription(token: nil), Self.subscription(token: nil, 2))
        own.decide(own.query, byCode: false)
        codes.decide(codes.query, byCode: true)
        let numbers = [own, codes].map { subscription in
            let number = register.begin(subscription, after: nil)
            _ = register.identify(number, "")
            _ = register.began(number, Self.answer(0))
            return number
        }
        let deliveries = Self.take(&register, Self.news([(1, numbers)], position: 1), standing).deliveries
        let heard = Dictionary(deliveries.map { ($0.0.requestId, Self.short([$0])[0]) }) { $1 }
        #expect(heard == expected)
    }

    /// A gateway that may have missed an order sends no event that was decided under older rights. If its session state
    /// is uncertain, this affects subscriptions with a session; if its trigger state is uncertain, all subscriptions.
    @Test(
        arguments: [
            (true, true, [1: "1", 2: "1"]), (false, true, [1: "reconnect", 2: "1"]),
            (true, false, [1: "reconnect", 2: "reconnect"]),
        ] as [(Bool, Bool, [Int64: String])])
    func whatCannotBeTrustedIsNotTold(sessions: Bool, classes: Bool, expected: [Int64: String]) {
        var register = SubscriptionRegistry()
        let numbers = [Self.subscription(), Self.subscription(token: nil, 2)].map { subscription in
            let number = register.begin(subscription, after: nil)
            _ = register.identify(number, "ann")
            _ = register.began(number, Self.answer(0))
            return number
        }
        let (deliveries, strangers) = register.take(
            Self.news([(1, numbers)], position: 1), [Array("{}".utf8)], of: "catalog",
            trust: .init(sessions: sessions, classes: classes)
        ) { _ in .open }
        let heard = Dictionary(deliveries.map { ($0.0.requestId, Self.short([$0])[0]) }) { $1 }
        #expect(heard == expected)
        #expect(strangers.count == expected.values.count { $0 == "reconnect" })
        #expect(register.count == expected.values.count { $0 == "1" })
    }

    @Test func rightsThatMayChangeWhileTheServiceIsAskedCount() {
        var register = SubscriptionRegistry()
        let subscription = Self.subscription()
        let early = register.begin(subscription, after: nil)
        _ = register.forget(.with { $0.userIds = ["anybody"] })
        let isKnown = register.identify(early, "ann")
        #expect(!isKnown, "It was not known yet whose session it is.")
        register.end(early)
        let number = register.begin(subscription, after: nil)
        _ = register.identify(number, "ann")
        let renewals = register.forget(.with { $0.userIds = ["ann"] })
        #expect(renewals.isEmpty, "Whoever asks asks again.")
        _ = Self.take(&register, Self.news([(5, [number])], position: 5))
        let began = Self.delivered(register.began(number, Self.answer(4)))
        #expect(began == ["again"])
        #expect(register.count == 0)
    }

    @Test func anotherFeedSendsItsClientsBack() {
        var register = SubscriptionRegistry()
        let (first, second) = (Self.subscription(), Self.subscription(token: nil, 2))
        let number = register.begin(first, after: nil)
        _ = register.identify(number, "ann")
        _ = register.began(number, Self.answer(0))
        let asking = register.begin(second, after: nil)
        _ = register.identify(asking, "")
        let deliveries = Self.take(&register, Self.news([], feed: 6, sent: 0, position: 0)).deliveries
        #expect(Self.short(deliveries) == ["reconnect"])
        #expect(deliveries.first?.subscription === first)
        // A subscription that was being requested meanwhile belongs to the new feed.
        let began = Self.delivered(register.began(asking, Self.answer(0, feed: 6)))
        #expect(began == ["s"])
        // A renewal that missed events must not continue silently.
        let renewed = register.begin(first, after: nil, replacing: number)
        _ = register.identify(renewed, "ann")
        var missed = Self.answer(3, feed: 6)
        missed.missed = true
        let end = Self.delivered(register.began(renewed, missed))
        #expect(end == ["reconnect"])
    }

    @Test func unsubscribingStopsEventsAtTheService() {
        var register = SubscriptionRegistry()
        let subscription = Self.subscription()
        let number = register.begin(subscription, after: nil)
        _ = register.identify(number, "ann")
        _ = register.began(number, Self.answer(0))
        let (ended, again) = (register.end(subscription), register.end(subscription))
        #expect(ended == [number] && again == [])
        let later = Self.take(&register, Self.news([(1, [number])], position: 1))
        #expect(later.deliveries.isEmpty && later.strangers == [number])
        let question = register.question("catalog")
        #expect(question == nil, "Nobody asks for news any more.")
    }

    /// The service may begin the subscription after the gateway's unsubscription. The gateway then repeats the
    /// unsubscription.
    @Test func endingBeforeTheAnswerRemovesTheSubscription() {
        var register = SubscriptionRegistry()
        let subscription = Self.subscription()
        let number = register.begin(subscription, after: nil)
        _ = register.identify(number, "ann")
        #expect(register.has(number))
        register.end(subscription)
        let late = Self.delivered(register.began(number, Self.answer(0)))
        #expect(late.isEmpty)
        #expect(!register.has(number))
    }
}
