import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Several gateways behind a balancer: any of them may fail at any moment.
@Suite(.serialized) struct GatewaysTests {
    /// Each customer orders more often than the mail limit for unverified addresses allows, and one address starts more
    /// bags than its quota allows.
    private static let unbounded = [
        "SATCHEL_MAILS_PER_RECIPIENT": "0", "SATCHEL_MAILS_PER_USER": "0", "SATCHEL_QUOTAS": "carts=off",
    ]

    private func client(_ suite: Suite, gateway: Int) -> ParseClient {
        var client = ParseClient(suite)
        client.url = suite.url(ofGateway: gateway)
        return client
    }

    private func shelf(_ suite: Suite) async throws -> Shelf {
        try await Shelf.fill(suite, names: (0..<6).map { "Item \($0) \(Names.random(4))" }, stock: 1_000_000)
    }

    @Test(.timeLimit(.minutes(10))) func gatewaysServeTheSameDataAndKnowWhereClientsAre() async throws {
        try await Suite.with(scale: "gateway=2") { suite in
            try await eachReadsWhatTheOtherWrites(suite)
            try await theBalancersWordCountsAndNotTheClients(suite)
            try await eachCountsItsOwnRequests(suite)
            try await theBalancerPassesWebSockets(suite)
            try await theBalancerPassesWhatGatewaysTake(suite)
            try await aKeptConnectionEndsWithAnAnswer(suite)
        }
    }

    private func eachReadsWhatTheOtherWrites(_ suite: Suite) async throws {
        let gateways = [client(suite, gateway: 1), client(suite, gateway: 2)]
        for (number, gateway) in gateways.enumerated() {
            let health = try await gateway.get("/health")
            #expect(health.status == 200)
            #expect(health["gateway"] == .string("gateway-\(number + 1)"))
        }
        let className = "Both\(Names.random(6))"
        let made = try await gateways[0].create(className, ["at": 1])
        #expect(made.status == 201, "\(made.text)")
        for round in 2...20 as ClosedRange<Int64> {
            // The reader first caches the old state, so that a stale answer would show.
            let (writer, reader) = round.isMultiple(of: 2) ? (gateways[1], gateways[0]) : (gateways[0], gateways[1])
            _ = try await reader.get("/classes/\(className)/\(made.objectId)")
            let changed = try await writer.call(.PUT, "/classes/\(className)/\(made.objectId)", ["at": .int(round)])
            #expect(changed.status == 200, "\(changed.text)")
            let seen = try await reader.get("/classes/\(className)/\(made.objectId)")
            #expect(seen["at"] == .int(round))
        }
        let balanced = try await ParseClient(suite).get("/classes/\(className)/\(made.objectId)")
        #expect(balanced["at"] == 20)
    }

    /// The tests run on loopback, and the master key is only accepted from there.
    private func theBalancersWordCountsAndNotTheClients(_ suite: Suite) async throws {
        let rows: [(what: String, url: String, headers: [(String, String)], status: Int)] = [
            ("through the balancer", suite.url, [], 200),
            ("through it, with a word of the client's own", suite.url, [("X-Forwarded-For", "203.0.113.9")], 200),
            ("past it, from nowhere", suite.url(ofGateway: 1), [], 403),
            ("past it, from elsewhere", suite.url(ofGateway: 1), [("X-Forwarded-For", "203.0.113.9")], 403),
            ("past it, from loopback", suite.url(ofGateway: 1), [("X-Forwarded-For", "127.0.0.1")], 200),
        ]
        for row in rows {
            var client = ParseClient.master(suite)
            client.url = row.url
            let answer = try await client.send(.GET, "/serverInfo", headers: client.credentials + row.headers)
            #expect(answer.status == row.status, "\(row.what): \(answer.text)")
        }
    }

    private func theBalancerPassesWebSockets(_ suite: Suite) async throws {
        let connection = try await LiveConnection.connect(suite)
        // An unknown operation is answered too, which shows that frames pass in both directions.
        try await connection.send(["op": "nothing"])
        let answer = try await connection.next()
        #expect(answer["op"] == "error", "\(answer.serializedText)")
    }

    /// HAProxy's default header limits would be smaller.
    private func theBalancerPassesWhatGatewaysTake(_ suite: Suite) async throws {
        let long = String(repeating: "long ", count: 8000)
        let found = try await ParseClient(suite).find("Product", ["name": .string(long)])
        #expect(found.status == 200, "\(found.text.prefix(200))")
        var client = ParseClient(suite)
        client.applicationId = nil
        // The gateways themselves refuse this number of headers.
        let headers = (0..<200).map { ("X-Header-\($0)", "value") }
        let refused = try await client.send(.GET, "/health", headers: headers)
        #expect(refused.status == 431, "\(refused.text.prefix(200))")
        #expect(refused.code == 116, "\(refused.text.prefix(200))")
    }

    /// A reload of the balancer's configuration must end kept connections with an answer. After a silent close, a
    /// client does not know whether its next request was read.
    private func aKeptConnectionEndsWithAnAnswer(_ suite: Suite) async throws {
        let connection = try RawConnection(suite)
        func ask() -> String {
            connection.send(head: "GET /parse/health HTTP/1.1\nHost: localhost")
            return connection.read(within: 10_000)?.lowercased() ?? "no answer"
        }
        let change = Task { try await suite.script("scale", "gateway=3") }
        var answer = ""
        try await eventually("the connection ends") {
            answer = ask()
            return !answer.hasPrefix("http/1.1 200") || answer.contains("connection: close")
        }
        #expect(answer.hasPrefix("http/1.1 200"), "\(answer)")
        _ = try await change.value
    }

    private func eachCountsItsOwnRequests(_ suite: Suite) async throws {
        let className = "Counted\(Names.random(6))"
        for gateway in [1, 2] {
            for _ in 0..<5 {
                let made = try await client(suite, gateway: gateway).create(className, ["one": 1])
                #expect(made.status == 201, "\(made.text)")
            }
        }
        try await eventually("analytics has the counts of both") {
            let counted = try await suite.rows(
                "analytics", "SELECT coalesce(sum(count), 0) FROM requestHours WHERE target = '\(className)'")
            return counted.first?.at(0) == 10
        }
    }

    /// When the first gateway is killed, customers of the second notice nothing, although calls between services, such
    /// as a checkout's, pass through either. Each customer of the balancer loses at most the current request.
    @Test(.timeLimit(.minutes(10))) func aGatewayThatIsKilledTakesNothingWithItButWhatItHas() async throws {
        try await Suite.with(scale: "gateway=2", settings: Self.unbounded) { suite in
            let shelf = try await shelf(suite)
            let steady = try await Crowd(
                suite, shelf: shelf, count: 4, urls: [suite.url(ofGateway: 2)])
            let kills = 3
            try await steady.buyWhile {
                for _ in 0..<kills {
                    try await suite.kill("gateway-1")
                    try await untilBack(suite, gateway: 1)
                    let before = steady.checkouts
                    try await eventually("customers go on") { steady.checkouts >= before + 5 }
                }
            }
            #expect(steady.repeated.isEmpty, "\(steady.repeated.count) times: \(steady.repeated.prefix(5))")
            try await steady.verify()
        }
    }

    @Test(.timeLimit(.minutes(10))) func theBalancersCustomersLoseAtMostWhatTheKilledGatewayHad() async throws {
        try await Suite.with(scale: "gateway=2", settings: Self.unbounded) { suite in
            let crowd = try await Crowd(suite, shelf: try await shelf(suite), count: 6)
            let killed = ["gateway-1", "gateway-2", "gateway-1"]
            crowd.requestsMayBeCut()
            try await crowd.buyWhile {
                for gateway in killed {
                    try await suite.kill(gateway)
                    for number in [1, 2] { try await untilBack(suite, gateway: number) }
                    let before = crowd.checkouts
                    try await eventually("customers go on") { crowd.checkouts >= before + 5 }
                }
            }
            #expect(crowd.repeated.count <= killed.count * 6, "\(crowd.repeated)")
            try await crowd.verify()
        }
    }

    /// Replicas that leave notify both gateways, and gateways that stop notify the balancer: no request fails.
    @Test(.timeLimit(.minutes(10))) func customersDoNotNoticeRestartsOfServicesAndGateways() async throws {
        try await Suite.with(scale: "gateway=2", settings: Self.unbounded) { suite in
            let crowd = try await Crowd(suite, shelf: try await shelf(suite), count: 6)
            let before = (1...2).map { suite.processId(of: "gateway-\($0)") }
            try await crowd.buyWhile {
                _ = try await suite.script("restart", "catalog", "bag", "gateway")
                let answered = crowd.checkouts
                try await eventually("customers go on") { crowd.checkouts >= answered + 5 }
            }
            let after = (1...2).map { suite.processId(of: "gateway-\($0)") }
            for (old, new) in zip(before, after) { #expect(old != new) }
            #expect(crowd.repeated.isEmpty, "\(crowd.repeated.count) times: \(crowd.repeated.prefix(5))")
            try await crowd.verify()
        }
    }

    /// Services started with one gateway also serve a second one, and leave it again. Requests may fail only while the
    /// port changes its owner.
    @Test(.timeLimit(.minutes(10))) func gatewaysComeAndGoWhileServicesRun() async throws {
        try await Suite.with(settings: Self.unbounded) { suite in
            let crowd = try await Crowd(suite, shelf: try await shelf(suite), count: 4)
            let services = ["catalog-1", "bag-1", "payments-1"]
            let before = services.map(suite.processId(of:))
            crowd.gatewayMayFail()
            try await crowd.buyWhile {
                for scale in ["gateway=2", "gateway=3", "gateway=1"] {
                    _ = try await suite.script("scale", scale)
                    if scale != "gateway=1" {
                        let health = try await client(suite, gateway: 2).get("/health")
                        #expect(health["status"] == "ok", "\(health.text)")
                    }
                    let answered = crowd.checkouts
                    try await eventually("customers go on with \(scale)") { crowd.checkouts >= answered + 5 }
                }
            }
            #expect(services.map(suite.processId(of:)) == before, "No service was restarted.")
            #expect(suite.processId(of: "gateway-2") == nil)
            let status = try await suite.script("status")
            #expect(!status.contains("balancer"), "\(status)")
            try await crowd.verify()
        }
    }

    /// Waits until a killed gateway has all services again.
    private func untilBack(_ suite: Suite, gateway: Int) async throws {
        try await eventually("gateway-\(gateway) is back") {
            (try? await client(suite, gateway: gateway).get("/health"))?["status"] == "ok"
        }
    }
}
