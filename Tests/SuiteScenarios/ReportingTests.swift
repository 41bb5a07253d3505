import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Pushes and installations, in a minimal end-to-end test.
@Suite struct ReportingTests {
    @Test func anInstallationIsOneRowPerDevice() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let id = "ABC-\(Names.random(10))"
        let created = try await client.call(
            .POST, "/installations",
            [
                "deviceType": "ios", "installationId": .string(id),
                "deviceToken": .string(String(repeating: "AB", count: 32)),
            ])
        try #require(created.status == 201, "\(created.text)")
        #expect(
            created.headers.first(name: "Location") == "\(suite.url)/classes/_Installation/\(created.objectId)")
        let again = try await client.call(
            .POST, "/installations",
            ["deviceType": "ios", "installationId": .string(id.lowercased()), "channels": ["news", ""], "badge": 3])
        #expect(again.objectId == created.objectId, "\(again.text)")
        let path = "/installations/\(created.objectId)"
        // A device's identifying fields are shown only to that device and to the operator.
        let row = try await ParseClient.master(suite).get(path)
        #expect(row["installationId"] == .string(id.lowercased()))
        #expect(row["badge"] == 3)
        #expect(row["deviceToken"] == .string(String(repeating: "ab", count: 32)))

        #expect(
            try await client.call(.PUT, path, ["channels": ["__op": "AddUnique", "objects": ["sale"]]]).status == 200)
        #expect(try await client.get(path)["channels"] == ["news", "", "sale"])
        #expect(try await client.call(.PUT, path, ["installationId": "other"]).code == 136)
        #expect(try await client.call(.PUT, path, ["deviceType": "android"]).code == 136)
        #expect(try await client.call(.PUT, path, ["channels": ["no such"]]).code == 112)
        #expect(try await client.get("/installations").code == 119)
        #expect(try await client.call(.DELETE, path).code == 119)
        #expect(try await ParseClient.master(suite).call(.DELETE, path).status == 200)
    }

    /// The payload of a promotion push names a Promotion that any client can fetch.
    @Test func anybodyReadsAPromotion() async throws {
        let suite = try await Suite.shared
        let created = try await ParseClient.master(suite).create("Promotion", ["content": "Two for one"])
        #expect(try await ParseClient(suite).get("/classes/Promotion/\(created.objectId)")["content"] == "Two for one")
    }
}
