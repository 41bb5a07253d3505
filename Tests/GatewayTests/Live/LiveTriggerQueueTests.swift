import GatewayService
import Messages
import ParseProtocol
import Testing

/// Events that wait for cloud code: in order per subscription, one call for subscriptions with the same event, and
/// limited in number.
@Suite struct LiveTriggerQueueTests {
    private final class Sink: LiveSink {
        func deliver(_ messages: SubscriptionRegistry.Deliveries.SubSequence) {}
        func stop() {}
    }

    private static func subscription(
        _ requestId: Int64 = 1, token: String? = nil, keys: [String] = [], of className: String = "Note",
        on sink: any LiveSink = Sink()
    ) -> LiveSubscription {
        LiveSubscription(
            requestId: requestId,
            query: SubscribedQuery(className: className, condition: Array("{}".utf8), keys: keys, watch: []),
            sessionToken: token, sink: sink)
    }

    private static func event(_ position: UInt64, _ text: String = "{}") -> LiveMessage {
        .event(delivery(position, text))
    }

    private static func delivery(_ position: UInt64, _ text: String = "{}") -> LiveDelivery {
        LiveDelivery(
            kind: .create, cursor: LiveCursor(feed: 1, position: position), object: Array(text.utf8), original: nil)
    }

    private static func turns(bytesMax: Int = 1 << 20, _ backlog: LiveBacklog = LiveBacklog()) -> LiveTriggerQueue {
        LiveTriggerQueue(bytesMax: bytesMax, backlog: backlog)
    }

    /// The requestId, and the position of an event, `r` for a refusal, or `e` and the code for the end.
    private static func short(_ step: LiveTriggerQueue.Step) -> [String] {
        step.deliveries.map { subscription, message in
            let what =
                switch message {
                case .subscribed: "s"
                case .event(let event): String(event.cursor.position)
                case .refused(_, let cursor): "r\(cursor.position)"
                case .ended(let problem): "e\(problem.code)"
                case .loggedOut: "out"
                }
            return "\(subscription.requestId):\(what)"
        }
    }

    @Test func withoutATriggerEverythingPassesAtOnce() {
        var turns = Self.turns()
        let subscription = Self.subscription()
        let step = turns.take([(subscription, Self.event(1)), (subscription, Self.event(2))]) { _ in false }
        #expect(Self.short(step) == ["1:1", "1:2"])
        #expect(step.calls.isEmpty)
        #expect(turns.isEmpty)
    }

    @Test func aClassIsAskedAboutOnceATurn() {
        var turns = Self.turns()
        let subscriptions = (1...3).map { Self.subscription($0) } + [Self.subscription(4, of: "Free")]
        var asked: [String] = []
        let step = turns.take(subscriptions.map { ($0, Self.event(1)) }) {
            asked.append($0)
            return false
        }
        #expect(Self.short(step) == ["1:1", "2:1", "3:1", "4:1"])
        #expect(asked == ["Note", "Free"])
    }

    /// The code answers the second call first, but the event is sent second. A class without a trigger does not wait
    /// for it.
    @Test func theOrderOfASubscriptionIsKept() {
        var turns = Self.turns()
        let (bound, free) = (Self.subscription(1), Self.subscription(2, of: "Free"))
        let first = turns.take([(bound, Self.event(1)), (bound, Self.event(2)), (free, Self.event(3))]) {
            $0 == "Note"
        }
        #expect(Self.short(first) == ["2:3"])
        #expect(first.calls.map(\.event.cursor.position) == [1, 2])
        let end = turns.take([(bound, .ended(LiveProblem(119, "no")))]) { _ in true }
        #expect(end.deliveries.isEmpty, "What was sent before the end comes before it.")
        let second = turns.finish(first.calls[1].number, .deliver(Self.delivery(2)))
        #expect(second.deliveries.isEmpty)
        let both = turns.finish(first.calls[0].number, .deliver(Self.delivery(1)))
        #expect(Self.short(both) == ["1:1", "1:2", "1:e119"])
        #expect(both.over.map(\.requestId) == [1])
        #expect(turns.isEmpty)
    }

    @Test func whatTheCodeDoesNotSendIsLeftOutAndWhatItRefusesIsSaid() {
        var turns = Self.turns()
        let subscription = Self.subscription()
        let step = turns.take((1...3).map { (subscription, Self.event($0)) }) { _ in true }
        _ = turns.finish(step.calls[2].number, .deliver(Self.delivery(3)))
        _ = turns.finish(step.calls[1].number, .refused(LiveProblem(141, "no")))
        let last = turns.finish(step.calls[0].number, .withheld)
        #expect(Self.short(last) == ["1:r2", "1:3"])
        #expect(last.over.isEmpty)
        #expect(turns.isEmpty)
    }

    /// One call per session; subscriptions with other rights or other fields get separate calls.
    @Test func thoseWhoGetTheSameAreOneCall() {
        var turns = Self.turns()
        let guests = (1...3).map { Self.subscription($0) }
        let others = [
            Self.subscription(4, token: "r:1"), Self.subscription(5, token: "r:1"), Self.subscription(6, token: "r:2"),
            Self.subscription(7, keys: ["a"]),
        ]
        let step = turns.take((guests + others).map { ($0, Self.event(1)) }) { _ in true }
        #expect(step.calls.count == 4)
        let deliveries = turns.finish(step.calls[0].number, .deliver(Self.delivery(1)))
        #expect(Self.short(deliveries) == ["1:1", "2:1", "3:1"])
        let seen = turns.take([(guests[0], Self.event(2, #"{"a":1}"#)), (guests[1], Self.event(2, "{}"))]) { _ in true }
        #expect(seen.calls.count == 2, "What they may see is not the same.")
    }

    @Test func callsUnderWayAreBounded() {
        var turns = Self.turns()
        let subscription = Self.subscription()
        let count = LiveTriggerQueue.callsAtOnce + 2
        var step = turns.take((1...UInt64(count)).map { (subscription, Self.event($0)) }) { _ in true }
        #expect(step.calls.count == LiveTriggerQueue.callsAtOnce)
        var calls = step.calls
        var deliveries: [String] = []
        while let call = calls.first {
            calls.removeFirst()
            step = turns.finish(call.number, .deliver(call.event))
            calls += step.calls
            deliveries += Self.short(step)
        }
        #expect(deliveries == (1...count).map { "1:\($0)" })
        #expect(turns.isEmpty)
    }

    /// A connection whose triggers hang is closed as too slow; others are not.
    @Test func theBacklogOfAConnectionIsLimited() {
        let backlog = LiveBacklog()
        var turns = Self.turns(bytesMax: 1000, backlog)
        let sink = Sink()
        let (first, second) = (Self.subscription(1, on: sink), Self.subscription(2, on: sink))
        let other = Self.subscription(3)
        let large = String(repeating: "x", count: 2000)
        let alone = turns.take([(first, Self.event(1, large))]) { _ in true }
        #expect(alone.deliveries.isEmpty, "One that is alone passes whatever its size.")
        let step = turns.take([(second, Self.event(2)), (other, Self.event(2))]) { _ in true }
        #expect(Self.short(step) == ["2:e155"])
        #expect(step.over.map(\.requestId) == [2])
        let late = turns.take([(second, Self.event(3))]) { _ in true }
        #expect(late.deliveries.isEmpty, "It is over.")
        turns.forget(first)
        turns.forget(other)
        _ = turns.finish(alone.calls[0].number, .deliver(Self.delivery(1)))
        _ = turns.finish(step.calls[0].number, .deliver(Self.delivery(2)))
        #expect(turns.isEmpty)
        #expect(backlog.add(LiveBacklog.bytesMax), "Nothing is counted any more.")
    }

    @Test func endedSubscriptionsCauseNoTriggerCalls() {
        var turns = Self.turns()
        let (busy, gone) = (Self.subscription(1), Self.subscription(2))
        let step = turns.take((1...UInt64(LiveTriggerQueue.callsAtOnce)).map { (busy, Self.event($0)) }) { _ in true }
        _ = turns.take([(gone, Self.event(99))]) { _ in true }
        turns.forget(gone)
        let next = turns.finish(step.calls[0].number, .withheld)
        #expect(next.calls.isEmpty)
    }

    /// The session of the client that has logged out is unknown when the code for its last event is about to be called.
    @Test func aSubscriptionThatLoggedOutEndsWithoutAnError() {
        var turns = Self.turns()
        let (left, expired) = (Self.subscription(1, token: "r:1"), Self.subscription(2, token: "r:2"))
        let step = turns.take([(left, Self.event(1)), (expired, Self.event(1))]) { _ in true }
        left.logOut()
        for (call, expected) in zip(step.calls, ["1:out", "2:e209"]) {
            let end = turns.finish(call.number, .ended(LiveProblem(209, "no")))
            #expect(Self.short(end) == [expected])
        }
    }

    /// While the code is unreachable, no event bypasses it.
    @Test func aSubscriptionEndsWhereTheCodeCannotBeAsked() {
        var turns = Self.turns()
        let subscription = Self.subscription()
        let step = turns.take([(subscription, Self.event(1)), (subscription, Self.event(2))]) { _ in true }
        let away = LiveProblem(2, "away", reconnects: true)
        let end = turns.finish(step.calls[0].number, .ended(away))
        #expect(Self.short(end) == ["1:e2"])
        let rest = turns.finish(step.calls[1].number, .deliver(Self.delivery(2)))
        #expect(rest.deliveries.isEmpty)
        #expect(turns.isEmpty)
    }
}
