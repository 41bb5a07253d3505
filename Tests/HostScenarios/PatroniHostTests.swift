import ParseProtocol
import Synchronization
import TestSupport
import Testing

/// A shop on two hosts whose services store everything in PostgreSQL on three more hosts under Patroni
/// (docs/guides/high-availability.md). `HighAvailabilityTests` kills leaders; here the leader runs on while its packets
/// are lost.
@Suite(.serialized, .timeLimit(.minutes(10))) struct PatroniHostTests {
    private static let places = [
        HostSuite.Place("a", ["gateway-1"]),
        HostSuite.Place(
            "b",
            [
                "catalog-1", "users-1", "bag-1", "payments-1", "mail-1", "push-1", "analytics-1", "crash-1", "cloud-1",
                "web-1",
            ]),
    ]
    private static let servers = ["x", "y", "z"]

    /// The leader's host is cut off while customers buy. Another server becomes the leader; the old one acknowledges
    /// nothing, stops by itself, and is a standby when its host is back. No acknowledged data is lost.
    @Test func noOrderIsLostWhenTheLeadersHostIsCutOff() async throws {
        try await HostNetwork.with(Self.places.map(\.host) + Self.servers) { network in
            try await PatroniCluster.with(on: Self.servers.map { try network.host($0) }) { cluster in
                let settings = Hosts.settingsInDatabase(try await cluster.newDatabase())
                _ = try await cluster.run("CREATE TABLE probe (number int)")
                try await HostSuite.with(Self.places, on: network, settings: settings) { hosts in
                    let suite = try hosts.seen(disk: "b")
                    let names = (0..<3).map { "Safe \($0) \(Names.random(4))" }
                    let shelf = try await Shelf.fill(suite, names: names, stock: 1_000_000)
                    let crowd = try await Crowd(suite, shelf: shelf, count: 3)
                    crowd.packetsMayVanish()
                    do {
                        try await crowd.buyWhile {
                            try await eventually("customers buy") { crowd.checkouts >= 3 }
                            try await Self.cutTheLeaderOff(network, cluster, crowd)
                        }
                    } catch {
                        throw NeverHappened("\(error)\n\(hosts.logTails())")
                    }
                    let longest = crowd.takeLongestWait()
                    print("The longest time without an order was \(crowd.longestPause), the longest wait \(longest)")
                    #expect(longest < .seconds(36))
                    try await hosts.untilHealthy(within: .seconds(60))
                    try await crowd.verify()
                }
            }
        }
    }

    /// The results of a client of the old leader.
    private final class Probe: Sendable {
        let acknowledged = Mutex(0)
        let isOver = Mutex(false)
    }

    private static func cutTheLeaderOff(
        _ network: HostNetwork, _ cluster: PatroniCluster, _ crowd: Crowd
    ) async throws {
        let old = try #require(await cluster.leader())
        let host = servers[old - 1]
        try await network.cut(host)
        let start = ContinuousClock.now
        let probe = Probe()
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { probe.isOver.withLock { $0 = true } }
            // A client of the old leader that was cut off with it.
            group.addTask {
                while !probe.isOver.withLock({ $0 }) {
                    let written = try? await cluster.run("INSERT INTO probe VALUES (1)", by: old)
                    if written != nil { probe.acknowledged.withLock { $0 += 1 } }
                    try await Task.sleep(for: .milliseconds(300))
                }
            }
            try await eventually("another server than that of host \(host) leads", within: .seconds(90)) {
                let leader = await cluster.leader(cutOff: old)
                return leader != nil && leader != old
            }
            let led = ContinuousClock.now - start
            let new = await cluster.leader(cutOff: old)
            let answered = crowd.checkouts
            try await eventually("customers go on without host \(host)", within: .seconds(90)) {
                crowd.checkouts >= answered + 3
            }
            let wentOn = ContinuousClock.now - start
            try await eventually("the old leader has ended by itself", within: .seconds(120)) {
                (try? await cluster.run("SELECT pg_is_in_recovery()", by: old)) == "t"
            }
            let ended = ContinuousClock.now - start
            try await network.mend(host)
            try await cluster.untilFollows(old)
            try await cluster.untilWhole()
            print(
                "The host of the leader, node \(old), was cut off: another one led after \(led), customers went on "
                    + "after \(wentOn), the old one was none any more after \(ended) and followed after "
                    + "\(ContinuousClock.now - start)")
            #expect(await cluster.leader(cutOff: old) == new)
            probe.isOver.withLock { $0 = true }
            try await group.waitForAll()
        }
        let written = probe.acknowledged.withLock { $0 }
        #expect(written == 0, "The old leader acknowledged something.")
        #expect(try await cluster.run("SELECT count(*) FROM probe") == "0")
        #expect(try await cluster.run("SELECT count(*) FROM probe", by: old) == "0")
        let answered = crowd.checkouts
        try await eventually("customers go on", within: .seconds(60)) { crowd.checkouts >= answered + 3 }
    }
}
