import ParseProtocol
import TestSupport
import Testing

/// `/security`: problems in the current settings and classes that an operator should fix.
@Suite struct SecurityReportTests {
    private static func check(_ report: JSON, _ title: String) -> JSON? {
        (report.at("report", "groups")?.arrayValue ?? []).flatMap { $0["checks"]?.arrayValue ?? [] }
            .first { $0["title"] == .string(title) }
    }

    @Test func aDemoSuiteFailsWhereItIsOpen() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let name = WebhookHost.name("Open")
        _ = try await ParseClient(suite).create(name, ["a": 1])
        let report = try await master.get("/security").json
        #expect(report.at("report", "version") == "1.0.0")
        #expect(report.at("report", "state") == "fail")
        let groups = report.at("report", "groups")?.arrayValue ?? []
        #expect(groups.map { $0.text("name") } == ["Keys", "Transport", "Classes", "Files", "Quotas", "Webhooks"])
        for group in groups {
            let failed = group["checks"]?.arrayValue?.contains { $0["state"] == "fail" } ?? false
            #expect(group["state"] == (failed ? "fail" : "success"))
            for check in group["checks"]?.arrayValue ?? [] {
                let isFine = check["state"] == "success"
                #expect((check["warning"] == nil) == isFine)
                #expect((check["solution"] == nil) == isFine)
            }
        }
        #expect(Self.check(report, "Master key is long enough")?["state"] == "fail")
        #expect(Self.check(report, "Clients cannot create classes")?["state"] == "fail")
        let writable = Self.check(report, "Classes are not written by everybody")
        #expect(writable?["state"] == "fail")
        #expect(Self.check(report, "Public address is encrypted")?["state"] == "success")
        #expect(!report.serializedText.contains(Suite.masterKey))
        #expect(try await ParseClient(suite).get("/security").status == 403)
    }

    @Test func aHardenedSuitePasses() async throws {
        try await Suite.with(settings: [
            "SATCHEL_ALLOW_CLIENT_CLASS_CREATION": "false", "SATCHEL_PUBLIC_URL": "http://shop.example/parse",
            "SATCHEL_MASTER_KEY_IPS": "127.0.0.1,0.0.0.0/0", "SATCHEL_FILE_UPLOAD": "public",
        ]) { suite in
            let report = try await ParseClient.master(suite).get("/security").json
            #expect(Self.check(report, "Clients cannot create classes")?["state"] == "success")
            for title in [
                "Public address is encrypted", "Master key is taken from known networks", "File upload needs a user",
            ] { #expect(Self.check(report, title)?["state"] == "fail", "\(title)") }
            let hook: JSON = ["functionName": "f", "url": "http://hooks.example/"]
            let master = ParseClient.master(suite)
            #expect(Self.check(report, "Webhooks can tell who calls")?["state"] == "success")
            _ = try await master.call(.POST, "/hooks/functions", hook)
            let second = try await master.get("/security").json
            for title in ["Webhooks can tell who calls", "Webhooks are called encrypted"] {
                #expect(Self.check(second, title)?["state"] == "fail", "\(title)")
            }
        }
    }
}
