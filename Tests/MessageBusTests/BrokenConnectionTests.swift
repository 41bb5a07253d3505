import MessageBus
import Messages
import Testing

/// What happens to requests when a lane's connection ends while its process may still run.
@Suite final class BrokenConnectionTests: DispatcherCase {
    /// A socket that reconnects replaces its old connection before the broker notices that the old one broke.
    @Test func whatALaneHadByItsEarlierConnectionIsRepeated() throws {
        _ = after { $0.hello(first, hello(connection: 1, writer: true), now: 0, &$1) }
        var sent: [BusMessage] = []
        for (name, message) in [
            ("read", request()), ("keyed", request(writes: true, key: "k")), ("unkeyed", request(writes: true)),
        ] {
            sent += after { $0.request(message, from: name, now: 0, &$1) }.sent.map(\.message)
        }
        let same = after { $0.hello(first, hello(connection: 1, writer: true), now: 1000, &$1) }
        #expect(same.sent.isEmpty)
        let back = after { $0.hello(first, hello(connection: 2, writer: true), now: 1500, &$1) }
        #expect(back.sent.map(\.message.envelope.correlation) == sent.prefix(2).map(\.envelope.correlation))
        #expect(back.answered.keys.sorted() == ["unkeyed"])
        #expect(back.answered["unkeyed"]?.envelope.failure.code == 124)
    }

    /// The answer to the first copy may still arrive, over the new connection and after the answer to the second.
    @Test func anAnswerThatComesTwiceIsGivenOnce() throws {
        _ = after { $0.hello(first, hello(connection: 1, writer: true), now: 0, &$1) }
        let sent = after { $0.request(request(writes: true, key: "k"), from: "a", now: 0, &$1) }.sent
        let message = try #require(sent.first).message
        _ = after { $0.hello(first, hello(connection: 2, writer: true), now: 3000, &$1) }
        let reply = BusMessage(envelope: message.envelope.reply())
        #expect(after { $0.reply(reply, from: first, now: 3001, &$1) }.answered.keys.sorted() == ["a"])
        #expect(after { $0.reply(reply, from: first, now: 3002, &$1) }.answered.isEmpty)
    }

    /// A request that was repeated on another replica is answered by that one; the answer of the disconnected replica
    /// is ignored.
    @Test func theLateAnswerOfAReplicaThatWasCutOffIsNobodys() throws {
        _ = after { $0.hello(first, hello(connection: 1), now: 0, &$1) }
        let message = try #require(after { $0.request(request(), from: "a", now: 0, &$1) }.sent.first).message
        _ = after { $0.hello(second, hello(connection: 1), now: 3000, &$1) }
        #expect(after { $0.gone(first, now: 3000, &$1) }.sent.map(\.lane) == [second])
        _ = after { $0.hello(first, hello(connection: 2), now: 4000, &$1) }
        let reply = BusMessage(envelope: message.envelope.reply())
        #expect(after { $0.reply(reply, from: first, now: 4001, &$1) }.answered.isEmpty)
        #expect(after { $0.reply(reply, from: second, now: 4002, &$1) }.answered.keys.sorted() == ["a"])
    }

    /// An earlier release does not number its connections.
    @Test func aLaneThatCountsNoConnectionsKeepsItsRequests() {
        _ = after { $0.hello(first, hello(), now: 0, &$1) }
        _ = after { $0.request(request(), from: "a", now: 0, &$1) }
        #expect(after { $0.hello(first, hello(connection: 1), now: 1000, &$1) }.sent.isEmpty)
    }

    /// A network failure never counts against a request, however many replicas it disconnects.
    @Test func aBrokenConnectionIsNoDeath() {
        var answered: [String: BusMessage] = [:]
        _ = after { $0.hello([0], hello(), now: 0, &$1) }
        _ = after { $0.request(request(), from: "a", now: 0, &$1) }
        for n in 1...UInt8(Subject.deathsMax) {
            let now = Int64(n) * Subject.breakSilence
            answered.merge(after { $0.gone([n - 1], now: now, &$1) }.answered) { first, _ in first }
            _ = after { $0.hello([n], hello(), now: now, &$1) }
        }
        #expect(answered.isEmpty)
        #expect(subject.hasPending)
    }

    /// When a host is cut off, all its connections break, one after the other.
    @Test func theOtherLanesOfABrokenProcessGetNothingUntilTheyAreHeard() {
        let lanes = ["catalog-1-5-0", "catalog-1-5-1", "catalog-2-6-0"].map { Array($0.utf8) }
        for lane in lanes { _ = after { $0.hello(lane, hello(writer: true), now: 0, &$1) } }
        _ = after { $0.gone(lanes[0], now: 3000, &$1) }
        let reads = (0..<8).flatMap { n in after { $0.request(request(), from: "\(n)", now: 3000, &$1) }.sent }
        #expect(Set(reads.map(\.lane)) == [lanes[2]])
        let write = after { $0.request(request(writes: true, key: "k"), from: "w", now: 3000, &$1) }.sent
        #expect(write.map(\.lane) == [lanes[2]])
        _ = after { $0.hello(lanes[1], hello(writer: true), now: 3100, &$1) }
        #expect(after { $0.request(request(), from: "b", now: 3100, &$1) }.sent.map(\.lane) == [lanes[1]])
    }

    /// A lane that may be gone is better than none.
    @Test func aDoubtfulLaneIsTakenWhereThereIsNoOther() {
        let lanes = ["catalog-1-5-0", "catalog-1-5-1"].map { Array($0.utf8) }
        for lane in lanes { _ = after { $0.hello(lane, hello(writer: true), now: 0, &$1) } }
        _ = after { $0.gone(lanes[0], now: 3000, &$1) }
        #expect(after { $0.request(request(), from: "a", now: 3000, &$1) }.sent.map(\.lane) == [lanes[1]])
        let write = after { $0.request(request(writes: true), from: "w", now: 3000, &$1) }.sent
        #expect(write.map(\.lane) == [lanes[1]])
    }

    @Test func theLanesOfOneDeadProcessAreOneDeath() {
        let lanes = (0..<3).map { Array("catalog-1-\($0)".utf8) }
        for lane in lanes { _ = after { $0.hello(lane, hello(), now: 0, &$1) } }
        var at = after { $0.request(request(), from: "a", now: 0, &$1) }.sent.map(\.lane)
        for _ in 0..<2 { at = after { $0.gone(at[0], now: 0, &$1) }.sent.map(\.lane) }
        #expect(at.count == 1)
        let end = after { $0.gone(at[0], now: 0, &$1) }
        #expect(end.answered.isEmpty)
        #expect(after { $0.hello([9], hello(), now: 0, &$1) }.sent.count == 1)
    }

    // MARK: Fairness

    /// The time with a lane does not count as waiting for one.
    @Test func theWaitForALaneBeginsWhenTheOneThatHadTheRequestEnds() {
        _ = after { $0.hello(first, hello(), now: 0, &$1) }
        _ = after { $0.request(request(), from: "a", now: 0, &$1) }
        let end = Subject.laneWaitMax - 1000
        subject.goodbye(first, now: end)
        _ = after { $0.gone(first, now: end, &$1) }
        #expect(after { $0.tick(now: end + Subject.laneWaitMax - 1, &$1) }.answered.isEmpty)
        #expect(after { $0.tick(now: end + Subject.laneWaitMax, &$1) }.answered["a"]?.envelope.failure.code == 2)
    }
}
