import Foundation
import ParseProtocol
import TestSupport
import Testing

/// A request's trace through gateway, services, outbox, a webhook and a mail; the collector is
/// `Tests/Peers/servers/webhook.py`, too. Logs as JSON, with slow requests and queries.
@Suite struct TraceTests {
    private static func with(_ settings: [String: String], _ body: (WebhookHost) async throws -> Void) async throws {
        try await Peer.with("webhook.py") { peer in
            let own = [
                "SATCHEL_LOG_FORMAT": "json", "SATCHEL_TRACES_URL": peer.url, "SATCHEL_TRACES_SHARE": "0",
                "SATCHEL_VERIFY_EMAIL": "true",
            ]
            let settings = WebhookHost.settings(peer).merging(own) { $1 }.merging(settings) { $1 }
            try await Suite.with(settings: settings) { try await body(WebhookHost(suite: $0, peer: peer)) }
        }
    }

    private struct Span {
        let service: String
        let json: JSON

        var name: String { json.text("name") }
        var id: String { json.text("spanId") }
        var parent: String { json.text("parentSpanId") }
    }

    /// The spans of a trace that the collector has so far.
    private static func spans(_ traceId: String, _ host: WebhookHost) -> [Span] {
        host.calls("v1/traces").flatMap { call -> [Span] in
            let resource = call.at("body", "resourceSpans", 0)
            let service = resource?.at("resource", "attributes")?.arrayValue?.first { $0["key"] == "service.name" }
            return (resource?.at("scopeSpans", 0, "spans")?.arrayValue ?? [])
                .filter { $0["traceId"] == .string(traceId) }
                .map { Span(service: service?.at("value", "stringValue")?.stringValue ?? "", json: $0) }
        }
    }

    private static func id(_ length: Int) -> String {
        (0..<length).map { _ in String(Int.random(in: 1..<16), radix: 16) }.joined()
    }

    /// The lines of the logs of the processes, with every line that is no JSON object of the five members.
    private static func log(_ suite: Suite) throws -> (lines: [JSON], others: [String]) {
        let folder = suite.dataDirectory + "/logs"
        var (lines, others): ([JSON], [String]) = ([], [])
        for process in ["gateway-1", "catalog-1", "users-1", "mail-1", "web-1"] {
            let text = try String(contentsOfFile: "\(folder)/\(process).log", encoding: .utf8)
            // The last line may be incomplete.
            for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
                let names = ["level", "message", "metadata", "process", "time"]
                if let json = try? JSON(parsing: String(line)), json.objectValue?.keys.sorted() == names {
                    lines.append(json)
                } else {
                    others.append(String(line))
                }
            }
        }
        return (lines, others)
    }

    @Test func aRequestIsOneTraceUpToItsMail() async throws {
        try await Self.with([:]) { host in
            try await host.trigger("beforeSave", "_User")
            let (traceId, spanId) = (Self.id(32), Self.id(16))
            let (email, password) = ("\(Names.random(10).lowercased())@customers.example", Names.random(12))
            let account: JSON = ["username": .string(email), "email": .string(email), "password": .string(password)]
            let answer = try await host.master.send(
                .POST, "/users",
                headers: host.master.credentials + [
                    ("Content-Type", "application/json"), ("traceparent", "00-\(traceId)-\(spanId)-01"),
                ], body: account.serialized)
            try #require(answer.status == 201, "\(answer.text)")

            let names = ["POST /users", "webhook", "deliver mail.send.v1", "handle mail.send.v1", "store transaction"]
            var spans: [Span] = []
            try await eventually("every span has arrived, and its parent") {
                spans = Self.spans(traceId, host)
                let ids = Set(spans.map(\.id) + [spanId])
                return names.allSatisfy { name in spans.contains { $0.name == name } }
                    && spans.allSatisfy { ids.contains($0.parent) }
            }
            let root = try #require(spans.first { $0.name == "POST /users" })
            #expect(root.parent == spanId)
            let attributes = root.json["attributes"]?.arrayValue ?? []
            #expect(
                attributes.contains([
                    "key": "request.id",
                    "value": ["stringValue": .string(answer.headers.first(name: "X-Satchel-Request-Id") ?? "")],
                ]))
            #expect(spans.first { $0.name == "handle mail.send.v1" }?.service == "mail")
            #expect(spans.contains { $0.service == "gateway" && $0.name.hasPrefix("call users.") })
            #expect(spans.contains { $0.service == "users" && $0.name.hasPrefix("handle users.") })
            for secret in [email, password, Suite.masterKey, WebhookHost.key, answer["sessionToken"]?.stringValue] {
                guard let secret else { continue }
                #expect(!spans.contains { $0.json.serializedText.contains(secret) })
            }

            let hook = try #require(spans.first { $0.name == "webhook" })
            let called = try #require(host.calls("_User-beforeSave").first)
            #expect(called.at("headers", "traceparent") == .string("00-\(traceId)-\(hook.id)-01"))
            try await eventually("the mail is there") {
                host.suite.mails().contains { $0.header("traceparent")?.hasPrefix("00-\(traceId)-") == true }
            }
        }
    }

    @Test func onlyTheMasterKeyRaisesTheShare() async throws {
        try await Self.with([:]) { host in
            let name = WebhookHost.name("Traced")
            try await host.trigger("beforeSave", name)
            let client = ParseClient(host.suite)
            let traceId = Self.id(32)
            for header in ["00-\(traceId)-\(Self.id(16))-01", "00-\(traceId)-\(Self.id(16))-01-x", "hostile"] {
                _ = try await client.send(
                    .POST, "/classes/\(name)",
                    headers: client.credentials + [("Content-Type", "application/json"), ("traceparent", header)],
                    body: Array("{}".utf8))
            }
            let headers = host.calls("\(name)-beforeSave").compactMap {
                $0.at("headers", "traceparent")?.stringValue
            }
            #expect(headers.first?.hasPrefix("00-\(traceId)-") == true && headers.first?.hasSuffix("-00") == true)
            let replaced = try #require(headers.last)
            #expect(TraceContext(replaced) != nil && !replaced.contains(traceId))
            // A later trace arrives, and this one has not.
            let marker = Self.id(32)
            let read = try await host.master.send(
                .GET, "/classes/\(name)",
                headers: host.master.credentials + [("traceparent", "00-\(marker)-\(Self.id(16))-01")])
            #expect(read.status == 200)
            try await eventually("the marker has arrived") { Self.spans(marker, host).count >= 3 }
            #expect(Self.spans(traceId, host).isEmpty)
        }
    }

    @Test func theLastSpansAreExportedAtTheEnd() async throws {
        try await Self.with([:]) { host in
            for _ in 0..<3 {
                let traceId = Self.id(32)
                let read = try await host.master.send(
                    .GET, "/classes/Note",
                    headers: host.master.credentials + [("traceparent", "00-\(traceId)-\(Self.id(16))-01")])
                #expect(read.status == 200, "\(read.text)")
                try await host.suite.restart("gateway-1")
                try await eventually("the request's span has arrived") {
                    Self.spans(traceId, host).contains { $0.service == "gateway" && $0.name.hasPrefix("GET ") }
                }
                try await host.suite.untilHealthy()
            }
        }
    }

    @Test func aCollectorThatFailsCostsSpansAlone() async throws {
        try await Self.with(["SATCHEL_TRACES_SHARE": "1"]) { host in
            try await host.answer("v1/traces", ["status": 503])
            let answer = try await ParseClient(host.suite).create("Note", [:])
            #expect(answer.status == 201)
            for process in ["gateway-1", "catalog-1"] {
                try await eventually("\(process) counts what it dropped") {
                    try Self.log(host.suite).lines.contains {
                        $0["process"] == .string(process) && $0["message"] == "Spans were dropped."
                    }
                }
            }
        }
    }

    @Test func logsAreJSONAndSlowQueriesHaveAPlanWithoutValues() async throws {
        try await Self.with(["SATCHEL_LOG_SLOW_MILLISECONDS": "1", "SATCHEL_LOG_REQUESTS": "true"]) { host in
            let (master, name) = (host.master, "Slow\(Names.random(8))")
            let filler = String(repeating: "filler ", count: 200)
            for _ in 0..<20 {
                let requests = (0..<100).map { number -> JSON in
                    [
                        "method": "POST", "path": .string("/parse/classes/\(name)"),
                        "body": ["note": .string(filler), "number": .int(Int64(number))],
                    ]
                }
                let made = try await master.call(.POST, "/batch", ["requests": .array(requests)])
                try #require(made.status == 200, "\(made.text)")
            }
            let secret = "secret\(Names.random(12))"
            var slow: [JSON] = []
            try await eventually("a query was slow") {
                let answer = try await master.find(name, ["note": ["$regex": .string(secret)]], ["order": "number"])
                guard answer.status == 200 else { throw Unexpected("find", answer) }
                slow = try Self.log(host.suite).lines.filter {
                    $0.at("metadata", "query.class") == .string(name) && $0.at("metadata", "query.plan") != "unknown"
                }
                return !slow.isEmpty
            }
            let query = try #require(slow.first)
            #expect(query["message"] == "A query was slow.")
            let shape = try JSON(parsing: query.at("metadata", "query.shape")?.stringValue ?? "")
            #expect(shape["where"] == ["note": ["$regex": "?"]])
            #expect(shape["order"] == ["number"])
            #expect(query.at("metadata", "query.plan")?.stringValue?.isEmpty == false)
            let id = try #require(query.at("metadata", "request.id"))
            try await eventually("the request is in the gateway's log") {
                try Self.log(host.suite).lines.contains {
                    $0["message"] == "A request was slow." && $0.at("metadata", "request.id") == id
                        && $0.at("metadata", "http.route") == "/classes/{className}"
                        && $0.at("metadata", "services.calls") != nil
                }
            }
            // The event loop sends the first message, and a task the second: the page is larger than the first allows.
            let page = try await ParseClient(host.suite).find(name, [:], ["limit": 1000])
            #expect(page.results.count == 1000)
            let pageId = try #require(page.headers.first(name: "X-Satchel-Request-Id"))
            try await eventually("the request waited for services alone, not for its body") {
                try Self.log(host.suite).lines.contains {
                    $0["message"] == "A request was slow." && $0.at("metadata", "request.id") == .string(pageId)
                        && $0.at("metadata", "services.calls") != "1" && $0.at("metadata", "body.milliseconds") == "0"
                }
            }
            let (_, others) = try Self.log(host.suite)
            #expect(others.isEmpty, "\(others.prefix(3))")
            #expect(!host.suite.logTails(lines: .max).contains(secret))
            let shown = try await master.get("/scriptlog", ["size": 1000]).json.arrayValue ?? []
            #expect(shown.contains { $0["message"] == "A query was slow." || $0["message"] == "A request was slow." })
        }
    }

    @Test func everyErrorNamesItsRequest() async throws {
        let client = ParseClient(try await Suite.shared)
        for path in ["/nowhere", "/classes/_User/x", "/functions/nothing", "/users/me"] {
            let answer = try await client.get(path)
            #expect(answer.status >= 400)
            #expect(answer.headers.first(name: "X-Satchel-Request-Id")?.isEmpty == false, "\(path)")
        }
    }
}
