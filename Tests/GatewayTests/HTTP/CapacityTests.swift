import GatewayService
import MessageBus
import ParseProtocol
import Testing

/// How the gateway divides memory, connections, large bodies and waiting time among clients. Ids T2t and T7 of
/// docs/internals/hardening.md.
@Suite struct CapacityTests {
    private func shares() -> ByteShares {
        ByteShares(max: 100, unauthenticatedMax: 50, shareMax: (unauthenticated: 20, authenticated: 40))
    }

    private func unauthenticated(_ network: String) -> ByteShares.Holder {
        .init(network: network, isAuthenticated: false)
    }
    private func authenticated(_ network: String) -> ByteShares.Holder {
        .init(network: network, isAuthenticated: true)
    }

    @Test func unauthenticatedClientsLeaveRoomForAuthenticatedOnes() {
        var shares = shares()
        func take(_ bytes: Int, _ holder: ByteShares.Holder) -> Bool { shares.take(bytes, for: holder) }
        #expect(take(20, unauthenticated("a")))
        #expect(!take(1, unauthenticated("a")), "A network has its share.")
        #expect(take(20, unauthenticated("b")))
        #expect(take(10, unauthenticated("c")))
        #expect(!take(1, unauthenticated("d")), "Half is for unauthenticated clients.")
        #expect(take(40, authenticated("a")))
        #expect(!take(1, authenticated("a")))
        #expect(take(10, authenticated("b")))
        #expect(!take(1, authenticated("c")))
        shares.giveBack(20, of: unauthenticated("a"))
        #expect(shares.held == 80)
        #expect(take(20, authenticated("c")))
        #expect(!take(1, unauthenticated("d")))
    }

    @Test func whatCannotBeRefusedCounts() {
        var shares = shares()
        func take(_ bytes: Int, _ holder: ByteShares.Holder) -> Bool { shares.take(bytes, for: holder) }
        shares.force(150, for: unauthenticated("a"))
        #expect(!take(1, authenticated("b")))
        shares.giveBack(150, of: unauthenticated("a"))
        #expect(shares.held == 0)
        #expect(take(40, authenticated("b")))
    }

    @Test func largeBodiesHaveAShareAndTheOneWhoSentLeastIsNext() {
        var queue = BodyQueue(share: 0.5)
        let second: UInt64 = 1_000_000_000
        func enter(_ network: String, now: UInt64) -> BodyQueue.Entry {
            queue.enter(network, work: second / 4, now: now)
        }
        #expect(enter("greedy", now: second) == .ready, "What is begun goes past the share and is owed.")
        #expect(enter("greedy", now: second) == .waits(1))
        #expect(enter("greedy", now: second) == .waits(2))
        #expect(enter("modest", now: second + 1) == .waits(3))
        #expect(queue.next(now: second + 1) == nil)
        let pause = queue.pause(now: second + 1)
        #expect((second / 4..<second / 2).contains(pause), "Worked off at half the pace.")
        let later = second + 1 + pause
        #expect(queue.next(now: later).map { [Int($0.ticket), $0.isReady ? 1 : 0] } == [3, 1])
        #expect(queue.next(now: later) == nil, "The turn is used up.")
        #expect(queue.next(now: later + second / 2).map { [Int($0.ticket), $0.isReady ? 1 : 0] } == [1, 1])
        #expect(!queue.isEmpty)
        #expect(
            queue.next(now: 2 * second + BodyQueue.patience).map { [Int($0.ticket), $0.isReady ? 1 : 0] } == [2, 0])
        #expect(queue.isEmpty)
    }

    @Test func fewLargeBodiesOfOneNetworkWait() {
        var queue = BodyQueue(share: 0.25)
        func enter(_ network: String) -> BodyQueue.Entry { queue.enter(network, work: 1 << 30, now: 1) }
        #expect(enter("a") == .ready)
        for place in 1...BodyQueue.waitingPerNetworkMax { #expect(enter("a") == .waits(UInt64(place))) }
        #expect(enter("a") == .full)
        for place in BodyQueue.waitingPerNetworkMax + 1...BodyQueue.waitingMax {
            #expect(enter("\(place)") == .waits(UInt64(place)))
        }
        #expect(enter("b") == .full)
    }

    @Test func manyTextsAreMoreWorkThanOne() {
        let names = Array("{\"keys\":\"\(String(repeating: "name,", count: 40_000))\"}".utf8)
        let texts = Array("[\(String(repeating: "\"t\",", count: 40_000))1]".utf8)
        #expect(BodyQueue.work(for: texts) > 20 * BodyQueue.work(for: names))
        let numbers = Array("[\(String(repeating: "12345,", count: 40_000))1]".utf8)
        #expect(BodyQueue.work(for: numbers) > 15 * BodyQueue.work(for: names))
        let escaped = Array("{\"a\":\"\(String(repeating: "\\\",", count: 40_000))\"}".utf8)
        #expect(BodyQueue.work(for: escaped) < 2 * BodyQueue.work(for: names))
    }

    @Test func connectionsKeepRoomForOthers() {
        var shares = ConnectionShares(max: 64, perNetwork: 40)
        func enters(_ name: String?) -> Bool { shares.enter(name.map { ClientNetwork($0) }) }
        #expect((0..<40).allSatisfy { _ in enters("a") })
        #expect(!enters("a"))
        // From 56 connections on, only networks with fewer than sixteen are admitted.
        #expect((0..<16).allSatisfy { _ in enters("b") })
        #expect(!enters("b"))
        #expect(enters("c"))
        #expect(enters(nil))
        #expect((0..<6).allSatisfy { _ in enters("d") })
        #expect(!enters("e"), "All places are taken.")
        #expect(!enters(nil), "All places are taken.")
        shares.leave(ClientNetwork("a"))
        #expect(enters("e"))
    }

    /// Five /64s of one /48 with 10,240 connections, and addresses of one /24.
    @Test(arguments: ["20010db8000a000", "cb00710"])
    func wideNetworksHaveALimitToo(_ prefix: String) {
        var shares = ConnectionShares(max: 8192, perNetwork: 2048)
        func enters(_ name: String) -> Bool { shares.enter(ClientNetwork(name)) }
        let entered = (0..<5).map { near in (0..<2048).count { _ in enters("\(prefix)\(near)") } }
        #expect(entered == [2048, 2048, 2048, 0, 0], "Three quarters of all places.")
        #expect((0..<1000).allSatisfy { _ in enters("c6336407") }, "Another network has its places.")
        shares.leave(ClientNetwork("\(prefix)0"))
        #expect(enters("\(prefix)4"))
    }

    @Test func bodiesOfAWideNetworkLeaveRoomForOthers() {
        var shares = ByteShares(max: 800, unauthenticatedMax: 400, shareMax: (unauthenticated: 100, authenticated: 400))
        func takes(_ network: String) -> Bool { shares.take(100, for: unauthenticated(network)) }
        #expect((0..<8).count { takes("20010db8000a000\($0)") } == 3)
        #expect(takes("20010db8000b0000"))
    }

    @Test func aRequestHasTimeAndThenNeedsAPace() {
        var pace = RequestPace(graceSeconds: 3, bytesPerSecondMin: 100)
        func goesOn() -> Bool { pace.secondPassed() == .goesOn }
        #expect(!pace.isWatching)
        #expect(goesOn())
        pace.bytesArrived()
        #expect((0..<3).allSatisfy { _ in goesOn() })
        #expect(!goesOn(), "Headers that do not end.")
        pace.headArrived()
        #expect(pace.isInBody)
        #expect((0..<3).allSatisfy { _ in goesOn() })
        pace.bodyArrived(500)
        #expect(goesOn())
        #expect(goesOn())
        #expect(!goesOn(), "500 bytes in six seconds.")
        pace.endArrived()
        #expect(!pace.isWatching)
        #expect(goesOn())
    }

    @Test func memoryIsTrimmedWhenItIsQuietAndWorthIt() {
        var schedule = TrimSchedule()
        func isDue(_ megabytes: Int, _ cpuMicroseconds: Int) -> Bool {
            schedule.isDue(residentBytes: megabytes << 20, cpuMicroseconds: cpuMicroseconds)
        }
        #expect(isDue(20, 0))
        schedule.trimmed(residentBytes: 20 << 20)
        #expect(!isDue(21, 0))
        // When busy: later, but not never.
        var cpu = 0
        let answers = (0..<40).map { _ in
            cpu += 2_000_000
            return isDue(500, cpu)
        }
        #expect(answers.firstIndex(of: true) == 30)
        #expect(isDue(500, cpu), "Quiet.")
    }

    /// T10g of docs/internals/hardening.md.
    @Test func secretsAreComparedToTheirEnd() {
        let key = Array("0123456789abcdef".utf8)
        #expect(ConstantTime.areEqual(key, key))
        #expect(ConstantTime.areEqual([], []))
        for index in key.indices {
            var other = key
            other[index] ^= 1
            #expect(!ConstantTime.areEqual(key, other))
        }
        #expect(!ConstantTime.areEqual(key, Array(key.dropLast())))
    }

    /// Id T3f of docs/internals/hardening.md.
    @Test func pagesOfAnExportGoByTheSizeOfTheObjects() {
        var size = ExportPageSize()
        #expect(size.rows == ExportPageSize.rowsAtFirst)
        size.came(rows: 10, bytes: 10_000)
        #expect(size.rows == ExportPageSize.rowsMax, "Small objects come many at a time.")
        let shrinks = size.wasTooLarge()
        #expect(shrinks, "After small ones there may be large ones.")
        #expect(size.rows == ExportPageSize.rowsAtFirst)
        let shrinksMore = size.wasTooLarge()
        #expect(!shrinksMore, "What is too large even so is no page.")
        size.came(rows: 10, bytes: 10 * 120_000)
        #expect(size.rows == 4)
        size.came(rows: 4, bytes: 40_000_000)
        #expect(size.rows == 1)
        size.came(rows: 0, bytes: 20)
        #expect(size.rows == 1)
        size.came(rows: 1, bytes: 1_000)
        #expect(size.rows == ExportPageSize.rowsMax)
    }
}
