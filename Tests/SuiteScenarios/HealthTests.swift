import ParseProtocol
import TestSupport
import Testing

/// The health answer, which needs no key.
@Suite struct HealthTests {
    @Test func healthNamesEveryServiceWithItsWriter() async throws {
        var client = ParseClient(try await Suite.shared)
        client.applicationId = nil
        let health = try await client.call(.GET, "/health")
        #expect(health.status == 200)
        #expect(health["status"] == "ok")
        let services = health["services"]?.objectValue ?? [:]
        #expect(
            Set(services.keys) == [
                "catalog", "users", "bag", "payments", "mail", "push", "analytics", "crash", "cloud", "web",
            ])
        for (name, service) in services {
            #expect(service["writer"] == true, "\(name)")
            #expect((service["replicas"]?.intValue ?? 0) >= 1, "\(name)")
        }
    }

    /// The condition that `scripts/up` and `scripts/restart` wait for. A gateway of an earlier build does not list new
    /// services.
    @Test func theScriptsNameWhatAHealthAnswerLacks() async throws {
        func missing(_ body: JSON) async throws -> String {
            try await Command.run(
                [
                    "bash", "-c", #"set -euo pipefail; . "$0/scripts/lib/common.sh"; missing_services "$1""#,
                    checkoutDirectory, body.serializedText,
                ], environment: ["SATCHEL_DATA": "/nowhere"])
        }
        let names = ["catalog", "users", "bag", "payments", "mail", "push", "analytics", "crash"]
        let running: JSON = ["status": "ok", "replicas": 1, "writer": true]
        var services = Dictionary(uniqueKeysWithValues: names.map { ($0, running) })
        #expect(try await missing(["services": .object(services)]) == "")
        services["cloud"] = ["status": "missing", "replicas": 0, "writer": false]
        services["bag"] = ["status": "ok", "replicas": 0, "writer": true]
        #expect(try await missing(["services": .object(services)]) == "bag 0/1, cloud\n")
        #expect(try await missing(["code": 155, "error": "x"]) == names.joined(separator: ", ") + ", cloud, web\n")
    }
}
