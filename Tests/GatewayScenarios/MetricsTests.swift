import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// `GET /metrics`, as a monitoring system reads it.
@Suite struct MetricsTests {
    /// A sample's name with its labels, and its value.
    private typealias Samples = [String: Double]

    private static func scrape(
        _ suite: Suite, _ headers: [(String, String)] = [], _ path: String = "/metrics"
    ) async throws -> ParseClient.Answer {
        var root = ParseClient(suite)
        root.url = suite.origin
        return try await root.send(.GET, path, headers: headers)
    }

    private static func samples(_ suite: Suite, _ headers: [(String, String)] = []) async throws -> Samples {
        let answer = try await scrape(suite, headers)
        guard answer.status == 200 else { throw Unexpected("GET /metrics", answer) }
        var samples: Samples = [:]
        for line in answer.text.split(separator: "\n") where !line.hasPrefix("#") {
            let space = try #require(line.lastIndex(of: " "))
            let name = String(line[..<space])
            #expect(samples[name] == nil, "\(name) is there twice")
            samples[name] = try #require(Double(line[line.index(after: space)...].replacing("+Inf", with: "inf")))
        }
        return samples
    }

    private static func count(_ method: String, _ route: String, _ status: String) -> String {
        "satchel_http_request_duration_seconds_count"
            + "{method=\"\(method)\",route=\"\(route)\",status=\"\(status)\"}"
    }

    @Test func requestsAreCountedByRouteAndStatus() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let className = "Metered\(Names.random(6))"
        let (reads, failures) = (
            Self.count("GET", "/classes/{className}/{objectId}", "2xx"),
            Self.count("GET", "/classes/{className}/{objectId}", "4xx")
        )
        let made = try await client.create(className, ["a": 1])
        #expect(made.status == 201)
        let before = try await Self.samples(suite)
        for _ in 0..<20 { #expect(try await client.get("/classes/\(className)/\(made.objectId)").status == 200) }
        for _ in 0..<7 { #expect(try await client.get("/classes/\(className)/nobody").status == 404) }
        let after = try await Self.samples(suite)
        // Other tests use the suite at the same time.
        #expect((after[reads] ?? 0) >= (before[reads] ?? 0) + 20)
        #expect((after[failures] ?? 0) >= (before[failures] ?? 0) + 7)
        #expect(!after.keys.contains { $0.contains(className) || $0.contains(made.objectId) })
        let sum = reads.replacing("_count{", with: "_sum{")
        #expect((after[sum] ?? 0) > (before[sum] ?? 0))
        let isCalled = after.contains {
            $0.key.hasPrefix("satchel_service_call_duration_seconds_count{service=\"catalog\"") && $0.value > 0
        }
        #expect(isCalled)
    }

    @Test func everyProcessReportsItself() async throws {
        try await Suite.with(scale: "catalog=2") { suite in
            let master = ParseClient.master(suite)
            #expect(try await master.create("Metered", ["a": 1]).status == 201)
            #expect(try await master.find("Metered").status == 200)
            let services = ["users", "bag", "payments", "mail", "push", "analytics", "crash", "cloud", "web"]
            let processes = [("gateway", "gateway-1"), ("catalog", "catalog-1"), ("catalog", "catalog-2")]
            // A process that answers late is missing in a scrape.
            var samples: Samples = [:]
            try await eventually("every process reports its memory") {
                samples = try await Self.samples(suite)
                return (processes + services.map { ($0, "\($0)-1") }).allSatisfy { service, process in
                    let labels = "{service=\"\(service)\",process=\"\(process)\"}"
                    return (samples["satchel_process_resident_memory_bytes\(labels)"] ?? 0) > 1_000_000
                        && (samples["satchel_process_open_fds\(labels)"] ?? 0) > 2
                        && (samples["satchel_process_start_time_seconds\(labels)"] ?? 0) > 1_700_000_000
                }
            }
            func values(_ prefix: String) -> [Double] { samples.filter { $0.key.hasPrefix(prefix) }.map(\.value) }
            // One of the replicas writes, and only that one counts what the database has.
            #expect(values("satchel_outbox_messages{service=\"catalog\"").count == 2)
            #expect(values("satchel_store_commits_total{service=\"catalog\"").reduce(0, +) >= 1)
            let writes = values("satchel_store_writes_total{service=\"catalog\"").reduce(0, +)
            #expect(writes >= values("satchel_store_commits_total{service=\"catalog\"").reduce(0, +))
            #expect(values("satchel_store_commit_seconds_total{service=\"catalog\"").reduce(0, +) > 0)
            #expect(values("satchel_disk_free_bytes{service=\"catalog\"").filter { $0 > 0 }.count == 2)
            let clocks = values("satchel_process_clock_seconds")
            #expect(clocks.count > 1)
            #expect(clocks.allSatisfy { abs($0 - Double(Timestamp.now.milliseconds) / 1000) < 600 })
            #expect(values("satchel_mails_queued{service=\"mail\"").count == 1)
            #expect(values("satchel_payments_open{service=\"payments\"").count == 2)
            #expect(values("satchel_bus_lanes{service=\"catalog\"}") == [4])
            #expect(values("satchel_service_up{service=\"users\"}") == [1])
            #expect(values("satchel_live_subscriptions") == [0])
            #expect(values("satchel_http_connections").first ?? 0 >= 1)
            try await eventually("both replicas are among the operations' metrics") {
                let processes = try await master.get("/operations/metrics").json["processes"]?.arrayValue ?? []
                return processes.count { $0["service"] == "catalog" } == 2
            }
        }
    }

    @Test func exemplarsNameRequestsForThoseWhoAskForThem() async throws {
        let suite = try await Suite.shared
        let accept = ("Accept", "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
        let plain = try await Self.scrape(suite)
        #expect(plain.headers.first(name: "Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
        #expect(!plain.text.contains("trace_id"))
        #expect(!plain.text.contains("# EOF"))
        let open = try await Self.scrape(suite, [accept])
        #expect(open.headers.first(name: "Content-Type")?.hasPrefix("application/openmetrics-text") == true)
        #expect(open.text.hasSuffix("# EOF\n"))
        #expect(open.text.contains(" # {trace_id=\""))
        for text in [plain.text, open.text] {
            let names = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE") }
            #expect(names.count > 15)
            #expect(Set(names).count == names.count)
        }
    }

    /// Debian's checker of syntax, names and units.
    @Test func promtoolHasNoObjection() async throws {
        let suite = try await Suite.shared
        let script = #"set -o pipefail; curl -sSf "$0/metrics" | promtool check metrics 2>&1"#
        #expect(try await Command.run(["bash", "-c", script, suite.origin]) == "")
    }

    /// The value that a Prometheus has of a sample; nil while it has none.
    private static func value(of query: String, at peer: Peer, _ suite: Suite) async -> Double? {
        var client = ParseClient(suite)
        client.url = peer.url
        let answer = try? await client.send(.GET, "/api/v1/query?" + ParseClient.queryText(["query": .string(query)]))
        let sample = answer?.json["data"]?["result"]?.arrayValue?.first
        return sample?["value"]?.arrayValue?.last?.stringValue.flatMap { Double($0) }
    }

    @Test func prometheusCountsWhatClientsSent() async throws {
        try await Suite.with { suite in
            try await Peer.with("prometheus.py", [suite.origin.replacing("http://", with: "")]) { peer in
                let client = ParseClient(suite)
                let reads = Self.count("GET", "/classes/{className}/{objectId}", "2xx")
                let made = try await client.create("Scraped", ["a": 1])
                let before = try await Self.samples(suite)[reads] ?? 0
                for _ in 0..<250 {
                    #expect(try await client.get("/classes/Scraped/\(made.objectId)").status == 200)
                }
                try await eventually("Prometheus has counted the reads") {
                    await Self.value(of: reads, at: peer, suite) == before + 250
                }
                try await eventually("Prometheus has every process") {
                    await Self.value(of: "count(satchel_process_resident_memory_bytes)", at: peer, suite) == 11
                }
            }
        }
    }

    /// Otherwise a slow client could set off the alert about slow answers.
    @Test func theTimeInWhichABodyArrivesIsNotCounted() async throws {
        try await Suite.with(settings: ["SATCHEL_LOG_SLOW_MILLISECONDS": "0"]) { suite in
            for (path, route, status) in [
                ("classes/Slow", "/classes/{className}", "2xx"),
                ("functions/nothing", "/functions/{functionName}", "4xx"),
            ] {
                let connection = try RawConnection(suite)
                connection.send(
                    head: """
                        POST /parse/\(path) HTTP/1.1
                        Host: x
                        X-Parse-Application-Id: satchel
                        Content-Length: 2
                        """)
                #expect(connection.read(within: 3000) == nil)
                connection.send(Array("{}".utf8))
                #expect(connection.read(within: 30_000)?.hasPrefix("HTTP/1.1 ") == true)
                let count = Self.count("POST", route, status)
                var after: Samples = [:]
                try await eventually("the answer is counted") {
                    after = try await Self.samples(suite)
                    return (after[count] ?? 0) > 0
                }
                let seconds = after[count.replacing("_count{", with: "_sum{")] ?? .infinity
                #expect(seconds < 3, "\(path): \(seconds)")
            }
        }
    }

    @Test func aBodyThatBreaksOffIsCountedAsAnErrorOfTheClient() async throws {
        try await Suite.with { suite in
            func count(_ status: String) async throws -> Double {
                try await Self.samples(suite).filter {
                    $0.key.hasPrefix("satchel_http_request_duration_seconds_count{method=\"POST\"")
                        && $0.key.contains("status=\"\(status)\"")
                }.values.reduce(0, +)
            }
            func begin(_ field: String) throws -> RawConnection {
                let connection = try RawConnection(suite)
                connection.send(
                    head: """
                        POST /parse/functions/nothing HTTP/1.1
                        Host: x
                        X-Parse-Application-Id: satchel
                        Expect: 100-continue
                        \(field)
                        """)
                #expect(connection.read(within: 30_000)?.hasPrefix("HTTP/1.1 100") == true)
                return connection
            }
            let (refused, failed) = (try await count("4xx"), try await count("5xx"))
            try begin("Content-Length: 10").resetAtEnd()
            try await eventually("the reset is counted") { try await count("4xx") == refused + 1 }
            let chunked = try begin("Transfer-Encoding: chunked")
            chunked.send(Array("no size\r\n".utf8))
            #expect(chunked.read(within: 30_000)?.hasPrefix("HTTP/1.1 400") == true)
            try await eventually("invalid HTTP is counted") { try await count("4xx") == refused + 2 }
            #expect(try await count("5xx") == failed)
        }
    }

    @Test func withoutATokenOnlyProgramsOnTheHostReadThem() async throws {
        let suite = try await Suite.shared
        #expect(try await Self.scrape(suite).status == 200)
        for host in ["localhost", "LOCALHOST:1337", "127.0.0.1", "127.1.2.3:80", "[::1]:1337"] {
            #expect(try await Self.scrape(suite, [("Host", host)]).status == 200, "\(host)")
        }
        let signs = [
            "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Port", "Forwarded", "X-Real-IP", "X-Client-IP", "Via",
            "True-Client-IP", "CF-Connecting-IP", "X-Forwarded-Proto", "Origin",
        ]
        for name in signs {
            let answer = try await Self.scrape(suite, [(name, "127.0.0.1")])
            #expect(answer.status == 403, "\(name)")
            #expect(!answer.text.contains("satchel_"), "\(name)")
        }
        // A browser's page whose domain leads to this host, and names that a proxy passes on.
        for host in ["attacker.example:1337", "203.0.113.5", "[2001:db8::1]:1337", "127.0.0.1.attacker.example"] {
            #expect(try await Self.scrape(suite, [("Host", host)]).status == 403, "\(host)")
        }
        // A session or the master key opens nothing more.
        let master = ParseClient.master(suite).credentials
        #expect(try await Self.scrape(suite, master + [("X-Forwarded-For", "203.0.113.7")]).status == 403)
    }

    @Test func withoutATokenNoBalancerAndNoSocketReadsThem() async throws {
        try await Suite.with(scale: "gateway=2") { suite in
            let balanced = try await Self.scrape(suite)
            #expect(balanced.status == 403)
            var socket = ParseClient(suite)
            socket.url = suite.url(ofGateway: 1).replacing("/parse", with: "")
            let unbalanced = try await socket.send(.GET, "/metrics")
            #expect(unbalanced.status == 403)
        }
    }

    @Test func theLastCheckOfTheBooksIsCounted() async throws {
        let suite = try await Suite.shared
        _ = try await ParseClient.master(suite).call(.POST, "/operations/books", [:])
        try await eventually("the check ends", within: .seconds(120)) {
            let text = try await Self.scrape(suite).text
            return ["problems{kind=\"wrong\"} ", "problems{kind=\"unchecked\"} ", "check_time_seconds "]
                .allSatisfy { text.contains("satchel_books_\($0)") }
        }
    }

    @Test func aTokenIsNeededWhereOneIsSetAndReadsEachGateway() async throws {
        let token = Names.random(24)
        try await Suite.with(scale: "gateway=2", settings: ["SATCHEL_METRICS_TOKEN": token]) { suite in
            let wrong: [[(String, String)]] = [
                [], [("Authorization", "Bearer \(token)x")], [("Authorization", "Basic \(token)")],
                [("Authorization", "Bearer")], ParseClient.master(suite).credentials,
            ]
            for headers in wrong {
                let answer = try await Self.scrape(suite, headers)
                #expect(answer.status == 401, "\(headers)")
                #expect(answer.headers.first(name: "WWW-Authenticate") == "Bearer")
                #expect(!answer.text.contains(token))
            }
            let right = [("Authorization", "Bearer \(token)"), ("X-Forwarded-For", "203.0.113.7")]
            for name in ["gateway-1", "gateway-2", "gateway-1"] {
                let answer = try await Self.scrape(suite, right, "/metrics?gateway=\(name)")
                #expect(answer.status == 200)
                #expect(answer.text.contains("service=\"gateway\",process=\"\(name)\""), "\(name)")
            }
            let settings = try await ParseClient.master(suite).get("/operations/settings").text
            #expect(settings.contains("SATCHEL_METRICS_TOKEN"))
            #expect(!settings.contains(token))
        }
    }
}
