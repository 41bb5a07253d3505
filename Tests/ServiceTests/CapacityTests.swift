import GatewayService
import MessageBus
import ParseProtocol
import Testing

/// How the gateway shares out memory, connections and patience.
@Suite struct CapacityTests {
    private func shares() -> ByteShares {
        ByteShares(max: 100, strangersMax: 50, shareMax: (strangers: 20, known: 40))
    }

    private func stranger(_ network: String) -> ByteShares.Holder { .init(network: network, isKnown: false) }
    private func known(_ network: String) -> ByteShares.Holder { .init(network: network, isKnown: true) }

    @Test func strangersLeaveRoomForThoseWhoAreKnown() {
        var shares = shares()
        #expect(shares.take(20, for: stranger("a")))
        #expect(!shares.take(1, for: stranger("a")), "A network has its share.")
        #expect(shares.take(20, for: stranger("b")) && shares.take(10, for: stranger("c")))
        #expect(!shares.take(1, for: stranger("d")), "Half is for strangers.")
        #expect(shares.take(40, for: known("a")) && !shares.take(1, for: known("a")))
        #expect(shares.take(10, for: known("b")) && !shares.take(1, for: known("c")))
        shares.giveBack(20, of: stranger("a"))
        #expect(shares.held == 80)
        #expect(shares.take(20, for: known("c")) && !shares.take(1, for: stranger("d")))
    }

    @Test func whatCannotBeRefusedCounts() {
        var shares = shares()
        shares.force(150, for: stranger("a"))
        #expect(!shares.take(1, for: known("b")))
        shares.giveBack(150, of: stranger("a"))
        #expect(shares.held == 0 && shares.take(40, for: known("b")))
    }

    @Test func connectionsKeepRoomForOthers() {
        var shares = ConnectionShares(max: 64, perNetwork: 40)
        #expect((0..<40).allSatisfy { _ in shares.enter([1]) })
        #expect(!shares.enter([1]))
        // From 56 on only networks with fewer than sixteen get in.
        #expect((0..<16).allSatisfy { _ in shares.enter([2]) })
        #expect(!shares.enter([2]) && shares.enter([3]) && shares.enter(nil))
        #expect((0..<6).allSatisfy { _ in shares.enter([4]) })
        #expect(!shares.enter([5]) && !shares.enter(nil), "All places are taken.")
        shares.leave([1])
        #expect(shares.enter([5]))
    }

    @Test func aRequestHasTimeAndThenNeedsAPace() {
        var pace = RequestPace(graceSeconds: 3, bytesPerSecondMin: 100)
        #expect(!pace.isWatching && pace.secondPassed() == .goesOn)
        pace.bytesArrived()
        #expect((0..<3).allSatisfy { _ in pace.secondPassed() == .goesOn })
        #expect(pace.secondPassed() == .tooSlow, "Headers that do not end.")
        pace.headArrived()
        #expect(pace.isInBody && (0..<3).allSatisfy { _ in pace.secondPassed() == .goesOn })
        pace.bodyArrived(500)
        #expect(pace.secondPassed() == .goesOn && pace.secondPassed() == .goesOn)
        #expect(pace.secondPassed() == .tooSlow, "500 bytes in six seconds.")
        pace.endArrived()
        #expect(!pace.isWatching && pace.secondPassed() == .goesOn)
    }

    @Test func memoryIsTrimmedWhenItIsQuietAndWorthIt() {
        var schedule = TrimSchedule()
        #expect(schedule.isDue(residentBytes: 20 << 20, cpuMicroseconds: 0))
        schedule.trimmed(residentBytes: 20 << 20)
        #expect(!schedule.isDue(residentBytes: 21 << 20, cpuMicroseconds: 0))
        // Busy: later, but not never.
        var cpu = 0
        let answers = (0..<40).map { _ in
            cpu += 2_000_000
            return schedule.isDue(residentBytes: 500 << 20, cpuMicroseconds: cpu)
        }
        #expect(answers.firstIndex(of: true) == 30)
        #expect(schedule.isDue(residentBytes: 500 << 20, cpuMicroseconds: cpu), "Quiet.")
    }

    @Test func secretsAreComparedToTheirEnd() {
        let key = Array("0123456789abcdef".utf8)
        #expect(ConstantTime.areEqual(key, key) && ConstantTime.areEqual([], []))
        for index in key.indices {
            var other = key
            other[index] ^= 1
            #expect(!ConstantTime.areEqual(key, other))
        }
        #expect(!ConstantTime.areEqual(key, Array(key.dropLast())))
    }
}
