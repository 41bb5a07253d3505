import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The texts of `/health` and of answers during failures. Ids T9f and T9g of docs/internals/hardening.md.
@Suite(.serialized) struct SuiteHealthTests {
    private func limit(_ suite: Suite, _ replica: String, fileBytes: String) async throws {
        let pid = try #require(suite.processId(of: replica))
        _ = try await Command.run(["/usr/bin/prlimit", "--pid", "\(pid)", "--fsize=\(fileBytes):"])
    }

    /// T9f: every write to a file fails, as on a full disk.
    @Test(.timeLimit(.minutes(10))) func aFullDiskIsNamed() async throws {
        let suite = try await Suite.start(settings: Suite.inFiles)
        let client = ParseClient(suite)
        #expect(try await client.create("Thing", ["a": 1]).status == 201)
        let kept = try await client.create("Thing", ["a": 2])
        try await limit(suite, "catalog-1", fileBytes: "1")
        for _ in 0..<3 {
            let refused = try await client.create("Thing", ["a": 3])
            #expect(refused.status == 503, "\(refused.status) \(refused.text)")
            #expect(refused.code == 2, "\(refused.status) \(refused.text)")
            #expect(refused.headers.contains(name: "Retry-After"))
            expectNoInternalText(refused)
        }
        #expect(try await client.get("/classes/Thing/\(kept.objectId)").status == 200, "Reading goes on.")
        try await eventually("health names it", within: .seconds(5)) {
            let health = try await client.get("/health")
            let catalog = health["services"]?["catalog"]
            return health.status == 503 && health["status"] == "failing" && catalog?["status"] == "failing"
                && catalog?["problem"]?.stringValue?.contains("disk") == true
        }
        try await limit(suite, "catalog-1", fileBytes: "unlimited")
        try await eventually("health is well again without anybody writing", within: .seconds(10)) {
            try await client.get("/health")["status"] == "ok"
        }
        #expect(try await client.create("Thing", ["a": 4]).status == 201)
        #expect(try await client.find("Thing", [:], ["count": 1, "limit": 0])["count"] == 3)
        await suite.stop()
    }

    /// T9g: only the requests that need the missing service fail.
    @Test(.timeLimit(.minutes(10))) func aStoppedServiceIsNamedAndClosesNothing() async throws {
        let suite = try await Suite.start(settings: Suite.withoutWatchdog)
        let client = ParseClient(suite)
        let pid = try #require(suite.processId(of: "crash-1"))
        #expect(Glibc.kill(pid, SIGSTOP) == 0)
        defer { _ = Glibc.kill(pid, SIGCONT) }
        try await eventually("the silent service is noticed", within: .seconds(20)) {
            try await client.get("/health")["status"] == "degraded"
        }
        let health = try await client.get("/health")
        #expect(health.status == 200, "\(health.text)")
        #expect(health["services"]?["crash"]?["status"] == "missing", "\(health.text)")
        #expect(health["services"]?["catalog"]?["status"] == "ok", "\(health.text)")
        #expect(try await client.create("Thing", ["a": 1]).status == 201)
        #expect(Glibc.kill(pid, SIGCONT) == 0)
        try await eventually("it is back", within: .seconds(10)) {
            try await client.get("/health")["status"] == "ok"
        }
        await suite.stop()
    }
}
