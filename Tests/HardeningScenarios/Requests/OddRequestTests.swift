import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Every route with every kind of key and every kind of fault: each answer conforms to the protocol, none reveals
/// internals, and no process ends.
@Suite struct OddRequestTests {
    /// The key of the request.
    enum Key: CaseIterable { case none, wrong, client, user, master }

    /// The fault of the request.
    enum Fault: CaseIterable { case malformed, wrongTypes, tunnelledTypes, deep, invalidUTF8, wrongVerb, oddQuery }

    /// In addition to the routes of the OpenAPI document: refused routes of the protocol, and special names.
    private static let further: [(HTTPMethod, String)] = [
        (.POST, "/classes/Order"), (.PUT, "/classes/Product/abc"), (.POST, "/classes/_User"),
        (.GET, "/classes/_Audience"),
        (.GET, "/classes/_Session"), (.GET, "/classes/a'b"), (.POST, "/classes/_Hooks"), (.POST, "/functions/nothing"),
        (.POST, "/functions/constructor"), (.POST, "/jobs/nothing"), (.POST, "/events/AppOpened"),
        (.GET, "/aggregate/Note"), (.GET, "/export/_User"), (.GET, "/push_audiences/abc"), (.POST, "/graphql"),
        (.GET, "/nothing"), (.GET, "/"),
    ]

    /// Every route of the OpenAPI document, which is generated from the router. Logout comes last, because it ends the
    /// caller's session.
    static func routes(of suite: Suite) async throws -> [(HTTPMethod, String)] {
        let document = try await ParseClient(suite).get("/openapi.json")
        guard let paths = document["paths"]?.objectValue, paths.count > 60 else {
            throw Unexpected("GET openapi.json", document)
        }
        let values = ["{className}": "Note", "{applicationId}": "satchel", "{fileName}": "a.txt", "{eventName}": "Tap"]
        var routes: [(HTTPMethod, String)] = []
        for (path, operations) in paths.sorted(by: { $0.key < $1.key }) {
            // Pages, crash reports and metrics have their own answers: see routesWithoutKeysRevealNothing.
            guard !path.hasPrefix("/apps/"), !path.hasPrefix("/api/"), !["/logout", "/metrics"].contains(path) else {
                continue
            }
            let filled = path.split(separator: "/").map { part in
                part.hasPrefix("{") ? values[String(part)] ?? "abc" : String(part)
            }
            for verb in ["get", "post", "put", "delete"] where operations[verb] != nil {
                routes.append((HTTPMethod(rawValue: verb.uppercased()), "/" + filled.joined(separator: "/")))
            }
        }
        return routes + further + [(.POST, "/logout")]
    }

    /// Members that some route reads, each with a wrong type.
    private static let wrongTypes: JSON = [
        "where": 1, "limit": [:], "skip": "x", "order": [:], "keys": 1, "include": [1], "count": [:],
        "excludeKeys": [[]],
        "username": ["$ne": 1], "password": [1], "email": [:], "requests": ["a": 1], "transaction": "x", "token": [],
        "className": [:], "objectId": [:], "name": ["$gt": ""], "ACL": 7, "authData": "x", "deviceToken": [],
        "installationId": [:], "deviceType": 1, "channels": [:], "data": 1, "query": [], "params": "x",
        "masterKeyOnly": 3, "fields": 4, "classLevelPermissions": "no", "indexes": 1, "productId": [:],
        "quantity": "many", "at": 1, "dimensions": [1], "userId": [:], "results": ["a": 1], "base64": [:], "url": 1,
        "functionName": [], "triggerName": [:], "jobName": [], "pipeline": [:], "distinct": 5, "job_schedule": 1,
        "receipt": 1, "challengeData": 2, "expiresAt": 0, "user": "me", "__op": ["Delete"], "push_time": [],
        "from": [:], "size": "x", "level": [],
    ]

    private static let deep = String(repeating: #"{"a":["#, count: 5000) + String(repeating: "]}", count: 5000)

    /// A request as it is sent.
    private struct Odd {
        var method: HTTPMethod
        var path: String
        var headers: [(String, String)]
        var body: [UInt8]?
    }

    private static func make(
        _ fault: Fault, _ method: HTTPMethod, _ path: String, _ headers: [(String, String)]
    ) -> Odd {
        let json = headers + [("Content-Type", "application/json")]
        switch fault {
        case .malformed: return Odd(method: method, path: path, headers: json, body: Array(#"{"a":{"b":"#.utf8))
        case .wrongTypes: return Odd(method: method, path: path, headers: json, body: wrongTypes.serialized)
        case .tunnelledTypes:
            var body = wrongTypes
            body["_method"] = .string(method.rawValue.lowercased())
            for (name, value) in headers {
                if name == "X-Parse-Application-Id" { body["_ApplicationId"] = .string(value) }
                if name == "X-Parse-Session-Token" { body["_SessionToken"] = .string(value) }
                if name == "X-Parse-Master-Key" { body["_MasterKey"] = .string(value) }
            }
            return Odd(method: .POST, path: path, headers: [("Content-Type", "text/plain")], body: body.serialized)
        case .deep:
            return Odd(method: method, path: path, headers: json, body: Array(#"{"where":\#(deep)}"#.utf8))
        case .invalidUTF8:
            return Odd(
                method: method, path: path + "/%ff%00", headers: json,
                body: Array(#"{"name":""#.utf8) + [0xFF, 0xFE, 0xC0, 0x80] + Array(#""}"#.utf8))
        case .wrongVerb:
            let verb: HTTPMethod = method == .GET ? .RAW(value: "PATCH") : method == .POST ? .PUT : .POST
            return Odd(method: verb, path: path, headers: json, body: Array(#"{"a":1}"#.utf8))
        case .oddQuery:
            let query =
                """
                ?where=%7B%22a%22%3A%7B%22%24regex%22%3A%22(%22%7D%7D&limit=-1&skip=1e99&keys=%27&order=%00&include=a..b
                """
                + "&count=%7B%7D&level=%3B&from=x&distinct=a'b&username=%27&password=1&=&&%zz"
            return Odd(method: method, path: path + query, headers: headers, body: method == .GET ? nil : [])
        }
    }

    private static func headers(_ key: Key, token: String) -> [(String, String)] {
        let id = ("X-Parse-Application-Id", "satchel")
        switch key {
        case .none: return []
        case .wrong: return [("X-Parse-Application-Id", "other"), ("X-Parse-Master-Key", "wrong")]
        case .client: return [id]
        case .user: return [id, ("X-Parse-Session-Token", token)]
        case .master: return [id, ("X-Parse-Master-Key", Suite.masterKey)]
        }
    }

    @Test(.timeLimit(.minutes(10))) func everyOddRequestHasAnAnswerOfTheProtocol() async throws {
        try await Suite.with { suite in
            let pulse = try await suite.pulse()
            #expect(pulse.count >= 9)
            #expect(!pulse.values.contains(0))
            let customer = try await Customer.signUp(suite)
            let token = customer.client.sessionToken ?? ""
            let client = ParseClient(suite)
            var counts: [Int: Int] = [:]
            let routes = try await Self.routes(of: suite)
            for (method, path) in routes {
                for key in Key.allCases {
                    for fault in Fault.allCases {
                        let odd = Self.make(fault, method, path, Self.headers(key, token: token))
                        let answer = try await client.send(odd.method, odd.path, headers: odd.headers, body: odd.body)
                        counts[answer.status, default: 0] += 1
                        let complaint = AnswerRuleTests.complaint(about: answer, to: odd.path, of: suite.url)
                        #expect(
                            complaint == nil,
                            """
                            \(key) \(fault) \(method) \(path): \(complaint ?? ""): \(answer.status) \
                            \(answer.text.prefix(300))
                            """
                        )
                    }
                }
            }
            // The requests were diverse: some were accepted, some were refused.
            #expect(counts.values.reduce(0, +) == routes.count * Key.allCases.count * Fault.allCases.count)
            for status in [200, 400, 403, 404] { #expect(counts[status, default: 0] > 50, "\(counts)") }
            try await expectUnharmed(suite, pulse)
        }
    }

    @Test(.timeLimit(.minutes(10))) func aHugeBodyIsRefusedEverywhere() async throws {
        try await Suite.with { suite in
            let pulse = try await suite.pulse()
            let huge =
                Array(#"{"a":""#.utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: 12 << 20) + Array(#""}"#.utf8)
            for (method, path) in try await Self.routes(of: suite)
            where method == .POST || method == .PUT {
                let answer = try await ParseClient.master(suite).send(
                    method, path, headers: Self.headers(.master, token: "") + [("Content-Type", "application/json")],
                    body: huge)
                #expect(answer.status == 413, "\(path): \(answer.status) \(answer.text)")
                #expect([116, 129].contains(answer.code), "\(path): \(answer.status) \(answer.text)")
                let complaint = AnswerRuleTests.complaint(about: answer, to: path, of: suite.url)
                #expect(complaint == nil, "\(path): \(complaint ?? "")")
            }
            try await expectUnharmed(suite, pulse)
        }
    }

    /// The paths without keys: pages for people, crash reports, a provider's calls, and some unknown paths.
    @Test func routesWithoutKeysRevealNothing() async throws {
        let suite = try await Suite.shared
        let pulse = try await suite.pulse()
        var root = ParseClient(suite)
        root.url = suite.url.replacingOccurrences(of: "/parse", with: "")
        let paths = [
            "/", "/parse", "/1", "/parse/apps", "/parse/apps/satchel/verify_email?token=%27&username=%00",
            "/parse/apps/satchel/request_password_reset?token=%3Cscript%3E", "/parse/apps/choose_password?token=%ff",
            "/parse/apps/other/verify_email", "/parse/apps/satchel/resend_verification_email", "/parse/apps/%2e%2e/x",
            "/api/1/envelope/", "/api/x/store/", "/api/%00/envelope/?sentry_key=%27", "/api", "/parse/webhooks/stripe",
            "/api/99999999999999999999/envelope/", "/graphql", "/.env", "/parse/%ZZ", "/parse/../../etc/passwd",
        ]
        let bodies = [
            "", "{", "[]", #"{"event_id":7}"# + "\n" + #"{"type":"event","length":99999999999}"# + "\n{", "token=%zz&a",
            "token=x&new_password=%00", Self.deep,
        ]
        for path in paths {
            for type in ["application/json", "application/x-www-form-urlencoded", "multipart/form-data", "x"] {
                for body in bodies {
                    for method in [HTTPMethod.GET, .POST, .PUT] {
                        let answer = try await root.send(
                            method, path, headers: [("Content-Type", type), ("Accept", "application/json")],
                            body: Array(body.utf8))
                        let what = "\(method) \(path) \(type): \(answer.status) \(answer.text.prefix(300))"
                        #expect(answer.status < 500, "\(what)")
                        let text = answer.text.replacingOccurrences(of: suite.url, with: "")
                        #expect(AnswerRuleTests.innerWord(in: text) == nil, "\(what)")
                        #expect(!text.contains("<script>"), "\(what)")
                    }
                }
            }
        }
        #expect(try await suite.pulse() == pulse)
    }

    private func expectUnharmed(_ suite: Suite, _ pulse: [String: pid_t]) async throws {
        #expect(try await suite.pulse() == pulse)
        let logs = suite.logTails(lines: 50) {
            $0.contains("Fatal error") || $0.contains(" critical ") || $0.contains(" error ")
        }
        #expect(logs.isEmpty, "\(logs)")
        let customer = try await Customer.signUp(suite)
        let made = try await customer.client.create("Note", ["still": "works"])
        #expect(made.status == 201, "\(made.text)")
        #expect(try await customer.client.find("Note", ["still": "works"]).results.count == 1)
    }
}
