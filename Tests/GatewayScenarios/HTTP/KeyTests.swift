import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Access by keys, and the rights of each: no key gives more than its own rights.
@Suite struct KeyTests {
    /// Every route of the protocol that changes data.
    static let writes: [(HTTPMethod, String, JSON)] = [
        (.POST, "/classes/Keyed", ["a": 1]), (.PUT, "/classes/Keyed/abc", ["a": 1]),
        (.DELETE, "/classes/Keyed/abc", [:]),
        (.POST, "/users", ["username": "reader", "password": "secret1"]), (.PUT, "/users/abc", ["phone": "1"]),
        (.DELETE, "/users/abc", [:]), (.POST, "/roles", ["name": "readers", "ACL": [:]]),
        (.POST, "/sessions", [:]), (.DELETE, "/sessions/abc", [:]),
        (.POST, "/installations", ["deviceType": "ios", "deviceToken": "abc"]),
        (.POST, "/login", ["username": "admin@satchel.example", "password": "x"]),
        (.GET, "/login?username=admin&password=x", [:]), (.GET, "/verifyPassword?username=admin&password=x", [:]),
        (.POST, "/logout", [:]), (.POST, "/loginAs", ["userId": "abc"]), (.POST, "/upgradeToRevocableSession", [:]),
        (.POST, "/requestPasswordReset", ["email": "admin@satchel.example"]),
        (.POST, "/verificationEmailRequest", ["email": "admin@satchel.example"]),
        (.POST, "/functions/addToBag", ["productId": "abc"]), (.POST, "/functions/createCrashProject", ["name": "x"]),
        (.POST, "/functions/nothing", [:]), (.POST, "/jobs/anything", [:]),
        (.POST, "/hooks/functions", ["functionName": "f", "url": "http://127.0.0.1:1/"]),
        (.PUT, "/hooks/functions/f", ["__op": "Delete"]),
        (.POST, "/push", ["channels": ["a"], "data": ["alert": "x"]]),
        (.POST, "/push_audiences", ["name": "x", "query": "{}"]), (.PUT, "/config", ["params": ["x": 1]]),
        (.POST, "/schemas/Keyed", ["className": "Keyed"]), (.PUT, "/schemas/Keyed", ["className": "Keyed"]),
        (.DELETE, "/schemas/Keyed", [:]), (.DELETE, "/purge/Keyed", [:]), (.POST, "/import/Keyed", [:]),
        (.PUT, "/moves/classes/Keyed", [:]), (.POST, "/moves/rows/Keyed", [:]),
        (.POST, "/moves/removals/Keyed", ["ids": []]), (.POST, "/moves/switch", ["rehearses": true]),
        (.POST, "/moves/secrets/_User", [:]), (.DELETE, "/moves", [:]),
        (.POST, "/events/Tap", [:]), (.DELETE, "/files/abc_a.txt", [:]), (.POST, "/validate_purchase", [:]),
        (.POST, "/nothing", [:]), (.PUT, "/graphql-config", [:]),
    ]

    @Test(arguments: [ParseClient.Style.headers, .tunnelled])
    func theReadOnlyKeyChangesNothing(style: ParseClient.Style) async throws {
        let suite = try await GatewaySuites.guarded
        let reader = ParseClient(suite, masterKey: GatewaySuites.readOnlyKey, style: style)
        // An import's body is the data itself, so it cannot contain keys.
        let carriesData = { (path: String) in path.hasPrefix("/import") || path.hasPrefix("/moves") }
        for (method, path, body) in Self.writes where style == .headers || !carriesData(path) {
            let answer = try await reader.call(method, path, method == .GET ? nil : body)
            let text = "\(method) \(path): \(answer.status) \(answer.text)"
            #expect(answer.status == 400, "\(text)")
            #expect(answer.code == 119, "\(text)")
            #expect(answer["error"] == "Cannot perform a write operation when using readOnlyMasterKey", "\(text)")
        }
        let upload = try await reader.send(
            .POST, "/files/a.txt", headers: reader.credentials + [("Content-Type", "text/plain")], body: Array("x".utf8)
        )
        #expect(upload.code == 119, "\(upload.text)")
    }

    @Test func theReadOnlyKeyChangesNothingInABatch() async throws {
        let suite = try await GatewaySuites.guarded
        let reader = ParseClient(suite, masterKey: GatewaySuites.readOnlyKey)
        let requests = Self.writes.map { method, path, body -> JSON in
            [
                "method": .string(method.rawValue), "path": .string("/parse\(path)"),
                "body": method == .GET ? .null : body,
            ]
        }
        let answer = try await reader.call(.POST, "/batch", ["requests": .array(requests)])
        let items = answer.json.arrayValue ?? []
        try #require(items.count == requests.count, "\(answer.text)")
        for (item, request) in zip(items, requests) {
            #expect(item.at("error", "code") == 119, "\(request.serializedText): \(item.serializedText)")
        }
        let atomic = try await reader.call(
            .POST, "/batch",
            ["transaction": true, "requests": [["method": "POST", "path": "/parse/classes/Keyed", "body": [:]]]])
        #expect(atomic.code == 119)
        #expect(try await ParseClient.master(suite).get("/schemas/Keyed").code == 103)
    }

    @Test func theReadOnlyKeyReadsAsTheMasterDoes() async throws {
        let suite = try await GatewaySuites.guarded
        let master = ParseClient.master(suite)
        let reader = ParseClient(suite, masterKey: GatewaySuites.readOnlyKey)
        let className = "Hidden\(Names.random(6))"
        let created = try await master.create(className, ["n": 1, "ACL": [:]])
        let path = "/classes/\(className)/\(created.objectId)"
        #expect(try await ParseClient(suite).get(path).code == 101)
        #expect(try await reader.get(path)["n"] == 1)
        let tunnelled = ParseClient(suite, masterKey: GatewaySuites.readOnlyKey, style: .tunnelled)
        #expect(try await tunnelled.find(className).results.count == 1)
        for route in [
            "/schemas", "/serverInfo", "/config", "/push_audiences", "/classes/_PushStatus", "/export/\(className)",
        ] {
            let answer = try await reader.get(route)
            #expect(answer.status == 200, "\(route): \(answer.text)")
        }
        #expect(try await reader.run("charges").status == 200)
        let batch = try await reader.call(
            .POST, "/batch", ["requests": [["method": "GET", "path": .string("/parse\(path)")]]])
        #expect(batch.json.at(0, "success", "n") == 1, "\(batch.text)")
    }

    /// A session token allows writes as its user. So the server stores no token, and this key does not see sessions
    /// either.
    @Test func theReadOnlyKeyReadsNoSessions() async throws {
        let suite = try await GatewaySuites.guarded
        let customer = try await Customer.signUp(suite)
        let token = try #require(customer.client.sessionToken)
        let reader = ParseClient(suite, masterKey: GatewaySuites.readOnlyKey)
        let master = ParseClient.master(suite)
        let session = try await master.find("_Session", ["user": customer.pointer])
        try #require(session.results.count == 1, "\(session.text)")
        try #require(!session.text.contains(token), "\(session.text)")
        let id = session.results[0].objectId
        #expect(try await reader.get("/sessions").json == ["results": []])
        #expect(try await reader.find("_Session", ["sessionToken": .string(token)], ["count": 1]).code == 119)
        #expect(try await reader.get("/sessions/\(id)").code == 101)
        let className = "Link\(Names.random(6))"
        _ = try await master.create(className, ["session": .pointer("_Session", id)])
        let included = try await reader.find(className, [:], ["include": "session"])
        #expect(included.status == 400 || included.results.count == 1)
        #expect(!included.text.contains(token))
        let nested = try await reader.find(
            className, ["session": ["$inQuery": ["className": "_Session", "where": ["sessionToken": .string(token)]]]])
        #expect(nested.results.isEmpty, "\(nested.text)")
        let user = try await reader.get("/users/\(customer.userId)")
        #expect(user.status == 200)
        #expect(!user.text.contains(token))
    }

    @Test func theMaintenanceKeyKeepsTimes() async throws {
        let suite = try await GatewaySuites.guarded
        let keeper = ParseClient(suite)
        let headers = keeper.credentials + [("X-Parse-Maintenance-Key", GatewaySuites.maintenanceKey)]
        func send(_ method: HTTPMethod, _ path: String, _ body: JSON? = nil) async throws -> ParseClient.Answer {
            try await keeper.send(method, path, headers: headers, body: body?.serialized)
        }
        let className = "Kept\(Names.random(6))"
        let times: JSON = ["createdAt": "2020-01-02T03:04:05.678Z", "updatedAt": "2021-01-02T03:04:05.678Z"]
        var object = times
        object["ACL"] = [:]
        let created = try await send(.POST, "/classes/\(className)", object)
        #expect(created.status == 201, "\(created.text)")
        #expect(created["createdAt"] == times["createdAt"], "\(created.text)")
        let path = "/classes/\(className)/\(created.objectId)"
        let read = try await send(.GET, path)
        #expect(read["createdAt"] == times["createdAt"], "\(read.text)")
        #expect(read["updatedAt"] == times["updatedAt"], "\(read.text)")
        let later: JSON = ["createdAt": "2019-01-01T00:00:00.000Z", "updatedAt": "2019-06-01T00:00:00.000Z", "n": 1]
        let updated = try await send(.PUT, path, later)
        #expect(updated["updatedAt"] == later["updatedAt"], "\(updated.text)")
        let sorted = try await send(
            .GET,
            "/classes/\(className)?"
                + ParseClient.queryText([
                    "where": ["createdAt": ["$lt": ["__type": "Date", "iso": "2019-12-31T00:00:00.000Z"]]]
                ]))
        #expect(sorted.results.count == 1, "\(sorted.text)")
        let inBatch = try await send(
            .POST, "/batch",
            [
                "requests": [
                    [
                        "method": "PUT", "path": .string("/parse\(path)"),
                        "body": ["createdAt": "2018-01-01T00:00:00.000Z"],
                    ]
                ]
            ])
        #expect(inBatch.json.at(0, "success") != nil, "\(inBatch.text)")
        #expect(try await send(.GET, path)["createdAt"] == "2018-01-01T00:00:00.000Z")
        #expect(try await send(.PUT, path, ["createdAt": "yesterday"]).code == 111)
        // For a new object, `updatedAt` is accepted only together with `createdAt`, and never before it.
        let early = try await send(
            .POST, "/classes/\(className)", ["updatedAt": "2018-01-01T00:00:00.000Z", "ACL": [:]])
        let kept = try await send(.GET, "/classes/\(className)/\(early.objectId)")
        #expect(kept["updatedAt"] == kept["createdAt"] && kept["updatedAt"]?.stringValue ?? "" > "2020", "\(kept.text)")
        let reversed: JSON = ["createdAt": "2019-01-01T00:00:00.000Z", "updatedAt": "2018-01-01T00:00:00.000Z"]
        #expect(try await send(.POST, "/classes/\(className)", reversed).code == 142)
        #expect(try await send(.PUT, path, reversed).code == 142)
        #expect(try await send(.POST, "/classes/\(className)", ["objectId": "chosen"]).code == 105)

        // With only the master key, times from the client are ignored.
        let byMaster = try await ParseClient.master(suite).call(.PUT, path, ["createdAt": "2017-01-01T00:00:00.000Z"])
        #expect(byMaster.status == 200)
        #expect(try await send(.GET, path)["createdAt"] == "2018-01-01T00:00:00.000Z")
        // Routes that do not concern objects still require the master key.
        for (method, route) in [
            (HTTPMethod.GET, "/schemas"), (.GET, "/serverInfo"), (.POST, "/push"), (.PUT, "/config"),
        ] {
            let refused = try await send(method, route, method == .GET ? nil : [:])
            #expect(refused.status == 403, "\(route): \(refused.status) \(refused.text)")
        }
        #expect(try await send(.POST, "/loginAs", [:]).code == 119)
        let users = try await send(.GET, "/users")
        #expect(users.status == 200, "No hash is shown.")
        #expect(!users.text.contains("assword"), "No hash is shown.")
    }

    @Test func noKeyWidensAnother() async throws {
        let suite = try await GatewaySuites.guarded
        let client = ParseClient(suite)
        func status(_ headers: [(String, String)], _ path: String = "/serverInfo") async throws -> Int {
            try await client.send(.GET, path, headers: client.credentials + headers).status
        }
        let (reader, keeper) = (GatewaySuites.readOnlyKey, GatewaySuites.maintenanceKey)
        #expect(try await status([("X-Parse-Master-Key", Suite.masterKey)]) == 200)
        #expect(try await status([("X-Parse-Master-Key", keeper)]) == 403)
        #expect(try await status([("X-Parse-Maintenance-Key", Suite.masterKey)]) == 403)
        #expect(try await status([("X-Parse-Maintenance-Key", reader)]) == 403)
        #expect(try await status([("X-Parse-REST-API-Key", Suite.masterKey)]) == 403)
        #expect(
            try await status([("X-Parse-Master-Key", Suite.masterKey), ("X-Parse-Maintenance-Key", "x")], "/classes/A")
                == 403)
        #expect(
            try await status([("X-Parse-Master-Key", "x"), ("X-Parse-Maintenance-Key", keeper)], "/classes/A") == 403)
        #expect(try await status([("X-Parse-Master-Key", Suite.masterKey), ("X-Parse-Master-Key", reader)]) == 403)
        let both = try await client.send(
            .POST, "/classes/Both",
            headers: client.credentials + [("X-Parse-Master-Key", reader), ("X-Parse-Maintenance-Key", keeper)],
            body: Array("{}".utf8))
        #expect(both.code == 119, "\(both.text)")
    }

    @Test func equalKeysStopTheStart() async throws {
        let same = "one-\(Names.random(12))"
        for (name, value) in [
            ("SATCHEL_READ_ONLY_MASTER_KEY", same), ("SATCHEL_MAINTENANCE_KEY", same), ("SATCHEL_REST_KEY", same),
            ("SATCHEL_WINDOWS_KEY", same), ("SATCHEL_APP_ID", same),
        ] {
            let problem = try await Self.problem(["SATCHEL_MASTER_KEY": same, name: value])
            #expect(problem.contains("SATCHEL_MASTER_KEY"), "\(problem)")
            #expect(problem.contains(name), "\(problem)")
            #expect(problem.contains("are the same"), "\(problem)")
            #expect(!problem.contains(same), "\(problem)")
        }
        let two = try await Self.problem([
            "SATCHEL_MASTER_KEY": "other", "SATCHEL_READ_ONLY_MASTER_KEY": same, "SATCHEL_MAINTENANCE_KEY": same,
        ])
        #expect(two.contains("SATCHEL_MAINTENANCE_KEY and SATCHEL_READ_ONLY_MASTER_KEY are the same"), "\(two)")
    }

    @Test(arguments: [
        ("SATCHEL_RATE_LIMITS", "login=ten per ip"), ("SATCHEL_RATE_LIMITS", "login=10/60s per planet"),
        ("SATCHEL_RATE_LIMITS", "login=0/60s per ip"), ("SATCHEL_CLIENT_ROUTES", "classes/^A$"),
        ("SATCHEL_IDEMPOTENCY_PATHS", "(a+)+"), ("SATCHEL_IDEMPOTENCY_SECONDS", "0"),
        ("SATCHEL_TRUSTED_PROXIES", "everybody"), ("SATCHEL_MAINTENANCE_KEY_IPS", "10.0.0.0/99"),
        ("SATCHEL_ALLOW_ORIGINS", "shop.example"), ("SATCHEL_SKIP_MAX", "-1"),
        ("SATCHEL_LIMIT_MAX", "ten"), ("SATCHEL_LOG_LEVEL", "loud"), ("SATCHEL_LOG_REQUESTS", "maybe"),
        ("SATCHEL_LOG_FORMAT", "xml"), ("SATCHEL_LOG_SLOW_MILLISECONDS", "1s"), ("SATCHEL_TRACES_SHARE", "1.5"),
        ("SATCHEL_TRACES_URL", "collector:4318"),
        ("SATCHEL_CLIENT_SCHEMA", "open"), ("SATCHEL_FILE_UPLOAD", "everybody"),
    ])
    func aSettingThatCannotWorkStopsTheStart(name: String, value: String) async throws {
        let problem = try await Self.problem([name: value, "SATCHEL_MASTER_KEY": "m-\(Names.random(8))"])
        #expect(problem.contains(value) || problem.contains(name), "\(problem)")
    }

    /// The error of a gateway that refuses to start.
    private static func problem(_ settings: [String: String]) async throws -> String {
        let data = "/tmp/satchel-\(Names.random(8))"
        defer { try? FileManager.default.removeItem(atPath: data) }
        do {
            // The process must end by itself long before the timeout.
            let output = try await Command.run(
                ["timeout", "60", "\(checkoutDirectory)/.build/release/gateway"],
                environment: settings.merging(["SATCHEL_DATA": data, "SATCHEL_PORT": "1"]) { given, _ in given })
            return "It started: \(output)"
        } catch let failed as Command.Failed {
            return failed.description
        }
    }

    @Test func aClientNeedsOneOfTheClientKeys() async throws {
        let client = ParseClient(try await GatewaySuites.closed)
        let app = ("X-Parse-Application-Id", "satchel")
        func get(_ headers: [(String, String)]) async throws -> ParseClient.Answer {
            try await client.send(.GET, "/classes/Open", headers: headers)
        }
        for key in [("X-Parse-REST-API-Key", GatewaySuites.restKey), ("X-Parse-Windows-Key", GatewaySuites.windowsKey)]
        {
            #expect(try await get([app, key]).status == 200, "\(key.0)")
        }
        #expect(try await get([app, ("X-Parse-Master-Key", Suite.masterKey)]).status == 200)
        for wrong in [
            [app], [app, ("X-Parse-REST-API-Key", "x")], [app, ("X-Parse-REST-API-Key", GatewaySuites.windowsKey)],
            [app, ("X-Parse-Client-Key", GatewaySuites.restKey)], [("X-Parse-REST-API-Key", GatewaySuites.restKey)],
        ] {
            let refused = try await get(wrong)
            #expect(refused.status == 403, "\(wrong)")
            #expect(refused["error"] == "unauthorized" && refused.code == nil, "\(wrong)")
        }
    }

    @Test func basicAuthorizationCarriesKeys() async throws {
        let client = ParseClient(try await Suite.shared)
        func get(_ user: String, scheme: String = "Basic", _ more: [(String, String)] = []) async throws -> Int {
            let value = "\(scheme) \(Data(user.utf8).base64EncodedString())"
            return try await client.send(.GET, "/serverInfo", headers: [("Authorization", value)] + more).status
        }
        #expect(try await get("satchel:\(Suite.masterKey)") == 200)
        #expect(try await get("satchel:\(Suite.masterKey)", scheme: "basic") == 200)
        #expect(try await get("satchel:wrong") == 403)
        #expect(try await get("satchel:javascript-key=x") == 403, "A client, who needs the master key here.")
        #expect(try await get("other:\(Suite.masterKey)") == 403)
        #expect(try await get("satchel") == 403)
        let byClient = "Basic \(Data("satchel:javascript-key=x".utf8).base64EncodedString())"
        #expect(try await client.send(.GET, "/classes/Open", headers: [("Authorization", byClient)]).status == 200)
        // With the application id in its header, the server ignores the keys in `Authorization`.
        let both = [("X-Parse-Application-Id", "satchel")]
        #expect(try await get("satchel:\(Suite.masterKey)", both) == 403)
        #expect(try await client.send(.GET, "/classes/Open", headers: [("Authorization", "Basic %%%")]).status == 403)
    }

    @Test func clientsUseOnlyTheRoutesOnTheList() async throws {
        let suite = try await GatewaySuites.closed
        let client = ParseClient(suite)
        let headers = client.credentials + [("X-Parse-REST-API-Key", GatewaySuites.restKey)]
        func send(_ method: HTTPMethod, _ path: String, _ body: String? = nil) async throws -> ParseClient.Answer {
            try await client.send(method, path, headers: headers, body: body.map { Array($0.utf8) })
        }
        #expect(try await send(.POST, "/classes/Open1", "{}").status == 201)
        #expect(
            try await send(.POST, "/classes/_User", #"{"username":"\#(Names.random(9))","password":"secret1"}"#).status
                == 201)
        for (method, path) in [
            (HTTPMethod.GET, "/classes/Product"), (.POST, "/functions/bag"), (.GET, "/users/me"), (.POST, "/events/a"),
            (.GET, "/classes/open"), (.GET, "/config"),
        ] {
            let refused = try await send(method, path, method == .POST ? "{}" : nil)
            #expect(refused.status == 400, "\(path): \(refused.text)")
            #expect(refused.code == 119, "\(path): \(refused.text)")
        }
        #expect(try await ParseClient.master(suite).find("Product").status == 200)
        #expect(try await client.send(.GET, "/health").status == 200)
    }
}
