import ParseProtocol
import TestSupport
import Testing

/// The answer that needs no key: whether the suite runs.
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
                "catalog", "users", "bag", "payments", "mail", "push", "analytics", "crash", "cloud",
            ])
        for (name, service) in services {
            #expect(service["writer"] == true, "\(name)")
            #expect((service["replicas"]?.intValue ?? 0) >= 1, "\(name)")
        }
    }
}
