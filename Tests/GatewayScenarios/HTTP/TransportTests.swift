import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// The gateway's HTTP behaviour: tunnelled keys, unusual requests, sizes, and answer headers (PARSE_PROTOCOL section
/// 1).
@Suite struct TransportTests {
    // MARK: Tunnelled keys

    /// Sends a body with no header except its type.
    private func tunnel(
        _ suite: Suite, _ method: HTTPMethod, _ path: String, _ body: String
    ) async throws -> ParseClient.Answer {
        try await ParseClient(suite).send(
            method, path, headers: [("Content-Type", "text/plain")], body: Array(body.utf8))
    }

    @Test func tunnelledKeysAreTakenOutOfTheBody() async throws {
        let suite = try await Suite.shared
        let className = "Tunnel\(Names.random(6))"
        let created = try await tunnel(
            suite, .POST, "/classes/\(className)",
            #"""
            {"a":1,"_ApplicationId":"satchel","_JavaScriptKey":"x","_ClientVersion":"js5.3.0",\#
            "_InstallationId":"abc","_RevocableSession":"1","_noBody":true,"_context":{"a":1}}
            """#
        )
        #expect(created.status == 201, "\(created.text)")
        let read = try await ParseClient(suite).get("/classes/\(className)/\(created.objectId)")
        #expect(
            Set((read.json.objectValue ?? [:]).keys) == ["objectId", "createdAt", "updatedAt", "a"], "\(read.text)")
        for method in ["GET", "get", "gEt"] {
            let found = try await tunnel(
                suite, .POST, "/classes/\(className)",
                #"{"_method":"\#(method)","_ApplicationId":"satchel","where":{"a":1},"limit":1}"#)
            #expect(found.results.count == 1, "\(method): \(found.text)")
        }
        let changed = try await tunnel(
            suite, .POST, "/classes/\(className)/\(created.objectId)",
            #"""
            {"_method":"put","_ApplicationId":"satchel","_MasterKey":"\#(Suite.masterKey)","_context":"{\"a\":1}","a":2}
            """#
        )
        #expect(changed["updatedAt"] != nil, "\(changed.text)")
        let deleted = try await tunnel(
            suite, .POST, "/classes/\(className)/\(created.objectId)",
            #"{"_method":"DELETE","_ApplicationId":"satchel"}"#)
        #expect(deleted.json == [:], "\(deleted.text)")
    }

    @Test func theMethodIsOverriddenOnPostOnly() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let created = try await client.create("Override", ["a": 1])
        let path = "/classes/Override/\(created.objectId)"
        let put = try await client.send(
            .PUT, path, headers: client.credentials, body: Array(#"{"_method":"DELETE"}"#.utf8))
        #expect(put.status == 400, "\(put.text)")
        #expect(put.code == 105, "\(put.text)")
        let get = try await client.send(.GET, path + "?_method=DELETE", headers: client.credentials)
        #expect(get.status == 400)
        #expect(try await client.get(path)["a"] == 1)
        for method in ["PATCH", "TRACE", "", "GET "] {
            let odd = try await tunnel(suite, .POST, path, #"{"_method":"\#(method)","_ApplicationId":"satchel"}"#)
            #expect(odd.status == 400, "\(method): \(odd.text)")
            #expect(odd.code == 107, "\(method): \(odd.text)")
        }
    }

    /// The application id in the body counts only if the header contains no id of this server.
    @Test func aKnownApplicationIdInTheHeaderIsNotOverruled() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        func find(_ header: String, _ inBody: String) async throws -> Int {
            try await client.send(
                .POST, "/classes/Override", headers: [("X-Parse-Application-Id", header)],
                body: Array(#"{"_method":"GET","_ApplicationId":"\#(inBody)"}"#.utf8)
            ).status
        }
        #expect(try await find("satchel", "other") == 200)
        #expect(try await find("other", "satchel") == 200)
        #expect(try await find("other", "another") == 403)
    }

    // MARK: Requests

    @Test func bodiesMeanTheSameHoweverTheyAreSent() async throws {
        let suite = try await Suite.shared
        let path = "/parse/classes/Raw\(Names.random(6))"
        func post(_ headers: String, _ body: String) async throws -> String {
            try await RawRequest.send(
                suite, "POST \(path) HTTP/1.1\nHost: x\nConnection: close\nX-Parse-Application-Id: satchel\n\(headers)",
                body)
        }
        for headers in [
            "Content-Length: 7\nExpect: ", "Content-Length: 7\nContent-Type: text/plain",
            "Content-Length: 7\nContent-Type: a/b",
            "Content-Length: 7\nContent-Type: \u{e9}",
            "Content-Length: 7\nContent-Type: application/json\nContent-Type: text/html",
        ] {
            let answer = try await post(headers, #"{"a":1}"#)
            #expect(answer.hasPrefix("HTTP/1.1 201"), "\(headers): \(answer)")
        }
        let chunked = try await post("Transfer-Encoding: chunked", "7\r\n{\"a\":1}\r\n0\r\n\r\n")
        #expect(chunked.hasPrefix("HTTP/1.1 201"), "\(chunked)")
        let options = #"{"limit":0,"count":1}"#
        for (headers, body) in [
            ("Content-Length: 21", options), ("Transfer-Encoding: chunked", "15\r\n\(options)\r\n0\r\n\r\n"),
        ] {
            let counted = try await RawRequest.send(
                suite, "GET \(path) HTTP/1.1\nHost: x\nConnection: close\nX-Parse-Application-Id: satchel\n\(headers)",
                body)
            #expect(counted.contains(#"{"results":[],"count":6}"#), "\(counted)")
        }
    }

    /// Each request affects only itself, and none gets an HTML page.
    @Test func oddRequestsAreAnswered() async throws {
        let suite = try await Suite.shared
        let app = "Host: x\nConnection: close\nX-Parse-Application-Id: satchel"
        let cases: [(String, String, ClosedRange<Int>)] = [
            ("GET /parse/classes/Raw%00/x HTTP/1.1\n\(app)", "", 400...400),
            ("GET /parse/classes/Raw%ff HTTP/1.1\n\(app)", "", 400...400),
            ("GET /parse/classes/Raw%zz HTTP/1.1\n\(app)", "", 400...400),
            ("GET /parse/classes/Raw?where=%ff HTTP/1.1\n\(app)", "", 400...400),
            ("GET /parse/classes/R\u{e4}w HTTP/1.1\n\(app)", "", 400...400),
            ("GET /parse/classes/../health HTTP/1.1\n\(app)", "", 400...404),
            ("PATCH /parse/classes/Raw HTTP/1.1\n\(app)", "", 400...400),
            ("TRACE /parse/classes/Raw HTTP/1.1\n\(app)", "", 400...400),
            ("post /parse/classes/Raw HTTP/1.1\n\(app)\nContent-Length: 2", "{}", 400...400),
            ("POST /parse/classes/Raw HTTP/1.1\n\(app)\nContent-Length: -1", "{}", 400...400),
            ("POST /parse/classes/Raw HTTP/1.1\n\(app)\nContent-Length: 99999999999999999999", "{}", 400...400),
            (
                "POST /parse/classes/Raw HTTP/1.1\n\(app)\nContent-Length: 3\nTransfer-Encoding: chunked", "0\r\n\r\n",
                400...400
            ),
            ("POST /parse/classes/Raw HTTP/1.1\n\(app)\nContent-Length: 2\nContent-Length: 3", "{}", 400...400),
            ("GET /parse/classes/Raw HTTP/1.1\nX-Parse-Application-Id: sat\u{0}chel", "", 400...400),
            (
                "GET /parse/classes/Raw HTTP/1.1\nHost: x\nConnection: close\nX-Parse-Application-Id: satch\u{e9}l", "",
                403...403
            ),
            ("GET /parse/classes/Raw HTTP/1.1\n\(app)\nX-Parse-Application-Id: satchel", "", 403...403),
            (
                "GET /parse/classes/Raw HTTP/1.1\n\(app)\n\(String(repeating: "X-A: b\n", count: 120))X-B: c", "",
                400...431
            ),
            ("GET /parse/classes/Raw HTTP/1.1\n\(app)\nX-A: \(String(repeating: "a", count: 40_000))", "", 431...431),
            ("GET /parse/classes/Raw HTTP/1.1\n\(app)\nX-A: \(String(repeating: "a", count: 200_000))", "", 400...431),
            ("GET /parse/classes/Raw?\(String(repeating: "a", count: 200_000)) HTTP/1.1\n\(app)", "", 400...414),
            (
                """
                GET /parse/classes/Raw HTTP/1.1\n\(app)\nX-Parse-Installation-Id: \(String(repeating: "a", count: 201))
                """,
                "", 400...400
            ),
            ("PRI * HTTP/2.0", "SM\r\n\r\n", 400...505), ("\u{16}\u{3}\u{1}\u{2}", "", 400...400),
        ]
        for (head, body, statuses) in cases {
            let answer = try await RawRequest.send(suite, head, body)
            let status = answer.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
            #expect(statuses.contains(status), "\(head.prefix(120)): \(answer.prefix(300))")
            #expect(!answer.contains("text/html"), "\(answer.prefix(300))")
            #expect(!answer.lowercased().contains("swift"), "\(answer.prefix(300))")
        }
        #expect(try await ParseClient(suite).get("/health").status == 200)
    }

    @Test func expect100ContinueIsAnswered() async throws {
        let suite = try await Suite.shared
        func post(_ more: String...) -> [UInt8] {
            let lines = [
                "POST /parse/classes/Welcome HTTP/1.1", "Host: x", "X-Parse-Application-Id: satchel",
                "Content-Type: application/json", "Content-Length: 7",
            ]
            return Array((lines + more + ["", #"{"a":1}"#]).joined(separator: "\r\n").utf8)
        }
        let asked = try await RawRequest.send(
            suite, post("Expect: 100-Continue", "Connection: close"), untilClosed: true)
        #expect(asked.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 "), "\(asked)")
        let pipelined = try await RawRequest.send(
            suite, post() + post("Expect: 100-continue", "Connection: close"), untilClosed: true)
        #expect(!pipelined.contains(" 100 ") || pipelined.hasPrefix("HTTP/1.1 201"), "\(pipelined)")
        #expect(pipelined.components(separatedBy: "HTTP/1.1 201 ").count == 3, "\(pipelined)")
    }

    @Test func headIsGetWithoutTheBody() async throws {
        let suite = try await Suite.shared
        let created = try await ParseClient(suite).create("Raw", ["a": 1])
        let head =
            """
            /parse/classes/Raw/\(created.objectId) HTTP/1.1\nHost: x\nConnection: close\nX-Parse-Application-Id: satchel
            """
        let get = try await RawRequest.send(suite, "GET \(head)")
        let only = try await RawRequest.send(suite, "HEAD \(head)")
        func length(_ text: String) -> Substring? {
            text.split(separator: "\r\n").first { $0.hasPrefix("Content-Length") }
        }
        #expect(only.hasPrefix("HTTP/1.1 200"), "\(only)")
        #expect(only.hasSuffix("\r\n\r\n"), "\(only)")
        #expect(length(only) == length(get), "\(only)")
    }

    @Test func trailingAndDoubledSlashesDoNotCount() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        for path in ["/serverInfo/", "/schemas/", "//health", "/config//", "/classes/Raw/"] {
            #expect(try await master.get(path).status == 200, "\(path)")
        }
    }

    // MARK: Limits

    @Test func limitAndSkipHaveMaxima() async throws {
        let suite = try await GatewaySuites.guarded
        let client = ParseClient.master(suite)
        let className = "Many\(Names.random(6))"
        let one: JSON = ["method": "POST", "path": .string("/parse/classes/\(className)"), "body": [:]]
        _ = try await client.call(.POST, "/batch", ["requests": .array(Array(repeating: one, count: 30))])
        #expect(try await client.find(className, [:], ["limit": 1000]).results.count == 20, "SATCHEL_LIMIT_MAX")
        #expect(try await client.find(className, [:], ["skip": 25, "limit": 20]).results.count == 5)
        #expect(try await client.find(className, [:], ["skip": 50]).status == 200)
        let refused = try await client.find(className, [:], ["skip": 51])
        #expect(refused.code == 118, "SATCHEL_SKIP_MAX")
        #expect(refused["error"] == "skip must be a whole number from 0 to 50.", "SATCHEL_SKIP_MAX")
        for bad: JSON in [-1, 0.5, "x", 9.3e18] {
            #expect(try await client.find(className, [:], ["skip": bad]).code == 118)
            #expect(try await client.find(className, [:], ["limit": bad]).code == 117)
        }
    }

    @Test func aBodyPastItsLimitIs413() async throws {
        let suite = try await GatewaySuites.guarded
        let client = ParseClient(suite)
        let text = String(repeating: "x", count: 200_001)
        let answer = try await client.send(
            .POST, "/functions/nothing", headers: client.credentials, body: Array(#"{"a":"\#(text)"}"#.utf8))
        #expect(answer.status == 413, "\(answer.text)")
        #expect(answer.code == 116, "\(answer.text)")
        let chunked = "30d41\r\n\(text)\r\n0\r\n\r\n"
        let raw = try await RawRequest.send(
            suite,
            """
            POST /parse/functions/nothing HTTP/1.1\nHost: x\nConnection: close\nX-Parse-Application-Id: satchel\n\
            Transfer-Encoding: chunked
            """,
            chunked)
        #expect(raw.hasPrefix("HTTP/1.1 413") || raw.isEmpty, "\(raw.prefix(200))")
    }

    @Test func includesHaveADepthAndANumber() async throws {
        let client = ParseClient(try await Suite.shared)
        let deep = Array(repeating: "a", count: 11).joined(separator: ".")
        let many = (0..<101).map { "a\($0)" }.joined(separator: ",")
        for include in [deep, many] {
            #expect(try await client.find("Raw", [:], ["include": .string(include)]).code == 102)
        }
    }

    // MARK: Answers

    @Test func everyAnswerIsTypedAndTellsNothingOfTheServer() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        for (method, path) in [
            (HTTPMethod.GET, "/health"), (.GET, "/classes/Raw"), (.GET, "/nothing"), (.POST, "/functions/nothing"),
            (.DELETE, "/classes/Raw/x"), (.PUT, "/config"),
        ] {
            let answer = try await client.call(method, path, method == .GET ? nil : [:])
            #expect(answer.headers.first(name: "Content-Type")?.hasPrefix("application/json") == true, "\(path)")
            #expect(answer.headers.first(name: "X-Content-Type-Options") == "nosniff", "\(path)")
            #expect(answer.headers.first(name: "Server") == nil)
            #expect(answer.headers.first(name: "X-Powered-By") == nil)
            #expect(answer.headers["Content-Type"].count == 1)
        }
    }

    @Test func onlyListedPagesReadAnswers() async throws {
        let client = ParseClient(try await GatewaySuites.guarded)
        func answers(_ origin: String?) async throws -> [ParseClient.Answer] {
            let headers = origin.map { [("Origin", $0)] } ?? []
            return [
                try await client.send(
                    .OPTIONS, "/classes/Raw", headers: headers + [("Access-Control-Request-Method", "PUT")]),
                try await client.send(.GET, "/classes/Raw", headers: client.credentials + headers),
                try await client.send(.GET, "/classes/Raw", headers: headers),
            ]
        }
        for origin in ["https://shop.example", "http://localhost:3000"] {
            for answer in try await answers(origin) {
                #expect(answer.headers.first(name: "Access-Control-Allow-Origin") == origin)
                #expect(answer.headers.first(name: "Vary") == "Origin")
                #expect(
                    answer.headers.first(name: "Access-Control-Allow-Headers")?.contains("X-Parse-Session-Token")
                        == true)
                #expect(
                    answer.headers.first(name: "Access-Control-Expose-Headers")?.contains("X-Parse-Push-Status-Id")
                        == true)
            }
        }
        for origin in ["https://shop.example.evil.example", "https://SHOP.example", "null", "http://shop.example", nil]
        {
            for answer in try await answers(origin) {
                #expect(answer.headers.first(name: "Access-Control-Allow-Origin") == nil, "\(origin ?? "none")")
            }
        }
        let open = ParseClient(try await Suite.shared)
        let any = try await open.send(.GET, "/health", headers: [("Origin", "https://any.example")])
        #expect(any.headers.first(name: "Access-Control-Allow-Origin") == "*")
        #expect(any.headers.first(name: "Access-Control-Allow-Methods") == "GET,PUT,POST,DELETE,OPTIONS")
    }
}
