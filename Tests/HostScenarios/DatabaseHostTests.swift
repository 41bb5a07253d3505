import ParseProtocol
import TestSupport
import Testing

/// Replicas of one service on separate hosts, which share only a PostgreSQL server on another host. One replica or the
/// server is cut off while customers buy.
@Suite(.serialized, .timeLimit(.minutes(10))) struct DatabaseHostTests {
    private static let catalogs = ["c", "d", "e"]
    private static let places = [
        HostSuite.Place("a", ["gateway-1"]), HostSuite.Place("b", ["gateway-2"]),
        HostSuite.Place("c", ["catalog-1"]), HostSuite.Place("d", ["catalog-2"]), HostSuite.Place("e", ["catalog-3"]),
        HostSuite.Place("f", ["bag-1"]), HostSuite.Place("g", ["bag-2", "users-2"]),
        HostSuite.Place(
            "h", ["users-1", "payments-1", "mail-1", "push-1", "analytics-1", "crash-1", "cloud-1", "web-1"]),
    ]

    /// The time of a request with a write's deadline (`ServiceClient`), plus a margin for a busy machine.
    private static let deadline = Duration.seconds(36)

    /// A suite with customers who buy.
    private struct Shop {
        let hosts: HostSuite
        let server: PostgreSQLServer
        let crowd: Crowd

        /// The host of a service's leader: the leader's connection holds the schema's lock (`PostgreSQLWriter`).
        func leader(of service: String) async throws -> String? {
            let told = try await server.run(
                """
                SELECT host(client_addr) FROM pg_locks JOIN pg_stat_activity USING (pid)
                WHERE locktype = 'advisory' AND granted
                    AND (classid::bigint << 32 | objid::bigint)
                        = hashtextextended('satchel writer satchel_\(service)', 0)
                """)
            let addresses = told.split(separator: "\n").map(String.init)
            return hosts.network.hosts.first { addresses.contains($0.value.address) }?.key
        }

        /// Waits for the answers of three more purchases.
        func goesOn(_ when: String) async throws {
            let answered = crowd.checkouts
            try await eventually("customers go on \(when)", within: .seconds(60)) { crowd.checkouts >= answered + 3 }
        }

        /// Cuts a host off for at least a time, and waits until everything works again.
        /// - Parameter orders: the number of purchases that must be answered before the host is connected again. The
        ///   host may have locked the rows of every product until the server detects its loss.
        func cutOff(_ host: String, _ what: String, for time: Duration, until orders: Int = 0) async throws {
            _ = crowd.takeLongestWait()
            let answered = crowd.checkouts
            try await hosts.network.cut(host)
            try await Task.sleep(for: time)
            try await eventually("customers buy without host \(host)") { crowd.checkouts >= answered + orders }
            let meanwhile = crowd.checkouts - answered
            try await hosts.network.mend(host)
            let mended = ContinuousClock.now
            try await goesOn("when host \(host) is back")
            try await hosts.untilHealthy(within: .seconds(60))
            let whole = ContinuousClock.now - mended
            try await goesOn("after that")
            let longest = crowd.takeLongestWait()
            print(
                "\(what) cut off for \(time): \(meanwhile) orders meanwhile, all there \(whole) later, "
                    + "the longest wait \(longest)")
            #expect(longest < DatabaseHostTests.deadline)
        }
    }

    /// Runs `body` while customers buy through two gateways, and checks afterwards that the books balance.
    private func whileCustomersBuy(_ body: (Shop) async throws -> Void) async throws {
        try await HostNetwork.with(Self.places.map(\.host) + ["db"]) { network in
            try await PostgreSQLServer.with(on: network.host("db")) { server in
                var settings = Hosts.settingsInDatabase(try await server.newDatabase())
                settings["SATCHEL_CATALOG_WRITERS"] = "every"
                settings["SATCHEL_BAG_WRITERS"] = "every"
                try await HostSuite.with(Self.places, on: network, settings: settings) { hosts in
                    let suite = try hosts.seen(disk: "h")
                    let writers: [String: Int64] = ["catalog": 3, "bag": 2]
                    for (service, count) in writers {
                        try await eventually("\(count) replicas of \(service) take changes") {
                            let health = try await ParseClient(suite).call(.GET, "/health")
                            return health.json.at("services", .member(service), "current")?.intValue == count
                        }
                    }
                    let names = (0..<4).map { "Item \($0) \(Names.random(4))" }
                    let shelf = try await Shelf.fill(suite, names: names, stock: 1_000_000)
                    let crowd = try await Crowd(
                        suite, shelf: shelf, count: 4, urls: [suite.url, hosts.seen(at: "b").url])
                    crowd.packetsMayVanish()
                    let shop = Shop(hosts: hosts, server: server, crowd: crowd)
                    do {
                        try await crowd.buyWhile {
                            try await shop.goesOn("at first")
                            try await body(shop)
                        }
                    } catch {
                        throw NeverHappened("\(error)\n\(hosts.logTails())")
                    }
                    try await hosts.untilHealthy(within: .seconds(60))
                    try await crowd.verify()
                }
            }
        }
    }

    /// The leading catalog, another catalog, and the leading bag: customers continue with the others while the host is
    /// cut off.
    @Test func replicasOnSeveralHostsShareOneDatabase() async throws {
        try await whileCustomersBuy { shop in
            let first = try #require(try await shop.leader(of: "catalog"))
            try await shop.cutOff(first, "The catalog that leads", for: .seconds(8), until: 3)
            let second = try #require(try await shop.leader(of: "catalog"))
            let other = try #require(Self.catalogs.first { $0 != second })
            try await shop.cutOff(other, "Another catalog", for: .seconds(8), until: 3)
            let bag = try #require(try await shop.leader(of: "bag"))
            try await shop.cutOff(bag, "The bag that leads", for: .seconds(8), until: 3)
        }
    }

    /// The host is never reconnected. The server must detect the lost client, even with an answer in flight or an open
    /// transaction, and give its lock to another replica.
    @Test(arguments: ["catalog", "bag"]) func aLeaderWhoseHostIsGoneIsReplaced(service: String) async throws {
        try await whileCustomersBuy { shop in
            let gone = try #require(try await shop.leader(of: service))
            _ = shop.crowd.takeLongestWait()
            try await shop.hosts.network.cut(gone)
            let start = ContinuousClock.now
            try await eventually("another replica of \(service) leads", within: .seconds(40)) {
                let leader = try await shop.leader(of: service)
                return leader != nil && leader != gone
            }
            let led = ContinuousClock.now - start
            try await shop.goesOn("without host \(gone)")
            let wentOn = ContinuousClock.now - start
            try await shop.hosts.network.mend(gone)
            try await shop.hosts.untilHealthy(within: .seconds(60))
            let longest = shop.crowd.takeLongestWait()
            print(
                "The host of \(service)'s leader is gone: another leads after \(led), customers go on after "
                    + "\(wentOn), the longest wait \(longest)")
            #expect(longest < Self.deadline)
        }
    }

    /// Once for about as long as it takes to detect the loss of the server, and once for longer: requests wait or get a
    /// retry time, and everything continues automatically when the server is back.
    @Test func theDatabaseIsCutOff() async throws {
        try await whileCustomersBuy { shop in
            for seconds in [6, 14] {
                let before = shop.crowd.repeated.count
                try await shop.cutOff("db", "The database", for: .seconds(seconds))
                let refused = shop.crowd.repeated.dropFirst(before)
                print("Meanwhile \(refused.count) requests were to come again: \(Set(refused).sorted().prefix(5))")
                if seconds > 10 { #expect(refused.contains { $0.contains("503") }, "Nobody missed the server.") }
            }
        }
    }
}
