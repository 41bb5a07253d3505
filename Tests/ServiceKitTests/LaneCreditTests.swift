import ObjectStore
import ParseProtocol
import ServiceKit
import Testing

/// Which reads a lane runs itself, without a clock.
@Suite final class LaneCreditTests {
    private var credit = LaneCredit()
    private let second: UInt64 = 1_000_000_000
    /// The cost of one overrun, in nanoseconds.
    private let cost: UInt64 = 10_000_000

    @Test func withoutOverrunsEveryReadIsTried() {
        #expect(credit.isUntouched)
        #expect(credit.way(of: .client(1), at: 0) == .lane)
    }

    @Test func aClientLosesItsTurnOnTheLaneAfterSomeOverruns() {
        var tries = 0
        while credit.way(of: .client(1), at: 0) == .lane, tries < 100 {
            credit.overran(.client(1), cost: cost, at: 0)
            tries += 1
        }
        #expect(tries == 5)
        #expect(credit.way(of: .client(1), at: 0) == .laneIfKnownQuick)
        #expect(credit.way(of: .client(2), at: 0) == .lane, "Others are not meant.")
        #expect(credit.way(of: .client(1), at: 3 * second) == .lane, "It comes back.")
    }

    @Test func accountsOfOneNetworkHaveOneCredit() {
        let network = ClientNetwork("cb007107")
        for account in 0..<5 { credit.overran(.client(account, at: network), cost: cost, at: 0) }
        #expect(credit.way(of: .client(9, at: network), at: 0) == .laneIfKnownQuick)
        #expect(credit.way(of: .client(9, at: ClientNetwork("cb007108")), at: 0) == .lane)
    }

    @Test func manyClientsTogetherCostNoMoreThanATenthOfTheLane() {
        var lost: UInt64 = 0
        var now: UInt64 = 0
        // A thousand addresses, each with its own credit, for ten seconds.
        var client = 0
        while now < 10 * second {
            client += 1
            if credit.way(of: .client(client % 1000), at: now) == .lane {
                credit.overran(.client(client % 1000), cost: cost, at: now)
                lost += cost
                now += cost
            } else {
                now += 1_000_000
            }
        }
        #expect(lost <= second + 2 * 200_000_000)
        #expect(lost >= second / 2)
    }

    @Test func whatWasQuickBeforeStaysOnTheLane() {
        for client in 0..<20 { credit.overran(.client(client), cost: cost, at: 0) }
        #expect(credit.way(of: .client(1000), at: 0) == .laneIfKnownQuick)
    }

    @Test func creditOfIdleClientsIsForgotten() {
        for client in 0..<20 { credit.overran(.client(client), cost: cost, at: 0) }
        #expect(credit.way(of: .client(1000), at: 100 * second) == .lane)
        #expect(credit.isUntouched)
    }

    @Test func aFloodOfAddressesIsBounded() {
        for client in 0..<(2 * LaneCredit.clientsMax) { credit.overran(.client(client), cost: 1, at: 0) }
        #expect(credit.clientCount <= LaneCredit.clientsMax)
    }
}
