import MessageBus
import Messages
import Testing

/// The broker's decisions, without sockets: which lane gets a request, and what happens when a replica dies.
@Suite final class DispatcherTests: DispatcherCase {
    @Test func theLeastLoadedLaneGetsTheRequest() {
        _ = after { $0.hello(first, hello(), now: 0, &$1) }
        _ = after { $0.hello(second, hello(), now: 0, &$1) }
        let lanes = (0..<6).flatMap { n in after { $0.request(request(), from: "\(n)", now: 0, &$1) }.sent.map(\.lane) }
        #expect(lanes.filter { $0 == first }.count == 3)
        #expect(lanes.filter { $0 == second }.count == 3)
    }

    @Test func aRequestForAReplicaGoesThereWhileItIsConnected() {
        _ = after { $0.hello(first, hello(replica: "catalog-1"), now: 0, &$1) }
        _ = after { $0.hello(second, hello(replica: "catalog-2"), now: 0, &$1) }
        func lanes(_ replica: String) -> [[UInt8]] {
            after { $0.request(request(), from: "gateway", to: replica, now: 0, &$1) }.sent.map(\.lane)
        }
        for _ in 0..<4 { #expect(lanes("catalog-2") == [second]) }
        #expect(lanes("catalog-1") == [first])
        #expect(lanes("catalog-3") == [first])
        #expect(subject.lanesByService == ["catalog": 2])
        #expect(subject.unansweredByService == ["catalog": 6])
        _ = after { dispatcher, _ in dispatcher.goodbye(second, now: 0) }
        #expect(lanes("catalog-2") == [first])
    }

    /// The number of requests that each lane got in a closed loop: each client waits for its answer before the next
    /// request, and `lanes` gives the steps that a lane needs for one request.
    private func closedLoop(
        _ lanes: [[UInt8]: Int], clients: Int, steps: Int
    ) -> (taken: [[UInt8]: Int], underWay: [[UInt8]: Int]) {
        for lane in lanes.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            _ = after { $0.hello(lane, hello(), now: 0, &$1) }
        }
        var taken: [[UInt8]: Int] = [:]
        var underWay: [[UInt8]: [BusMessage]] = [:]
        func ask() {
            for (lane, message) in after({ $0.request(request(), from: "client", now: 0, &$1) }).sent {
                taken[lane, default: 0] += 1
                underWay[lane, default: []].append(message)
            }
        }
        for _ in 0..<clients { ask() }
        for step in 1...steps {
            for (lane, pace) in lanes where step % pace == 0 && underWay[lane]?.isEmpty == false {
                guard let answered = underWay[lane]?.removeFirst() else { continue }
                _ = after { $0.reply(BusMessage(envelope: answered.envelope.reply()), from: lane, now: 0, &$1) }
                ask()
            }
        }
        return (taken, underWay.mapValues(\.count))
    }

    @Test(arguments: [1, 2, 7, 64]) func equalReplicasShareEvenly(clients: Int) {
        let taken = closedLoop([first: 1, second: 1, [3]: 1], clients: clients, steps: 3000).taken
        let total = taken.values.reduce(0, +)
        for lane in [first, second, [3]] {
            let share = Double(taken[lane, default: 0]) / Double(total)
            #expect(abs(share - 1.0 / 3) < 0.02, "\(lane) got \(share) of \(total).")
        }
    }

    /// A replica that needs eight times as long gets an eighth of the requests, and has no more in progress than the
    /// fast one.
    @Test func aSlowReplicaGetsLess() {
        let (taken, underWay) = closedLoop([first: 1, second: 8], clients: 32, steps: 4000)
        let ratio = Double(taken[first, default: 0]) / Double(taken[second, default: 1])
        #expect(ratio > 7 && ratio < 9, "The quick one got \(ratio) times as many.")
        #expect(underWay[second, default: .max] <= 17)
    }

    @Test func requestsAreCountedByReplica() {
        for (id, replica) in [
            ("catalog-1-5-0", "catalog-1"), ("catalog-1-5-1", "catalog-1"), ("catalog-2-6-0", "catalog-2"),
        ] {
            _ = after { $0.hello(Array(id.utf8), hello(replica: replica), now: 0, &$1) }
        }
        for n in 0..<6 { _ = after { $0.request(request(), from: "\(n)", now: 0, &$1) } }
        #expect(subject.requestsByReplica == ["catalog-1": 4, "catalog-2": 2])
        _ = after { $0.gone(Array("catalog-2-6-0".utf8), now: 0, &$1) }
        #expect(subject.requestsByReplica.keys.sorted() == ["catalog-1"])
    }

    @Test func writesGoToTheWriterOnly() {
        _ = after { $0.hello(first, hello(), now: 0, &$1) }
        _ = after { $0.hello(second, hello(writer: true), now: 0, &$1) }
        for _ in 0..<4 {
            #expect(after { $0.request(request(writes: true), from: "a", now: 0, &$1) }.sent.map(\.lane) == [second])
        }
    }

    @Test func aWriteWaitsForAWriterToAppear() {
        _ = after { $0.hello(first, hello(), now: 0, &$1) }
        #expect(after { $0.request(request(writes: true), from: "a", now: 0, &$1) }.sent.isEmpty)
        #expect(after { $0.hello(first, hello(writer: true), now: 0, &$1) }.sent.map(\.lane) == [first])
    }

    @Test func theReplyCarriesTheSendersOwnCorrelation() throws {
        _ = after { $0.hello(first, hello(), now: 0, &$1) }
        let sent = try #require(after { $0.request(request(), from: "a", now: 0, &$1) }.sent.first).message
        let reply = BusMessage(envelope: sent.envelope.reply(), body: [9])
        let answer = try #require(after { $0.reply(reply, from: first, now: 0, &$1) }.answered["a"])
        #expect(answer.envelope.correlation == 77)
        #expect(answer.body == [9])
    }

    @Test func aReadOfADeadLaneGoesToAnotherLane() {
        _ = after { $0.hello(first, hello(), now: 0, &$1) }
        _ = after { $0.request(request(), from: "a", now: 0, &$1) }
        _ = after { $0.hello(second, hello(), now: 0, &$1) }
        #expect(after { $0.gone(first, now: 0, &$1) }.sent.map(\.lane) == [second])
    }

    @Test func aKeyedWriteOfADeadLaneIsRepeatedInOrder() {
        _ = after { $0.hello(first, hello(writer: true), now: 0, &$1) }
        _ = after { $0.request(request(writes: true, key: "k1"), from: "a", now: 0, &$1) }
        _ = after { $0.request(request(writes: true, key: "k2"), from: "b", now: 0, &$1) }
        #expect(after { $0.gone(first, now: 0, &$1) }.answered.isEmpty)
        let sent = after { $0.hello(second, hello(writer: true), now: 0, &$1) }.sent
        #expect(sent.map(\.message.envelope.idempotencyKey) == ["k1", "k2"])
    }

    @Test func aWriteWithoutKeyIsNeverRepeated() throws {
        _ = after { $0.hello(first, hello(writer: true), now: 0, &$1) }
        _ = after { $0.hello(second, hello(writer: true), now: 0, &$1) }
        let lane = try #require(after { $0.request(request(writes: true), from: "a", now: 0, &$1) }.sent.first).lane
        let outcome = after { $0.gone(lane, now: 0, &$1) }
        #expect(outcome.sent.isEmpty)
        #expect(outcome.answered["a"]?.envelope.failure.code == 124)
        #expect(outcome.answered["a"]?.envelope.failure.retriable == false)
    }

    @Test func aRequestThatKillsEveryReplicaIsGivenUp() {
        _ = after { $0.hello([0], hello(), now: 0, &$1) }
        _ = after { $0.request(request(), from: "a", now: 0, &$1) }
        var answered: [String: BusMessage] = [:]
        for n in 1...UInt8(Subject.deathsMax) {
            answered = after { $0.gone([n - 1], now: 0, &$1) }.answered
            _ = after { $0.hello([n], hello(), now: 0, &$1) }
        }
        #expect(answered["a"]?.envelope.hasFailure == true)
    }

    @Test func pastTheBoundTheAnswerIsUnavailableAtOnce() {
        for n in 0..<Subject.waitingMax { _ = after { $0.request(request(), from: "\(n)", now: 0, &$1) } }
        let answer = after { $0.request(request(), from: "last", now: 0, &$1) }.answered["last"]
        #expect(answer?.envelope.failure.code == 2)
        #expect(answer?.envelope.failure.retriable == true)
    }

    @Test func aLaneGetsNoMoreThanItsWindow() {
        _ = after { $0.hello(first, hello(), now: 0, &$1) }
        let sent = (0...Subject.windowMax).map { n in
            after { $0.request(request(), from: "\(n)", now: 0, &$1) }.sent.count
        }
        #expect(sent.reduce(0, +) == Subject.windowMax)
    }

    /// Requests that wait for other requests of the same service must not block those.
    @Test func aServiceWithoutAWindowGetsEverything() {
        subject = Subject(withoutWindow: ["catalog"])
        _ = after { $0.hello(first, hello(writer: true), now: 0, &$1) }
        let sent = (0..<3 * Subject.windowMax).map { n in
            after { $0.request(request(writes: true), from: "\(n)", now: 0, &$1) }.sent.count
        }
        #expect(sent.reduce(0, +) == 3 * Subject.windowMax)
    }

    @Test func aPassedDeadlineIsAnswered() {
        _ = after { $0.hello(first, hello(), now: 0, &$1) }
        _ = after { $0.request(request(deadline: 50), from: "a", now: 0, &$1) }
        #expect(after { $0.tick(now: 49, &$1) }.answered.isEmpty)
        #expect(after { $0.tick(now: 50, &$1) }.answered["a"]?.envelope.failure.code == 124)
    }

    @Test func aRequestThatNoLaneTookIsUnavailableNotUnknown() {
        _ = after { $0.request(request(writes: true), from: "a", now: 0, &$1) }
        let answer = after { $0.tick(now: Subject.laneWaitMax, &$1) }.answered["a"]
        #expect(answer?.envelope.failure.code == 2)
    }

    @Test func aSilentLaneCountsAsDead() {
        _ = after { $0.hello(first, hello(), now: 0, &$1) }
        _ = after { $0.request(request(), from: "a", now: 0, &$1) }
        _ = after { $0.hello(second, hello(), now: Subject.silenceMax, &$1) }
        let outcome = after { $0.tick(now: Subject.silenceMax + 1, &$1) }
        #expect(outcome.sent.isEmpty)
        #expect(outcome.answered["a"]?.envelope.failure.code == 124)
        #expect(subject.lanes[first] == nil)
    }

    @Test("T2b: what a lane is stuck on is never sent again") func whatALaneIsStuckOnIsNeverSentAgain() throws {
        _ = after { $0.hello(first, hello(), now: 0, &$1) }
        var sent: [BusMessage] = []
        for name in ["handed on", "answered", "stuck", "behind"] {
            sent += after { $0.request(request(), from: name, now: 0, &$1) }.sent.map(\.message)
        }
        // The lane's answer shows its progress: it passed the first request, which it gave to the store's readers.
        _ = after { $0.reply(BusMessage(envelope: sent[1].envelope.reply()), from: first, now: 0, &$1) }
        _ = after { $0.hello(second, hello(), now: Subject.silenceMax, &$1) }
        let outcome = after { $0.tick(now: Subject.silenceMax + 1, &$1) }
        #expect(outcome.answered.keys.sorted() == ["stuck"])
        #expect(outcome.answered["stuck"]?.envelope.failure.code == 124)
        #expect(
            outcome.sent.map(\.message.envelope.correlation).sorted() == [0, 3].map { sent[$0].envelope.correlation })
        // The other requests get one more lane; if that hangs too, they may be the cause.
        let again = after { $0.tick(now: 2 * Subject.silenceMax + 2, &$1) }
        #expect(again.sent.isEmpty)
        #expect(again.answered.keys.sorted() == ["behind", "handed on"])
    }

    /// A process hangs with all its lanes, for example on its disk; they are noticed one after the other.
    @Test func aLaneThatAlreadyHungIsNoDeathOfWhatItGetsThen() {
        let lanes = ["catalog-1-5-0", "catalog-1-5-1"].map { Array($0.utf8) }
        _ = after { $0.hello(lanes[0], hello(writer: true), now: 0, &$1) }
        for name in ["stuck", "behind"] { _ = after { $0.request(request(), from: name, now: 100, &$1) } }
        _ = after { $0.request(request(writes: true, key: "k"), from: "keyed", now: 100, &$1) }
        _ = after { $0.hello(lanes[1], hello(writer: true), now: 500, &$1) }
        #expect(after { $0.tick(now: Subject.silenceMax + 1, &$1) }.answered.keys.sorted() == ["stuck"])
        #expect(after { $0.tick(now: Subject.silenceMax + 501, &$1) }.answered.isEmpty)
        #expect(subject.lanes.isEmpty)
        // The process continues. If it hangs with them again, they may be the cause.
        let back = after { $0.hello(lanes[1], hello(writer: true), now: 7000, &$1) }
        #expect(back.sent.map(\.message.envelope.idempotencyKey) == ["", "k"])
        let again = after { $0.tick(now: 7001 + Subject.silenceMax, &$1) }
        #expect(again.answered.keys.sorted() == ["behind", "keyed"])
    }

    @Test func theRequestsOfASilentLaneAvoidThoseOfItsProcessThatAreSilentToo() {
        let lanes = ["catalog-1-5-0", "catalog-1-5-1", "catalog-2-6-0"].map { Array($0.utf8) }
        _ = after { $0.hello(lanes[0], hello(), now: 0, &$1) }
        for name in ["stuck", "behind"] { _ = after { $0.request(request(), from: name, now: 100, &$1) } }
        _ = after { $0.hello(lanes[1], hello(), now: 500, &$1) }
        _ = after { $0.hello(lanes[2], hello(replica: "catalog-2"), now: Subject.silenceMax, &$1) }
        // The lane of the other process has more to do.
        _ = after { $0.request(request(), from: "other", to: "catalog-2", now: Subject.silenceMax, &$1) }
        #expect(after { $0.tick(now: Subject.silenceMax + 1, &$1) }.sent.map(\.lane) == [lanes[2]])
    }

    // MARK: Broken connections

    @Test("T2f: one client cannot fill the line") func oneClientCannotFillTheLine() {
        for n in 0..<Subject.waitingPerClientMax {
            #expect(after { $0.request(request(network: "7f000001"), from: "\(n)", now: 0, &$1) }.answered.isEmpty)
        }
        let refused = after { $0.request(request(network: "7f000001"), from: "more", now: 0, &$1) }.answered["more"]
        #expect(refused?.envelope.failure.code == 155)
        #expect(refused?.envelope.failure.retryAfter == 1)
        #expect(after { $0.request(request(network: "7f000002"), from: "other", now: 0, &$1) }.answered.isEmpty)
    }

    @Test func accountsOfOneNetworkShareItsPlacesAndItsWeight() throws {
        for n in 0..<Subject.waitingPerNetworkMax {
            let message = request(network: "7f000001", user: "user \(n % 8)")
            #expect(after { $0.request(message, from: "\(n)", now: 0, &$1) }.answered.isEmpty)
        }
        let more = request(network: "7f000001", user: "user 8")
        let refused = after { $0.request(more, from: "more", now: 0, &$1) }.answered["more"]
        #expect(refused?.envelope.failure.code == 155)
        for n in 0..<20 { _ = after { $0.request(request(network: "0a000001"), from: "other \(n)", now: 0, &$1) } }
        let sent = after { $0.hello(first, hello(), now: 0, &$1) }.sent.map(\.message.envelope.principal.network)
        #expect(sent.prefix(50).count { $0 == "0a000001" } >= 20, "\(sent.prefix(50))")
    }

    @Test func aFloodWaitsBehindOtherClients() throws {
        for n in 0..<200 { _ = after { $0.request(request(network: "7f000001"), from: "many \(n)", now: 0, &$1) } }
        _ = after { $0.request(request(network: "7f000002"), from: "one", now: 0, &$1) }
        let sent = after { $0.hello(first, hello(), now: 0, &$1) }.sent.map(\.message)
        #expect(sent.count == Subject.windowMax)
        #expect(sent.firstIndex { $0.envelope.principal.network == "7f000002" } ?? .max <= 2)
    }

    @Test func aLeavingLaneFinishesWhatItHas() throws {
        _ = after { $0.hello(first, hello(), now: 0, &$1) }
        let sent = try #require(after { $0.request(request(), from: "a", now: 0, &$1) }.sent.first).message
        subject.goodbye(first, now: 0)
        #expect(after { $0.request(request(), from: "b", now: 0, &$1) }.sent.isEmpty)
        let reply = BusMessage(envelope: sent.envelope.reply())
        #expect(after { $0.reply(reply, from: first, now: 0, &$1) }.answered["a"] != nil)
    }

    @Test func oneGoodbyeSpeaksForTheWholeProcess() {
        for id in ["catalog-1-5-0", "catalog-1-5-1", "catalog-2-6-0"] {
            _ = after { $0.hello(Array(id.utf8), hello(), now: 0, &$1) }
        }
        subject.goodbye(Array("catalog-1-5-1".utf8), now: 0)
        // A heartbeat from the other socket, which does not know of the goodbye yet, changes nothing.
        _ = after { $0.hello(Array("catalog-1-5-0".utf8), hello(), now: 0, &$1) }
        let lanes = (0..<6).flatMap { n in after { $0.request(request(), from: "\(n)", now: 0, &$1) }.sent.map(\.lane) }
        #expect(lanes == Array(repeating: Array("catalog-2-6-0".utf8), count: 6))
    }

    @Test func aLeavingLaneIsNotTakenForDead() {
        _ = after { $0.hello(first, hello(), now: 0, &$1) }
        _ = after { $0.request(request(), from: "a", now: 0, &$1) }
        subject.goodbye(first, now: Subject.silenceMax)
        #expect(after { $0.tick(now: Subject.silenceMax + 1, &$1) }.answered.isEmpty)
        #expect(subject.lanes[first] != nil)
    }

    /// A writer takes time to leave, and the next one comes after it: no waiting client gets an error that no writer
    /// exists.
    @Test func requestsWaitForTheNextWriter() {
        _ = after { $0.hello(first, hello(writer: true), now: 0, &$1) }
        subject.goodbye(first, now: 0)
        _ = after { $0.request(request(writes: true), from: "a", now: 0, &$1) }
        var now: Int64 = 0
        while now < Subject.laneWaitMax + 2000 {
            now += 1000
            subject.goodbye(first, now: now)
            #expect(after { $0.tick(now: now, &$1) }.answered.isEmpty)
        }
        _ = after { $0.gone(first, now: now, &$1) }
        #expect(after { $0.tick(now: now + Subject.laneWaitMax - 1, &$1) }.answered.isEmpty)
        #expect(after { $0.hello(second, hello(writer: true), now: now, &$1) }.sent.map(\.lane) == [second])
    }

    @Test func afterALeavingWriterTheWaitIsBoundedAgain() {
        _ = after { $0.hello(first, hello(writer: true), now: 0, &$1) }
        subject.goodbye(first, now: 0)
        _ = after { $0.request(request(writes: true), from: "a", now: 0, &$1) }
        _ = after { $0.tick(now: 100, &$1) }
        _ = after { $0.gone(first, now: 100, &$1) }
        #expect(after { $0.tick(now: 100 + Subject.laneWaitMax, &$1) }.answered["a"]?.envelope.failure.code == 2)
    }

    @Test func aLateReplyOfALaneThatWasGivenUpIsIgnored() throws {
        _ = after { $0.hello(first, hello(), now: 0, &$1) }
        let sent = try #require(after { $0.request(request(), from: "a", now: 0, &$1) }.sent.first).message
        _ = after { $0.hello(second, hello(), now: 0, &$1) }
        _ = after { $0.gone(first, now: 0, &$1) }
        #expect(
            after { $0.reply(BusMessage(envelope: sent.envelope.reply()), from: first, now: 0, &$1) }.answered.isEmpty)
    }

    /// A service that retries elsewhere by itself must not get a failure for a request that then succeeds.
    @Test func aGatewayThatStopsLeavesToServicesWhatTheyRepeat() {
        _ = after { $0.hello(first, hello(writer: true), now: 0, &$1) }
        let requests = [
            "a service's read": request(), "its change with a key": request(writes: true, key: "k"),
            "its change without": request(writes: true), "the gateway's own read": request(),
        ]
        for (origin, message) in requests {
            _ = after { $0.request(message, from: origin, now: 0, &$1) }
        }
        let answered = after { $0.abandon(asksElsewhere: { $0 != "the gateway's own read" }, &$1) }.answered
        #expect(answered.keys.sorted() == ["its change without", "the gateway's own read"])
        #expect(answered["its change without"]?.envelope.failure == BusFailure.outcomeUnknown.failure)
        #expect(!subject.hasPending)
    }
}
