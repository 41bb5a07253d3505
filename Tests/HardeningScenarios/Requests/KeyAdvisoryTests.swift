import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Other servers' advisories about keys, routing, rate limits and transport, tested on Satchel.
@Suite struct KeyAdvisoryTests {
    private static let readOnly: JSON = [
        "code": 119, "error": "Cannot perform a write operation when using readOnlyMasterKey",
    ]

    @Test("2026-29182: the read-only key writes no hooks and starts no jobs")
    func advisory2026_29182() async throws {
        let reader = ParseClient(try await GatewaySuites.guarded, masterKey: GatewaySuites.readOnlyKey)
        for (method, path) in [
            (HTTPMethod.POST, "/hooks/functions"), (.POST, "/hooks/triggers"), (.PUT, "/hooks/functions/f"),
            (.DELETE, "/hooks/triggers/A/beforeSave"), (.POST, "/jobs"), (.POST, "/jobs/any"),
            (.POST, "/cloud_code/jobs"), (.PUT, "/cloud_code/jobs/a"), (.DELETE, "/cloud_code/jobs/a"),
        ] {
            #expect(try await reader.call(method, path, [:]).json == Self.readOnly, "\(method) \(path)")
        }
    }

    @Test("2026-30228: the read-only key neither saves nor deletes files")
    func advisory2026_30228() async throws {
        let suite = try await GatewaySuites.guarded
        let (master, reader) = (ParseClient.master(suite), ParseClient(suite, masterKey: GatewaySuites.readOnlyKey))
        func upload(_ client: ParseClient) async throws -> ParseClient.Answer {
            try await client.send(
                .POST, "/files/note.txt", headers: client.credentials + [("Content-Type", "text/plain")],
                body: Array("hello".utf8))
        }
        #expect(try await upload(reader).json == Self.readOnly)
        let tunnelled = try await reader.send(
            .POST, "/files/note.txt", headers: [("Content-Type", "text/plain")],
            body: Array(
                #"""
                {"base64":"aGVsbG8=","_ContentType":"text/plain","_ApplicationId":"satchel",\#
                "_MasterKey":"\#(GatewaySuites.readOnlyKey)"}
                """#
                .utf8))
        #expect(tunnelled.json == Self.readOnly, "\(tunnelled.text)")
        let saved = try await upload(master)
        try #require(saved.status == 201, "\(saved.text)")
        #expect(try await reader.call(.DELETE, "/files/\(saved.json.text("name"))").json == Self.readOnly)
        #expect(try await reader.get("/files/satchel/\(saved.json.text("name"))").text == "hello")
    }

    @Test("2026-30229: the read-only key makes no session for anybody")
    func advisory2026_30229() async throws {
        let suite = try await GatewaySuites.guarded
        let customer = try await Customer.signUp(suite)
        let reader = ParseClient(suite, masterKey: GatewaySuites.readOnlyKey)
        let body: JSON = ["userId": .string(customer.userId)]
        #expect(try await reader.call(.POST, "/loginAs", body).json == Self.readOnly)
        let batch = try await reader.call(
            .POST, "/batch", ["requests": [["method": "POST", "path": "/parse/loginAs", "body": body]]])
        #expect(batch.json.at(0, "error") == Self.readOnly)
        let master = ParseClient.master(suite)
        #expect(try await master.find("_Session", ["user": customer.pointer]).results.count == 1)
    }

    @Test("2026-30972: requests of a batch are limited like any others")
    func advisory2026_30972() async throws {
        let client = ParseClient(try await GatewaySuites.guarded)
        let headers = client.credentials + [GatewaySuites.somewhere()]
        let one: JSON = ["method": "POST", "path": "/parse/functions/nearestStores", "body": [:]]
        var codes: [Int64] = []
        for _ in 0..<2 {
            let batch = try await client.send(
                .POST, "/batch", headers: headers, body: (["requests": [one, one, one]] as JSON).serialized)
            codes += (batch.json.arrayValue ?? []).compactMap { $0.at("error", "code")?.intValue }
        }
        #expect(codes == [142, 142, 142, 100, 100, 100])
    }

    @Test("2026-50008: requests of a batch are asked for on the list of routes one by one")
    func advisory2026_50008() async throws {
        let client = ParseClient(try await GatewaySuites.closed)
        let headers = client.credentials + [("X-Parse-REST-API-Key", GatewaySuites.restKey)]
        func request(_ method: JSON, _ path: JSON) -> JSON { ["method": method, "path": path, "body": [:]] }
        let batch = try await client.send(
            .POST, "/batch", headers: headers,
            body: ([
                "requests": [
                    request("POST", "/parse/classes/Open"), request("GET", "/parse/classes/Product"),
                    request("POST", "/parse/functions/bag"), request("POST", "/1/classes/Shut"),
                    request("POST", "/parse/classes/Open2"), request("GET", "/parse/classes/_Session"),
                ]
            ] as JSON).serialized)
        let codes = (batch.json.arrayValue ?? []).map { $0.at("error", "code")?.intValue ?? 0 }
        #expect(codes == [0, 119, 119, 119, 0, 119], "\(batch.text)")
        let atomic = try await client.send(
            .POST, "/batch", headers: headers,
            body: (["transaction": true, "requests": [request("POST", "/parse/classes/Shut")]] as JSON).serialized)
        #expect(atomic.code == 119, "\(atomic.text)")
        let master = ParseClient.master(try await GatewaySuites.closed)
        #expect(try await master.get("/schemas/Shut").code == 103)
    }

    @Test("2023-22474: a forged proxy header opens no list of networks")
    func advisory2023_22474() async throws {
        // No proxy is trusted, so the header is ignored.
        let closed = ParseClient(try await GatewaySuites.closed)
        for name in ["X-Forwarded-For", "X-Real-IP", "Forwarded", "True-Client-IP", "CF-Connecting-IP"] {
            let answer = try await closed.send(
                .GET, "/classes/Open",
                headers: closed.credentials + [
                    ("X-Parse-Maintenance-Key", GatewaySuites.maintenanceKey), (name, "203.0.113.7"),
                ])
            #expect(answer.status == 403, "\(name)")
            #expect(answer["error"] == "unauthorized" && answer.code == nil, "\(name)")
        }
        let plain = ParseClient.master(try await Suite.shared)
        let ignored = try await plain.send(
            .GET, "/serverInfo", headers: plain.credentials + [("X-Forwarded-For", "203.0.113.7")])
        #expect(ignored.status == 200)

        // Loopback and 10.9/16 are trusted proxies: the addresses that they appended count, starting from the end.
        let guarded = ParseClient.master(try await GatewaySuites.guarded)
        func status(_ values: String...) async throws -> Int {
            try await guarded.send(
                .GET, "/serverInfo", headers: guarded.credentials + values.map { ("X-Forwarded-For", $0) }
            ).status
        }
        #expect(try await status() == 200)
        #expect(try await status("203.0.113.7") == 403)
        #expect(try await status("127.0.0.1, 203.0.113.7") == 403)
        #expect(try await status("127.0.0.1", "203.0.113.7") == 403)
        #expect(try await status("203.0.113.7, 10.9.1.1") == 403)
        #expect(try await status("127.0.0.1, 203.0.113.7, 10.9.1.1, 127.0.0.1") == 403)
        #expect(try await status("::ffff:203.0.113.7") == 403)
        #expect(try await status("unknown") == 403)
        #expect(try await status("") == 403)
        #expect(try await status("127.0.0.1,") == 403)
        #expect(try await status("203.0.113.7, 127.0.0.1") == 403)
        #expect(try await status("127.0.0.1") == 200)
        #expect(try await status("[::1]:4711, 10.9.1.1") == 200, "::1 is no proxy, but in the list for the key.")
    }

    @Test("2026-47138: a client version is read in time that its length does not change", .timeLimit(.minutes(10)))
    func advisory2026_47138() async throws {
        let client = ParseClient(try await Suite.shared)
        let clock = ContinuousClock()
        for version in [
            String(repeating: "a-", count: 12_000), String(repeating: "1.", count: 12_000),
            "js" + String(repeating: "9", count: 24_000) + "!", String(repeating: "-", count: 24_000), "\u{e9}1.2",
        ] {
            let time = try await clock.measure {
                let answer = try await client.send(
                    .GET, "/classes/Raw", headers: client.credentials + [("X-Parse-Client-Version", version)])
                #expect(answer.status == 200, "\(answer.text)")
            }
            // A backtracking parser takes hours on such texts.
            #expect(time < .seconds(10))
        }
        let tunnelled = try await client.send(
            .POST, "/classes/Raw",
            body: ([
                "_method": "GET", "_ApplicationId": "satchel",
                "_ClientVersion": .string(String(repeating: "a-", count: 50_000)),
            ] as JSON).serialized)
        #expect(tunnelled.status == 200)
    }

    @Test("#10262, #10234: a method in other letters or in a batch is the method it says")
    func methodOverrides() async throws {
        let suite = try await GatewaySuites.guarded
        let reader = ParseClient(suite, masterKey: GatewaySuites.readOnlyKey)
        for method in ["delete", "Delete", "PUT", "put", "pOsT"] {
            let body: JSON = [
                "_method": .string(method), "_ApplicationId": "satchel",
                "_MasterKey": .string(GatewaySuites.readOnlyKey),
            ]
            #expect(
                try await reader.send(.POST, "/classes/Raw/x", body: body.serialized).json == Self.readOnly, "\(method)"
            )
            let batch = try await reader.call(
                .POST, "/batch",
                ["requests": [["method": .string(method), "path": "/parse/classes/Raw/x", "body": [:]]]])
            #expect(batch.json.at(0, "error") == Self.readOnly, "\(method)")
        }
        // No part of a batch's request overrides its method.
        let spoofed = try await reader.call(
            .POST, "/batch",
            ["requests": [["method": "POST", "path": "/parse/classes/Raw", "body": ["_method": "GET", "limit": 1]]]])
        #expect(spoofed.json.at(0, "error") == Self.readOnly)
        let client = ParseClient(suite)
        let asClient = try await client.call(
            .POST, "/batch",
            ["requests": [["method": "POST", "path": "/parse/classes/Raw", "body": ["_method": "GET"]]]])
        #expect(asClient.json.at(0, "error", "code") == 105, "\(asClient.text)")
    }

    @Test("#10214: without a user a limit counts the address, and nobody else's limit becomes stricter")
    func rateLimitKeys() async throws {
        let client = ParseClient(try await GatewaySuites.guarded)
        func statuses(_ address: (String, String), _ count: Int) async throws -> [Int] {
            var statuses: [Int] = []
            for _ in 0..<count {
                statuses.append(
                    try await client.send(
                        .POST, "/events/Tap", headers: client.credentials + [address], body: Array("{}".utf8)
                    ).status)
            }
            return statuses
        }
        let (one, other) = (GatewaySuites.somewhere(), GatewaySuites.somewhere())
        #expect(try await statuses(one, 6) == [200, 200, 200, 429, 429, 429])
        #expect(try await statuses(other, 3) == [200, 200, 200])
        // An exhausted rate limit does not affect the others.
        let answer = try await client.send(
            .POST, "/functions/nearestStores", headers: client.credentials + [one], body: Array("{}".utf8))
        #expect(answer.code == 142, "\(answer.text)")
    }

    @Test("#10265: a batch has a bounded number of requests")
    func batchSize() async throws {
        let client = ParseClient(try await Suite.shared)
        let one: JSON = ["method": "GET", "path": "/parse/classes/Raw?limit=0"]
        func batch(_ count: Int) async throws -> ParseClient.Answer {
            try await client.call(.POST, "/batch", ["requests": .array(Array(repeating: one, count: count))])
        }
        #expect(try await batch(200).json.arrayValue?.count == 200)
        let refused = try await batch(201)
        #expect(refused.status == 400, "\(refused.text)")
        #expect(refused.code == 107, "\(refused.text)")
        let nested = try await client.call(
            .POST, "/batch", ["requests": [["method": "POST", "path": "/parse/batch/", "body": ["requests": []]]]])
        #expect(nested.json.at(0, "error", "code") == 107, "\(nested.text)")
    }

    @Test("#10209: a tunnelled key is a string")
    func tunnelledTypes() async throws {
        let client = ParseClient(try await Suite.shared)
        let keys = [
            "_method", "_ApplicationId", "_JavaScriptKey", "_MasterKey", "_SessionToken", "_InstallationId",
            "_ClientVersion", "_ContentType", "_RevocableSession",
        ]
        for key in keys {
            for value: JSON in [1, true, ["$ne": 1], ["satchel"], .null] {
                var body: [String: JSON] = ["_ApplicationId": "satchel"]
                body[key] = value
                let answer = try await client.send(.POST, "/classes/Typed", body: JSON.object(body).serialized)
                #expect(answer.status == 400, "\(key) \(value.serializedText): \(answer.text)")
                #expect(answer.code == 107, "\(key) \(value.serializedText): \(answer.text)")
            }
        }
        #expect(try await ParseClient.master(try await Suite.shared).get("/schemas/Typed").code == 103)
    }

    @Test("#10230: paths, methods and bodies in a batch, and options of a query, are of their types")
    func batchTypes() async throws {
        let client = ParseClient(try await Suite.shared)
        for item: JSON in [
            ["method": "GET", "path": ["$ne": 1]], ["method": "GET", "path": 7], ["method": "GET"],
            ["path": "/parse/classes/Raw"],
            ["method": 1, "path": "/parse/classes/Raw"], ["method": "POST", "path": "/parse/classes/Raw", "body": [1]],
            ["method": "POST", "path": "/parse/classes/Raw", "body": "x"], "GET /parse/classes/Raw", 1, .null, [],
            ["method": "GET", "path": "/parse/classes/Raw%ff"], ["method": "GET", "path": ""],
        ] {
            let answer = try await client.call(.POST, "/batch", ["requests": [item]])
            let code = answer.json.at(0, "error", "code")
            #expect(answer.status == 200, "\(item.serializedText): \(answer.text)")
            #expect(code == 107, "\(item.serializedText): \(answer.text)")
        }
        let tunnelled = ParseClient(try await Suite.shared, style: .tunnelled)
        for options: [String: JSON] in [
            ["where": [1]], ["where": 1], ["limit": ["$gt": 1]], ["skip": [1]], ["order": ["$ne": 1]], ["keys": 1],
            ["include": ["a": 1]], ["excludeKeys": [1]],
        ] {
            let answer = try await tunnelled.get("/classes/Raw", options)
            #expect(answer.status == 400, "\(options): \(answer.text)")
            #expect(answer.code != nil, "\(options): \(answer.text)")
        }
    }

    @Test("#10237: control characters from a client reach no header of an answer")
    func controlCharacters() async throws {
        let suite = try await Suite.shared
        let head =
            """
            HTTP/1.1\nHost: x\nConnection: close\nX-Parse-Application-Id: satchel\nX-Parse-Master-Key: \
            \(Suite.masterKey)
            """
        let evil = "a%0d%0aX-Evil:%20yes%0d%0a%0d%0a"
        for path in [
            "/parse/classes/\(evil)", "/parse/classes/Raw/\(evil)", "/parse/export/\(evil)",
            "/parse/files/satchel/\(evil)",
            "/parse/export/Raw?format=\(evil)", "/parse/apps/satchel/verify_email?token=\(evil)", "/\(evil)",
            "/api/\(evil)/envelope/",
        ] {
            for method in ["GET", "POST"] {
                let answer = try await RawRequest.send(
                    suite, "\(method) \(path) \(head)\nOrigin: http://x\nContent-Length: 2", "{}")
                let headers = answer.components(separatedBy: "\r\n\r\n")[0]
                #expect(headers.hasPrefix("HTTP/1.1 "), "\(path): \(answer.prefix(200))")
                #expect(!headers.contains("X-Evil"), "\(path): \(headers)")
            }
        }
        let upload = try await RawRequest.send(
            suite, "POST /parse/files/\(evil).txt \(head)\nContent-Type: text/plain\nContent-Length: 2", "hi")
        #expect(upload.hasPrefix("HTTP/1.1 400"), "\(upload)")
        #expect(!upload.contains("X-Evil"), "\(upload)")
        let custom = try await RawRequest.send(
            suite, "POST /parse/classes/Raw \(head)\nContent-Length: 37", #"{"objectId":"a\r\nX-Evil: yes\r\n\r\n"}"#)
        #expect(!custom.contains("X-Evil: yes\r\n"), "\(custom)")
    }
}

/// Features that Satchel lacks: each advisory about them ends at a route that does not exist.
@Suite struct AbsentRouteTests {
    static let graphQL = [
        "2025-53364", "2026-30854", "2026-32594", "2026-34373", "2026-34573", "2026-47248", "2026-105828",
        "2026-109302",
    ]

    @Test("GraphQL is not there", arguments: graphQL)
    func graphQLIsAbsent(advisory: String) async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let query: JSON = ["query": "{ __schema { types { name } } }"]
        for base in [suite.url, suite.url.replacingOccurrences(of: "/parse", with: "")] {
            for path in ["/graphql", "/graphql/", "/playground", "/subscriptions", "/graphql/subscriptions"] {
                for method in [HTTPMethod.GET, .POST] {
                    var other = client
                    other.url = base
                    let answer = try await other.send(
                        method, path, headers: client.credentials + [("Origin", "http://x.example")],
                        body: method == .POST ? query.serialized : nil)
                    #expect(answer.status == 404, "\(advisory) \(method) \(base)\(path): \(answer.status)")
                    #expect(!answer.text.contains("Did you mean"), "\(answer.text)")
                    #expect(!answer.text.contains("_User"), "\(answer.text)")
                }
            }
        }
        #expect(try await ParseClient.master(suite).get("/graphql-config").status == 404)
    }
}
