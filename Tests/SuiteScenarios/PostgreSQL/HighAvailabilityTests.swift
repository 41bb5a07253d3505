import ParseProtocol
import TestSupport
import Testing

/// A shop that stores everything in PostgreSQL on three servers under Patroni, whose leader dies
/// (docs/guides/high-availability.md).
@Suite(.serialized) struct HighAvailabilityTests {
    /// While customers buy, the leader is killed, and later its successor, when the first one is a standby. Meanwhile
    /// services report that they do not work. Then everything continues automatically, no acknowledged order is lost,
    /// and the books balance.
    @Test(.timeLimit(.minutes(10))) func noOrderIsLostWhenLeadersAreKilled() async throws {
        try await PatroniCluster.with { cluster in
            let settings = PostgreSQLShopTests.settings(database: try await cluster.newDatabase())
            try await Suite.with(settings: settings) { suite in
                let names = (0..<3).map { "Safe \($0) \(Names.random(4))" }
                let shelf = try await Shelf.fill(suite, names: names, stock: 1_000_000)
                let crowd = try await Crowd(suite, shelf: shelf, count: 3)
                crowd.gatewayMayFail()
                try await crowd.buyWhile {
                    try await eventually("customers buy") { crowd.checkouts >= 3 }
                    let first = try await Self.failOver(cluster, suite, crowd)
                    let second = try await Self.failOver(cluster, suite, crowd)
                    #expect(first != second)
                }
                print("The longest time without an order while two leaders were killed: \(crowd.longestPause)")
                try await suite.untilHealthy()
                try await crowd.verify()
            }
        }
    }

    /// Kills the leader, and restarts it when customers continue with another one.
    /// - Returns: the killed node.
    private static func failOver(_ cluster: PatroniCluster, _ suite: Suite, _ crowd: Crowd) async throws -> Int {
        let leader = try #require(await cluster.leader())
        try await cluster.kill(leader)
        try await eventually("a write is refused as something that may work later") {
            let answer = try await ParseClient.master(suite).create("Note", ["text": "lost"])
            return answer.status == 503 && answer.headers.contains(name: "Retry-After")
        }
        let answered = crowd.checkouts
        try await eventually("customers go on without node \(leader)", within: .seconds(90)) {
            crowd.checkouts >= answered + 3
        }
        #expect(await cluster.leader() != leader)
        try cluster.start(leader)
        try await cluster.untilWhole()
        return leader
    }
}
