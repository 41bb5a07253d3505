import ParseProtocol
import TestSupport
import Testing

/// Gateways on two hosts, one of which is cut off: the other gateway serves its clients and forwards the calls between
/// services.
@Suite(.serialized, .timeLimit(.minutes(10))) struct GatewayHostTests {
    @Test func clientsOfOneGatewayAreServedWhileTheOtherIsCutOff() async throws {
        let places = [
            HostSuite.Place("a", ["gateway-1"]), HostSuite.Place("b", ["gateway-2"]),
            HostSuite.Place("c", ["users-1", "bag-1", "payments-1", "mail-1"]),
            HostSuite.Place("d", ["catalog-1", "push-1", "analytics-1", "crash-1", "cloud-1", "web-1"]),
        ]
        try await HostSuite.with(places, settings: Hosts.settings) { hosts in
            let suite = try hosts.seen(at: "b", disk: "c")
            let count = 8
            let shelf = try await Shelf.fill(suite, names: ["Two \(Names.random(4))"], stock: 20)
            let purchases = try await Purchase.prepare(suite, shelf, count: count)
            let reads = Traffic()
            let payments = Traffic()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await reads.run(clients: 3) { _ in
                        try await ParseClient(suite).get("/classes/Product/\(shelf.productIds[0])")
                    }
                }
                defer { reads.stop() }
                try await reads.untilAnswered()
                try await hosts.network.cut("a")
                // Some before the break is noticed, some after.
                for (index, purchase) in purchases.enumerated() {
                    let paid = try await payments.attempt(Int64(index)) { _ in try await purchase.pay() }
                    #expect(paid.status == 200, "\(paid.text)")
                    try await Task.sleep(for: .milliseconds(500))
                }
                reads.stop()
                try await group.waitForAll()
            }
            #expect(reads.attempts.kinds == ["200"])
            // Its own connections work, so no request waits until the other gateway's break is noticed.
            #expect(reads.attempts.longestWithoutStalls < .milliseconds(2400))
            #expect(payments.attempts.longestWithoutStalls < .seconds(10))
            try await hosts.network.mend("a")
            try await hosts.untilHealthy(within: .seconds(10))
            let seen = try await ParseClient(try hosts.seen(at: "a")).get("/classes/Product/\(shelf.productIds[0])")
            #expect(seen["stock"] == .int(Int64(20 - count)), "\(seen.text)")
        }
    }
}
