import ParseProtocol
import TestSupport
import Testing

/// Account triggers, and that webhooks survive the restart of every process.
@Suite struct HookAccountTests {
    @Test func signingUpInAndOutPassTheirWebhooksWithoutSecrets() async throws {
        try await WebhookHost.with { host in
            let email = "\(Names.random(8).lowercased())@customers.example"
            let password = "a-long-\(Names.random(8))"
            try await host.trigger("beforeSave", "_User", ["json": ["success": ["tier": "silver"]]])
            for trigger in ["afterSave", "afterLogin"] { try await host.trigger(trigger, "_User") }
            try await host.trigger("afterLogout", "_Session")
            var client = ParseClient(host.suite)
            let signUp = try await client.call(
                .POST, "/users",
                ["username": .string(email), "email": .string(email), "password": .string(password)])
            #expect(signUp.status == 201, "\(signUp.text)")
            #expect(signUp["tier"] == "silver", "\(signUp.text)")

            try await host.trigger(
                "beforeLogin", "_User", ["how": "refuse", "field": "banned", "value": true, "error": "banned"])
            let credentials: JSON = ["username": .string(email), "password": .string(password)]
            let logIn = try await client.call(.POST, "/login", credentials)
            #expect(logIn.status == 200)
            #expect(logIn["tier"] == "silver")
            let wrong = try await client.call(.POST, "/login", ["username": .string(email), "password": "wrong-one"])
            #expect(wrong.code == 101)
            #expect(host.calls("_User-beforeLogin").count == 1, "Only the right user meets the webhook.")

            client.sessionToken = logIn["sessionToken"]?.stringValue
            #expect(try await client.call(.POST, "/logout").status == 200)
            try await eventually("all later webhooks are called") {
                !host.calls("_User-afterSave").isEmpty && !host.calls("_User-afterLogin").isEmpty
                    && !host.calls("_Session-afterLogout").isEmpty
            }
            let said = JSON.array(host.peer.reports()).serializedText
            for secret in [password, client.sessionToken ?? "", signUp["sessionToken"]?.stringValue ?? ""] {
                #expect(!secret.isEmpty)
                #expect(!said.contains(secret))
            }

            let banned = try await host.master.call(.PUT, "/users/\(signUp.objectId)", ["banned": true])
            #expect(banned.status == 200)
            let sessions = try await host.master.get("/sessions", ["count": 1, "limit": 0])["count"]
            client.sessionToken = nil
            let refused = try await client.call(.POST, "/login", credentials)
            #expect(refused.code == 141)
            #expect(refused["error"] == "banned")
            #expect(refused["sessionToken"] == nil)
            let after = try await host.master.get("/sessions", ["count": 1, "limit": 0])["count"]
            #expect(sessions != nil, "A refused sign-in leaves no session.")
            #expect(sessions == after, "A refused sign-in leaves no session.")
        }
    }

    /// 2026-116163: a configured webhook is always called, also by a gateway that has just started.
    @Test func advisory2026_116163_webhooksOutliveEveryProcess() async throws {
        try await WebhookHost.with { host in
            try await host.trigger("beforeSave", "Game", ["json": ["error": "no games"]])
            let client = ParseClient(host.suite)
            #expect(try await client.create("Game", ["a": 1]).code == 141)
            for replica in ["gateway-1", "catalog-1"] {
                try await host.suite.kill(replica)
                try await eventually("an answer that is not about the restart", within: .seconds(60)) {
                    guard let answer = try? await client.create("Game", ["a": 1]) else { return false }
                    #expect(answer.status != 201, "A webhook was skipped while \(replica) started.")
                    return answer.code == 141
                }
            }
            #expect(try await host.master.get("/hooks/triggers").json.arrayValue?.count == 1)
        }
    }
}
