import ParseProtocol
import TestSupport
import Testing

/// Installations as the SDKs save them (MOBILE_SDKS sections 1, 2 and 4): repeatedly, with values that are not known
/// yet, after the server lost the row, and with the installation id of another row.
@Suite struct DeviceReplayTests {
    private static func id() -> String { "dev-\(Names.random(16).lowercased())" }
    private static func token() -> String { "tok\(Names.random(24))" }

    @Test func twoRowsOfOneDeviceBecomeOne() async throws {
        let suite = try await Suite.shared
        let (client, master) = (ParseClient(suite), ParseClient.master(suite))
        let (id, token) = (Self.id(), Self.token())
        let byId = try await client.call(
            .POST, "/installations", ["deviceType": "ios", "installationId": .string(id), "channels": ["old"]])
        let byToken = try await client.call(
            .POST, "/installations", ["deviceType": "ios", "deviceToken": .string(token), "score": 1])
        try #require(byId.status == 201, "\(byId.text) \(byToken.text)")
        try #require(byToken.status == 201, "\(byId.text) \(byToken.text)")
        let merged = try await client.call(
            .PUT, "/installations/\(byToken.objectId)",
            [
                "deviceType": "ios", "installationId": .string(id.uppercased()), "deviceToken": .string(token),
                "score": ["__op": "Increment", "amount": 1],
            ])
        #expect(merged.status == 200, "\(merged.text)")
        #expect(merged["score"] == 2, "\(merged.text)")
        let rows = try await master.find("_Installation", ["installationId": .string(id)]).results
        #expect(rows.map(\.objectId) == [byToken.objectId])
        #expect(rows.first?["deviceToken"] == .string(token))
        #expect(rows.first?["score"] == 2)
        #expect(try await client.get("/installations/\(byId.objectId)").code == 101)
        // The device continues with either request.
        let again = try await client.call(
            .POST, "/classes/_Installation", ["deviceType": "ios", "installationId": .string(id)])
        #expect(again.objectId == byToken.objectId, "\(again.text)")
    }

    @Test func mergesSparePrivateRows() async throws {
        let suite = try await Suite.shared
        let (owner, client) = (try await Customer.signUp(suite), ParseClient(suite))
        let id = Self.id()
        let kept = try await owner.client.call(
            .POST, "/installations",
            [
                "deviceType": "ios", "installationId": .string(id),
                "ACL": .object([owner.userId: ["read": true, "write": true]]),
            ])
        let other = try await client.call(
            .POST, "/installations", ["deviceType": "ios", "deviceToken": .string(Self.token())])
        let refused = try await client.call(
            .PUT, "/installations/\(other.objectId)", ["installationId": .string(id)])
        #expect(refused.code == 101, "\(refused.text)")
        #expect(try await owner.client.get("/installations/\(kept.objectId)").status == 200)
        // A row that the client may not write keeps its values too.
        let mine = try await owner.client.call(
            .POST, "/installations",
            [
                "deviceType": "ios", "deviceToken": .string(Self.token()),
                "ACL": .object(["*": ["read": true], owner.userId: ["read": true, "write": true]]),
            ])
        let open = try await client.call(
            .POST, "/installations", ["deviceType": "ios", "installationId": .string(Self.id())])
        let openId = try await ParseClient.master(suite).get("/installations/\(open.objectId)")["installationId"]
        let stolen = try await client.call(
            .PUT, "/installations/\(mine.objectId)", ["installationId": openId ?? .null])
        #expect(stolen.code == 101, "\(stolen.text)")
        #expect(try await client.get("/installations/\(open.objectId)").status == 200)
    }

    /// Flutter sends all values with each update, including unknown ones.
    @Test func whatIsNotKnownYetIsNullOrEmpty() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let (id, token) = (Self.id(), Self.token())
        let unknown: JSON = [
            "deviceType": "android", "installationId": .string(id), "deviceToken": .null, "timeZone": "",
            "localeIdentifier": .null, "appName": "", "appVersion": .null, "appIdentifier": .null,
            "parseVersion": "8.0.0",
            "GCMSenderId": .null, "pushType": "", "badge": .null, "channels": .null,
        ]
        let made = try await client.call(.POST, "/installations", unknown)
        try #require(made.status == 201, "\(made.text)")
        let path = "/installations/\(made.objectId)"
        #expect(try await client.call(.PUT, path, ["deviceToken": .string(token)]).status == 200)
        var again = unknown
        again["installationId"] = ""
        again["appName"] = "Shop"
        let saved = try await client.call(.PUT, path, again)
        #expect(saved.status == 200, "\(saved.text)")
        let row = try await ParseClient.master(suite).get(path)
        #expect(row["deviceToken"] == .string(token), "Not known is not taken away: \(row.text)")
        #expect(row["installationId"] == .string(id), "\(row.text)")
        #expect(row["appName"] == "Shop", "\(row.text)")
        let nobody = try await client.call(
            .POST, "/installations", ["deviceType": "android", "installationId": .null, "deviceToken": ""])
        #expect(nobody.code == 135, "\(nobody.text)")
    }

    @Test func aDeviceLivesThroughTokensBadgesChannelsAndALostRow() async throws {
        let suite = try await Suite.shared
        let (client, master) = (ParseClient(suite), ParseClient.master(suite))
        let (id, first, second) = (Self.id(), Self.token(), Self.token())
        let fields: JSON = [
            "deviceType": "ios", "installationId": .string(id), "deviceToken": .string(first), "badge": 0,
            "timeZone": "America/Los_Angeles", "appName": "Shop", "appVersion": "1",
            "appIdentifier": "com.example.shop",
            "parseVersion": "1.8.5", "localeIdentifier": "en-US", "channels": [""],
        ]
        let made = try await client.create("_Installation", fields)
        try #require(made.status == 201, "\(made.text)")
        let path = "/classes/_Installation/\(made.objectId)"
        for change in [
            ["badge": 3], ["deviceToken": .string(second)],
            ["channels": ["__op": "AddUnique", "objects": ["news", "news"]]],
            ["channels": ["__op": "Remove", "objects": [""]]], ["pushType": ["__op": "Delete"]],
        ] as [JSON] {
            let saved = try await client.call(.PUT, path, change)
            #expect(saved.status == 200, "\(change.serializedText): \(saved.text)")
        }
        let row = try await master.get(path)
        #expect(row["badge"] == 3, "\(row.text)")
        #expect(row["deviceToken"] == .string(second), "\(row.text)")
        #expect(row["channels"] == ["news"], "\(row.text)")
        // Sent again, as after a lost answer: the answer has the same row.
        #expect(try await client.create("_Installation", fields).objectId == made.objectId)
        #expect(try await master.call(.DELETE, "/installations/\(made.objectId)").status == 200)
        let lost = try await client.call(.PUT, path, ["badge": 4])
        #expect(lost.status == 404, "\(lost.text)")
        #expect(lost.code == 101, "\(lost.text)")
        var anew = fields
        anew["pushType"] = ["__op": "Delete"]
        let posted = try await client.create("_Installation", anew)
        #expect(posted.status == 201, "\(posted.text)")
        #expect(posted.objectId != made.objectId, "\(posted.text)")
        // Android removes values that it does not have.
        let without = try await client.create(
            "_Installation",
            ["deviceType": "android", "installationId": .string(Self.id()), "deviceToken": ["__op": "Delete"]])
        #expect(without.status == 201, "\(without.text)")
    }
}
