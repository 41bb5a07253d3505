import MessageBus
import Messages
import Testing

/// When a change that gateways must learn of may be answered: each case that can delay it.
@Suite struct InvalidationRoundsTests {
    private typealias Rounds = InvalidationRounds<String>

    /// The time after which no lease of an earlier writer is valid.
    private static let start: Int64 = 10_000
    private static let end = LeaseTerms.length + LeaseTerms.margin
    private static let forget = Forget.with { $0.userIds = ["ann"] }

    /// A writer whose gateways have leases.
    private static func rounds(gateways: [UInt64], at now: Int64 = start) throws -> Rounds {
        var rounds = Rounds()
        rounds.begin(term: 7, now: now - end)
        for gateway in gateways {
            let (lease, tellings) = rounds.ask(gateway, now: now)
            #expect(lease?.term == 7)
            #expect(tellings.isEmpty)
        }
        return rounds
    }

    private static func told(_ tellings: [Rounds.Telling]?) -> [UInt64]? { tellings?.map(\.gateway) }

    @Test func aReplyLeavesWhenEachGatewayHasForgotten() throws {
        var rounds = try Self.rounds(gateways: [1, 2])
        let told = rounds.forget(Self.forget, holding: "a", now: Self.start)
        #expect(Self.told(told) == [1, 2])
        #expect(told?.first?.forget == Self.forget)
        let first = rounds.heard(1, 1, now: Self.start + 1)
        #expect(first.isEmpty && rounds.isWaiting)
        let second = rounds.heard(2, 1, now: Self.start + 2)
        #expect(second == ["a"])
        #expect(!rounds.isWaiting)
    }

    @Test func withoutGatewaysItLeavesAtOnce() throws {
        var rounds = try Self.rounds(gateways: [])
        let told = rounds.forget(Self.forget, holding: "a", now: Self.start)
        #expect(told == nil)
    }

    @Test func severalRoundsEndEachByItself() throws {
        var rounds = try Self.rounds(gateways: [1, 2])
        for reply in ["a", "b", "c"] { _ = rounds.forget(Self.forget, holding: reply, now: Self.start) }
        let one = rounds.heard(1, 2, now: Self.start)
        #expect(one.isEmpty)
        let two = rounds.heard(2, 2, now: Self.start)
        #expect(two == ["b"])
        let three = [1, 3].flatMap { rounds.heard(1, $0, now: Self.start) + rounds.heard(2, $0, now: Self.start) }
        #expect(three == ["a", "c"])
    }

    /// The round waits for a silent gateway exactly until that gateway's lease ends.
    @Test func aSilentGatewayIsFencedByTheEndOfItsLease() throws {
        var rounds = try Self.rounds(gateways: [1, 2])
        _ = rounds.forget(Self.forget, holding: "a", now: Self.start + 1000)
        _ = rounds.heard(1, 1, now: Self.start + 1001)
        let before = rounds.tick(now: Self.start + Self.end - 1)
        #expect(before.isEmpty)
        let after = rounds.tick(now: Self.start + Self.end)
        #expect(after == ["a"])
        // The next change does not wait for it. When the gateway returns, it has missed a round.
        let told = rounds.forget(Self.forget, holding: "b", now: Self.start + Self.end + 1)
        #expect(told == nil)
        let back = rounds.ask(2, now: Self.start + Self.end + 2).lease
        #expect(back?.since == 2)
    }

    /// Repeated requests do not prolong a round: a gateway that owes a confirmation gets no lease.
    @Test func aMissingConfirmationBlocksTheLease() throws {
        var rounds = try Self.rounds(gateways: [1])
        _ = rounds.forget(Self.forget, holding: "a", now: Self.start)
        for step in stride(from: 400, through: 2800, by: 400) as StrideThrough<Int64> {
            let (lease, again) = rounds.ask(1, now: Self.start + step)
            #expect(lease == nil)
            #expect(again.map(\.round) == [1])
        }
        let after = rounds.tick(now: Self.start + Self.end)
        #expect(after == ["a"])
    }

    /// Lost orders are repeated with the gateway's next request.
    @Test func anAnswerAfterAllGivesTheLeaseBack() throws {
        var rounds = try Self.rounds(gateways: [1])
        _ = rounds.forget(Self.forget, holding: "a", now: Self.start)
        _ = rounds.ask(1, now: Self.start + 500)
        let ended = rounds.heard(1, 1, now: Self.start + 600)
        #expect(ended == ["a"])
        let lease = rounds.ask(1, now: Self.start + 700).lease
        // It received all orders, so it keeps its cache.
        #expect(lease?.since == 0)
    }

    @Test func oneThatMissedNothingGoesOnAfterAPause() throws {
        var rounds = try Self.rounds(gateways: [1])
        let lease = rounds.ask(1, now: Self.start + 10 * Self.end).lease
        #expect(lease?.since == 0)
    }

    /// A gateway that joins during a round is not waited for. It gets its lease after it has confirmed the round.
    @Test func oneThatJoinsForgetsWhatIsUnderWay() throws {
        var rounds = try Self.rounds(gateways: [1])
        _ = rounds.forget(Self.forget, holding: "a", now: Self.start)
        let (lease, tellings) = rounds.ask(2, now: Self.start + 1)
        #expect(lease == nil)
        #expect(tellings.map(\.round) == [1])
        let early = rounds.heard(2, 1, now: Self.start + 2)
        #expect(early.isEmpty)
        let granted = rounds.ask(2, now: Self.start + 3).lease
        #expect(granted?.since == 1)
        let ended = rounds.heard(1, 1, now: Self.start + 4)
        #expect(ended == ["a"])
    }

    @Test func oneThatJoinsAndSaysNothingKeepsNobodyWaiting() throws {
        var rounds = try Self.rounds(gateways: [1])
        _ = rounds.forget(Self.forget, holding: "a", now: Self.start)
        _ = rounds.ask(2, now: Self.start + 1)
        let ended = rounds.heard(1, 1, now: Self.start + 2)
        #expect(ended == ["a"])
    }

    /// A stopping gateway announces it; a killed one counts as silent.
    @Test func oneThatStopsIsNotWaitedFor() throws {
        var rounds = try Self.rounds(gateways: [1, 2])
        _ = rounds.forget(Self.forget, holding: "a", now: Self.start)
        _ = rounds.heard(1, 1, now: Self.start)
        let ended = rounds.left(2, now: Self.start + 1)
        #expect(ended == ["a"])
    }

    /// The previous writer may have granted a lease in its last moment to a gateway that never contacts this one.
    @Test func aNewWriterWaitsForLeasesOfTheOneBefore() {
        var rounds = Rounds()
        rounds.begin(term: 8, now: Self.start)
        let told = rounds.forget(Self.forget, holding: "a", now: Self.start + 1)
        #expect(told?.isEmpty == true)
        let before = rounds.tick(now: Self.start + Self.end - 1)
        #expect(before.isEmpty)
        let after = rounds.tick(now: Self.start + Self.end)
        #expect(after == ["a"])
    }

    @Test func leavingWritersAndReadersGrantNoLease() throws {
        var reader = Rounds()
        let (none, _) = reader.ask(1, now: Self.start)
        #expect(none == nil)
        var rounds = try Self.rounds(gateways: [1])
        _ = rounds.forget(Self.forget, holding: "a", now: Self.start)
        rounds.close()
        let (refused, _) = rounds.ask(1, now: Self.start + 1)
        #expect(refused == nil)
        // It still completes pending rounds.
        let ended = rounds.heard(1, 1, now: Self.start + 2)
        #expect(ended == ["a"])
    }

    @Test func processesThatAskOnceDoNotPileUp() throws {
        var rounds = try Self.rounds(gateways: Array(1...UInt64(Rounds.membersMax)))
        let (full, _) = rounds.ask(1000, now: Self.start)
        #expect(full == nil, "All of them may believe something now.")
        let (later, _) = rounds.ask(1000, now: Self.start + Self.end)
        #expect(later?.term == 7)
    }
}
