import ParseProtocol
import TestSupport
import Testing

/// Functions on other hosts: how they are declared, what they receive, and the clear error for each fault of a host.
@Suite struct HookTests {
    @Test func functionsAreDeclaredChangedListedAndRemoved() async throws {
        let host = try await WebhookHost.shared
        let (master, name) = (host.master, WebhookHost.name("price"))
        let hook: JSON = ["functionName": .string(name), "url": "https://hooks.example/price"]
        #expect(try await master.call(.POST, "/hooks/functions", hook).json == hook)
        #expect(try await master.get("/hooks/functions/\(name)").json == hook)
        #expect(try await master.get("/hooks/functions").json.arrayValue?.contains(hook) == true)
        let again = try await master.call(.POST, "/hooks/functions", hook)
        #expect(again.code == 143)
        #expect(again["error"] == .string("function name: \(name) already exists"))

        let changed: JSON = ["functionName": .string(name), "url": "https://hooks.example/other"]
        let put = try await master.call(.PUT, "/hooks/functions/\(name)", ["url": "https://hooks.example/other"])
        #expect(put.status == 200)
        #expect(put.json == changed)
        #expect(try await master.get("/hooks/functions/\(name)").json == changed)
        let removed = try await master.call(.PUT, "/hooks/functions/\(name)", ["__op": "Delete"])
        #expect(removed.status == 200)
        #expect(removed.json == [:])
        for answer in [
            try await master.get("/hooks/functions/\(name)"),
            try await master.call(.PUT, "/hooks/functions/\(name)", ["url": "https://hooks.example/"]),
        ] {
            #expect(answer.code == 143)
            #expect(answer["error"] == .string("no function named: \(name) is defined"))
        }
    }

    @Test func triggersAreDeclaredChangedListedAndRemoved() async throws {
        let host = try await WebhookHost.shared
        let (master, name) = (host.master, WebhookHost.name("Game"))
        let hook: JSON = [
            "className": .string(name), "triggerName": "beforeSave", "url": "https://hooks.example/save",
        ]
        #expect(try await master.call(.POST, "/hooks/triggers", hook).json == hook)
        #expect(try await master.get("/hooks/triggers/\(name)/beforeSave").json == hook)
        #expect(try await master.get("/hooks/triggers").json.arrayValue?.contains(hook) == true)
        #expect(try await master.get("/hooks/functions").json.arrayValue?.contains(hook) == false)
        let again = try await master.call(.POST, "/hooks/triggers", hook)
        #expect(again.code == 143)
        #expect(again["error"] == .string("class \(name) already has trigger beforeSave"))
        let path = "/hooks/triggers/\(name)/beforeSave"
        let put = try await master.call(.PUT, path, ["url": "https://hooks.example/x"])
        #expect(put["url"] == "https://hooks.example/x")
        // As in hosted Parse.
        #expect(try await master.call(.DELETE, path).json == [:])
        let missing = try await master.get(path)
        #expect(missing.code == 143)
        #expect(missing["error"] == .string("class \(name) does not exist"))
    }

    @Test func onlyOperatorsDeclareAndSeeHooks() async throws {
        let host = try await WebhookHost.shared
        let hook: JSON = ["functionName": .string(WebhookHost.name("f")), "url": "https://hooks.example/"]
        let customer = try await Customer.signUp(host.suite).client
        for client in [ParseClient(host.suite), customer] {
            for answer in [
                try await client.get("/hooks/functions"), try await client.get("/hooks/triggers"),
                try await client.call(.POST, "/hooks/functions", hook),
                try await client.call(.PUT, "/hooks/functions/f", ["__op": "Delete"]),
            ] {
                #expect(answer.status == 403)
                #expect(answer["error"] == "unauthorized: master key is required")
            }
            let batch = try await client.call(
                .POST, "/batch", ["requests": [["method": "POST", "path": "/parse/hooks/functions", "body": hook]]])
            #expect(batch.json.at(0, "error") != nil, "\(batch.text)")
        }
        let admin = try await Customer.admin(host.suite)
        #expect(try await admin.call(.POST, "/hooks/functions", hook).json == hook)
        #expect(try await admin.get("/hooks/functions").json.arrayValue?.contains(hook) == true)
        let path = "/hooks/functions/\(hook.text("functionName"))"
        #expect(try await admin.call(.DELETE, path).json == [:])
    }

    @Test(
        arguments: [
            [:], ["functionName": "f"], ["url": "https://hooks.example/"],
            ["functionName": "a..b", "url": "https://hooks.example/"],
            ["functionName": "constructor", "url": "https://hooks.example/"],
            ["functionName": "__proto__", "url": "https://hooks.example/"],
            ["functionName": 7, "url": "https://hooks.example/"], ["functionName": "f", "url": "ftp://hooks.example/"],
            ["functionName": "f", "url": "file:///etc/passwd"], ["functionName": "f", "url": "http:///nohost"],
            ["functionName": "f", "url": "https://user:word@hooks.example/"],
            ["functionName": "f", "url": "https://hooks.example/\r\nX-Injected: 1"], ["functionName": "f", "url": 5],
            ["className": "Game", "triggerName": "beforeSave", "url": "https://hooks.example/"],
        ] as [JSON])
    func aDeclarationThatMeansNothingIsRefused(_ hook: JSON) async throws {
        let answer = try await WebhookHost.shared.master.call(.POST, "/hooks/functions", hook)
        #expect(answer.status == 400, "\(answer.text)")
        #expect(answer.code == 143, "\(answer.text)")
        #expect(answer["error"]?.stringValue?.hasPrefix("invalid hook declaration") == true)
    }

    @Test(arguments: [
        ("Game", "beforeEverything"), ("_Session", "beforeSave"), ("Game", "beforeLogin"), ("Game", "afterLogout"),
        ("_User", "afterLogout"), ("_PushStatus", "beforeSave"), ("@File", "beforeSave"), ("a b", "afterFind"),
        ("_Hooks", "beforeFind"), ("_JobStatus", "beforeFind"),
    ])
    func aTriggerThatWouldNotBeCalledIsRefused(_ className: String, _ trigger: String) async throws {
        let hook: JSON = [
            "className": .string(className), "triggerName": .string(trigger), "url": "https://hooks.example/",
        ]
        let answer = try await WebhookHost.shared.master.call(.POST, "/hooks/triggers", hook)
        #expect(answer.code == 143, "\(answer.text)")
    }

    @Test(arguments: ["addToBag", "checkout", "crashIssues"])
    func noHookTakesThePlaceOfAFunctionOfSatchel(_ name: String) async throws {
        let host = try await WebhookHost.shared
        let hook: JSON = ["functionName": .string(name), "url": .string(host.peer.url)]
        let answer = try await host.master.call(.POST, "/hooks/functions", hook)
        #expect(answer.code == 143)
        #expect(answer["error"]?.stringValue?.contains("already exists") == true)
    }

    @Test(arguments: [ParseClient.Style.headers, .tunnelled])
    func aFunctionHearsWhoAsksAndWhat(_ style: ParseClient.Style) async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("total")
        try await host.function(name, ["json": ["success": ["total": 42, "when": .null]]])
        let customer = try await Customer.signUp(host.suite)
        var client = customer.client
        client.style = style
        client.installationId = "6b0f6d5e-3b1e-4f6c-9a4b-1f7d3c5e8a90"
        let answer = try await client.run(name, ["items": [1, 2], "note": "x"])
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.result == ["total": 42, "when": .null], "\(answer.text)")

        let call = try #require(host.calls(name).first)
        let body = call["body"]
        #expect(body?["functionName"] == .string(name))
        #expect(body?["params"] == ["items": [1, 2], "note": "x"])
        #expect(body?["master"] == false)
        #expect(body?["ip"] == "127.0.0.1")
        #expect(body?["context"] == [:])
        #expect(body?["installationId"] == "6b0f6d5e-3b1e-4f6c-9a4b-1f7d3c5e8a90")
        #expect(body?.at("user", "objectId")?.stringValue == customer.userId)
        #expect(body?.at("user", "email")?.stringValue == customer.email)
        #expect(call.at("headers", "x-parse-webhook-key") == .string(WebhookHost.key))
        let token = try #require(customer.client.sessionToken)
        #expect(!call.serializedText.contains(token), "A webhook has no use for a session.")

        let asMaster = try await host.master.run(name)
        #expect(asMaster.status == 200)
        let second = try #require(host.calls(name).last)
        #expect(second.at("body", "master") == true)
        #expect(second.at("body", "user") == nil)
        #expect(!second.serializedText.contains(Suite.masterKey))
    }

    @Test func aChangeIsInEffectWhenItsAnswerIsThere() async throws {
        let host = try await WebhookHost.shared
        let (name, other) = (WebhookHost.name("f"), WebhookHost.name("g"))
        try await host.answer(name, ["json": ["success": 1]])
        try await host.answer(other, ["json": ["success": 2]])
        for _ in 0..<10 {
            try await host.function(name)
            #expect(try await host.master.run(name).result == 1)
            let url: JSON = .string("\(host.peer.url)/\(other)")
            _ = try await host.master.call(.PUT, "/hooks/functions/\(name)", ["url": url])
            #expect(try await host.master.run(name).result == 2)
            _ = try await host.master.call(.PUT, "/hooks/functions/\(name)", ["__op": "Delete"])
            let gone = try await host.master.run(name)
            #expect(gone.code == 141)
            #expect(gone["error"] == .string("Invalid function: \"\(name)\""))
        }
    }

    @Test(
        arguments: [
            ("no stock", 141, "no stock"), (["code": 9001, "message": "mine"], 9001, "mine"),
            (["code": 101, "error": "gone"], 101, "gone"), (["code": 1, "message": "x"], 141, "x"),
            (["code": 2, "message": "x"], 141, "x"), (["code": 100, "message": "x"], 141, "x"),
            (["code": -5, "message": "x"], 141, "x"), (7, 141, "The webhook refused."),
            ([:], 141, "The webhook refused."),
        ] as [(JSON, Int, String)])
    func whatAFunctionRefusesIsTheClientsError(_ error: JSON, _ code: Int, _ text: String) async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("f")
        try await host.function(name, ["json": ["error": error]])
        let answer = try await ParseClient(host.suite).run(name)
        #expect(answer.code == code, "\(answer.text)")
        #expect(answer["error"] == .string(text), "\(answer.text)")
        #expect(answer.status == (code == 101 ? 404 : 400), "No status that lets an SDK call it again.")
    }

    /// The fault of a host, and the error text that the client gets.
    static let troubles: [(JSON, String)] = [
        (["how": "slow", "seconds": 30], "The webhook did not answer in time."),
        (["how": "garbage"], "The webhook"), (["how": "close"], "The webhook"),
        (["how": "half"], "The webhook's answer is not complete."),
        (["how": "large"], "The webhook's answer is too large."),
        (["status": 500, "json": ["success": 1]], "The webhook answered with status 500."),
        (["status": 404, "json": [:]], "The webhook answered with status 404."),
        (["status": 401, "json": ["error": "who"]], "The webhook answered with status 401."),
        (["how": "text", "text": "<html>hello</html>"], "The webhook's answer is not a JSON object."),
        (["how": "text", "text": ""], "The webhook's answer is not a JSON object."),
        (["how": "text", "text": "[1]"], "The webhook's answer is not a JSON object."),
        (["how": "text", "text": "{\"success\":1"], "The webhook's answer is not a JSON object."),
        (["json": ["result": 1]], "The webhook's answer has neither success nor error."),
    ]

    @Test(arguments: troubles) func aBrokenHostIsAFailedScript(_ order: JSON, _ text: String) async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("f")
        try await host.function(name, order)
        let answer = try await ParseClient(host.suite).run(name)
        #expect(answer.status == 400, "\(answer.text)")
        #expect(answer.code == 141, "\(answer.text)")
        #expect(answer["error"]?.stringValue?.hasPrefix(text) == true, "\(answer.text)")
        #expect(!answer.text.contains(host.peer.url), "Where a webhook is, is the operator's business.")
        #expect(host.calls(name).count == 1, "A webhook that may have acted is not called again.")
    }

    @Test func aHostThatIsDownIsSaid() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("f")
        let hook: JSON = ["functionName": .string(name), "url": "http://127.0.0.1:1/"]
        _ = try await host.master.call(.POST, "/hooks/functions", hook)
        let answer = try await ParseClient(host.suite).run(name)
        #expect(answer.code == 141)
        #expect(answer["error"] == "The webhook cannot be reached.")
    }

    @Test func aRedirectIsNotFollowed() async throws {
        let host = try await WebhookHost.shared
        let (name, target) = (WebhookHost.name("f"), WebhookHost.name("target"))
        try await host.function(name, ["how": "redirect", "to": .string("\(host.peer.url)/\(target)")])
        let answer = try await ParseClient(host.suite).run(name)
        #expect(answer.code == 141)
        #expect(answer["error"] == "The webhook answered with status 302.")
        #expect(host.peer.reports().allSatisfy { $0["name"]?.stringValue?.contains(target) == false })
    }

    @Test func aContextReachesTheWebhookAndMustBeAnObject() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("f")
        try await host.function(name)
        func run(_ context: String, _ path: String) async throws -> ParseClient.Answer {
            let client = ParseClient(host.suite)
            return try await client.send(
                .POST, path, headers: client.credentials + [("X-Parse-Cloud-Context", context)],
                body: Array("{}".utf8))
        }
        #expect(try await run(#"{"campaign":"spring"}"#, "/functions/\(name)").status == 200)
        #expect(host.calls(name).last?.at("body", "context") == ["campaign": "spring"])
        for context in ["[1]", "7", "\"x\"", "{", "null"] {
            for path in ["/functions/\(name)", "/classes/\(WebhookHost.name("C"))"] {
                let refused = try await run(context, path)
                #expect(refused.status == 400, "\(context): \(refused.text)")
                #expect(refused.code == 107, "\(context): \(refused.text)")
            }
        }
        let tunnelled = ParseClient(host.suite, style: .tunnelled)
        for context: JSON in [["a": 1], "{\"a\":1}"] {
            _ = try await tunnelled.call(.POST, "/functions/\(name)", ["_context": context, "x": 2])
            #expect(host.calls(name).last?.at("body", "context") == ["a": 1])
            #expect(host.calls(name).last?.at("body", "params") == ["x": 2])
        }
        #expect(try await tunnelled.call(.POST, "/functions/\(name)", ["_context": [1]]).code == 107)
        let batch = try await tunnelled.call(
            .POST, "/batch",
            [
                "_context": ["b": 1],
                "requests": [["method": "POST", "path": .string("/parse/functions/\(name)"), "body": [:]]],
            ])
        #expect(batch.json.at(0, "success") != nil)
        #expect(host.calls(name).last?.at("body", "context") == ["b": 1])
    }
}
