import ParseProtocol
import TestSupport
import Testing

/// The quota of all clients together: a part is reserved for customers with accounts, and the operator is warned. Id
/// T6f of docs/internals/hardening.md.
@Suite(.timeLimit(.minutes(5))) struct GlobalQuotaTests {
    @Test func bytesOfStrangersHaveAGlobalLimitWithAnAlarm() async throws {
        let settings = [
            "SATCHEL_TRUSTED_PROXIES": "127.0.0.1", "SATCHEL_MAINTENANCE_KEY": "a-maintenance-key",
            "SATCHEL_QUOTAS": "objectBytes=400000/86400s per global",
        ]
        try await Suite.with(settings: settings) { suite in
            let master = ParseClient.master(suite)
            #expect(try await master.create("Note", ["text": "a"]).status == 201)
            let ann = PlacedClient(suite, at: "198.51.100.7")
            let id = try await ann.signUp("ann", "a-long-secret")
            let aged = try await master.send(
                .PUT, "/users/\(id)",
                headers: [
                    ("X-Parse-Application-Id", "satchel"), ("X-Parse-Maintenance-Key", "a-maintenance-key"),
                    ("Content-Type", "application/json"),
                ], body: Array(#"{"createdAt":"2020-01-01T00:00:00.000Z"}"#.utf8))
            #expect(aged.status == 200, "\(aged.text)")

            let note: JSON = ["text": .string(String(repeating: "x", count: 19_000))]
            var stored = 0
            var refusal: ParseClient.Answer?
            for number in 0..<30 where refusal == nil {
                let stranger = PlacedClient(suite, at: "203.0.\(number).7")
                let answer = try await stranger.call(.POST, "/classes/Note", note)
                if answer.status == 201 { stored += 1 } else { refusal = answer }
            }
            #expect(refusal?.isPaced == true, "\(refusal?.text ?? "none")")
            #expect((13...16).contains(stored), "\(stored) of 19 KB are three quarters of 400 KB.")

            var known = ann
            known.client.sessionToken = try await ann.signIn("ann", "a-long-secret")["sessionToken"]?.stringValue
            #expect(try await known.call(.POST, "/classes/Note", note).status == 201)
            #expect(try await master.create("Note", note).status == 201)

            try await eventually("health tells it") {
                let health = try await master.get("/health").json
                let problem = health.at("services", .member("catalog"), "problem")?.stringValue ?? ""
                return health["status"] == "degraded" && problem.contains("objectBytes")
            }
            let groups = try await master.get("/security").json.at("report", "groups")?.arrayValue ?? []
            let quotas = groups.first { $0["name"] == "Quotas" }
            #expect(quotas?["state"] == "fail", "\(groups)")
        }
    }
}
