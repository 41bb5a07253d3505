import ParseProtocol
import TestSupport
import Testing

/// Installations as the protocol defines them (PARSE_PROTOCOL section 9): permitted fields, which create means an
/// existing device, and read rights.
@Suite struct InstallationTests {
    static func token() -> String { Names.random(20) }

    @Test(
        arguments: [
            ("no id", ["deviceType": "ios"], 135),
            ("no type", ["installationId": "a1"], 135),
            ("nothing", [:], 135),
            ("an id that is an operator", ["deviceType": "ios", "installationId": ["$ne": "x"]], 111),
            ("a token that is an operator", ["deviceType": "ios", "deviceToken": ["$regex": "."]], 111),
            ("a token that is a number", ["deviceType": "ios", "deviceToken": 7], 111),
            ("a token that is deleted", ["deviceType": "ios", "deviceToken": ["__op": "Delete"]], 135),
            ("a type that is an object", ["deviceType": [:], "installationId": "a1"], 111),
            ("an empty token", ["deviceType": "ios", "deviceToken": ""], 135),
            (
                "a token without end",
                ["deviceType": "ios", "deviceToken": .string(String(repeating: "x", count: 513))], 142
            ),
            ("a channel with a space", ["deviceType": "ios", "installationId": "a1", "channels": ["a b"]], 112),
            ("a channel that is a number", ["deviceType": "ios", "installationId": "a1", "channels": [1]], 112),
            ("channels that are text", ["deviceType": "ios", "installationId": "a1", "channels": "news"], 111),
            (
                "a channel added that is none",
                ["deviceType": "ios", "installationId": "a1", "channels": ["__op": "AddUnique", "objects": ["-"]]], 112
            ),
            ("a badge that is text", ["deviceType": "ios", "installationId": "a1", "badge": "3"], 111),
            ("an objectId", ["deviceType": "ios", "installationId": "a1", "objectId": "abcdefghij"], 105),
        ] as [(String, JSON, Int)])
    func isRefused(_ name: String, object: JSON, code: Int) async throws {
        let suite = try await Suite.shared
        let answer = try await ParseClient(suite).call(.POST, "/installations", object)
        #expect(answer.code == code, "\(name): \(answer.text)")
        #expect(answer.status == 400)
    }

    @Test func idsAreKeptInLowerCaseAndTheHeaderNamesTheDevice() async throws {
        let suite = try await Suite.shared
        var client = ParseClient(suite)
        client.installationId = "DEV-\(Names.random(12))"
        let token = String(repeating: "AbCdEf01", count: 8)
        let made = try await client.call(.POST, "/installations", ["deviceType": "ios", "deviceToken": .string(token)])
        try #require(made.status == 201, "\(made.text)")
        // The header identifies the device; its next save is an update.
        let again = try await client.call(.POST, "/installations", ["badge": 1])
        #expect(again.status == 200 && again.objectId == made.objectId, "\(again.text)")
        #expect(again["updatedAt"] != nil && again.headers.first(name: "Location") == nil)
        let row = try await client.get("/installations/\(made.objectId)")
        #expect(row["badge"] == 1)
        #expect(row["installationId"] == client.installationId.map { .string($0.lowercased()) })
        #expect(row["deviceToken"] == .string(token.lowercased()))
        // Tokens are case-sensitive for other services.
        let other = try await ParseClient(suite).call(
            .POST, "/installations", ["deviceType": "android", "deviceToken": .string("AbC:\(Self.token())X")])
        let stored =
            try await ParseClient.master(suite).get("/installations/\(other.objectId)")["deviceToken"]?.stringValue
            ?? ""
        #expect(stored.hasPrefix("AbC:"))
        #expect(stored.hasSuffix("X"))
    }

    @Test func aDeviceThatComesAgainIsTheSameRow() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        func create(_ object: JSON) async throws -> ParseClient.Answer {
            try await client.call(.POST, "/installations", object)
        }
        let (id, token) = ("d-\(Names.random(12).lowercased())", Self.token())
        let byToken = try await create(["deviceType": "ios", "deviceToken": .string(token)])
        // The same token, now with an installation id: the row stores it.
        let learnt = try await create([
            "deviceType": "ios", "deviceToken": .string(token), "installationId": .string(id),
        ])
        #expect(learnt.objectId == byToken.objectId, "\(learnt.text)")
        // Another token of the same device replaces the first.
        let second = Self.token()
        let moved = try await create([
            "deviceType": "ios", "deviceToken": .string(second), "installationId": .string(id),
        ])
        #expect(moved.objectId == byToken.objectId)
        let master = ParseClient.master(suite)
        #expect(try await master.get("/installations/\(moved.objectId)")["deviceToken"] == .string(second))
        // After a reinstallation, the token belongs to the new installation, and the old row is deleted.
        let anew = try await create([
            "deviceType": "ios", "deviceToken": .string(second), "installationId": .string(id + "x"),
        ])
        #expect(anew.objectId != moved.objectId)
        #expect(try await client.get("/installations/\(moved.objectId)").code == 101)
        #expect(try await create(["deviceType": "android", "installationId": .string(id + "x")]).code == 136)
    }

    @Test func aTokenIsSharedByDifferentAppsOnly() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let token = Self.token()
        var ids: [String] = []
        for app in ["com.example.a", "com.example.b"] {
            let made = try await client.call(
                .POST, "/installations",
                [
                    "deviceType": "ios", "deviceToken": .string(token), "appIdentifier": .string(app),
                    "installationId": .string("\(app)-\(token)"),
                ])
            ids.append(made.objectId)
        }
        for id in ids { #expect(try await client.get("/installations/\(id)").status == 200) }
        // Only an installation id can identify one of them.
        let unclear = try await client.call(
            .POST, "/installations", ["deviceType": "ios", "deviceToken": .string(token)])
        #expect(unclear.code == 132, "\(unclear.text)")
    }

    @Test func theInstallationIdNeverChanges() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let made = try await client.call(
            .POST, "/installations",
            ["deviceType": "ios", "installationId": .string("i-\(Names.random(10).lowercased())")])
        let path = "/installations/\(made.objectId)"
        #expect(try await client.call(.PUT, path, ["installationId": "other"]).code == 136)
        #expect(try await client.call(.PUT, path, ["deviceType": "android"]).code == 136)
        #expect(try await client.call(.PUT, path, ["installationId": ["__op": "Delete"]]).code == 111)
        #expect(try await client.call(.PUT, path, ["deviceToken": ["$ne": ""]]).code == 111)
        #expect(try await client.call(.PUT, path, ["deviceToken": .string(Self.token())]).status == 200)
        #expect(try await client.call(.PUT, path, ["badge": 4, "deviceType": "ios"]).status == 200)
        #expect(try await client.call(.PUT, path, ["deviceToken": ["__op": "Delete"]]).status == 200)

        let bare = try await client.call(
            .POST, "/installations", ["deviceType": "ios", "deviceToken": .string(Self.token())])
        #expect(
            try await client.call(.PUT, "/installations/\(bare.objectId)", ["deviceToken": .string(Self.token())]).code
                == 136)
    }

    @Test func onlyItsOwnerChangesADevice() async throws {
        let suite = try await Suite.shared
        let (ada, ben) = (try await Customer.signUp(suite), try await Customer.signUp(suite))
        let object: JSON = [
            "deviceType": "ios", "installationId": .string("i-\(Names.random(10))"), "user": ada.pointer,
        ]
        #expect(try await ben.client.call(.POST, "/installations", object).code == 119)
        #expect(try await ParseClient(suite).call(.POST, "/installations", object).code == 119)
        let made = try await ada.client.call(.POST, "/installations", object)
        #expect(made.status == 201)
        #expect(
            try await ben.client.call(.PUT, "/installations/\(made.objectId)", ["user": ben.pointer]).status == 200)
    }

    /// GHSA-cc6h-c8m4-hgrx: an operator in place of a token deleted every device.
    @Test func anOperatorForATokenTakesNothingAway() async throws {
        let suite = try await Suite.shared
        let devices = try await Devices.register(suite, tokens: (0..<3).map { _ in Self.token() })
        let client = ParseClient(suite)
        for attack in [["$ne": "x"], ["$exists": true], ["$regex": ".*"], ["__type": "Date"], [], true] as [JSON] {
            for id in [nil, devices.objectIds.values.first] as [String?] {
                let path = "/installations" + (id.map { "/\($0)" } ?? "")
                let answer = try await client.call(
                    id == nil ? .POST : .PUT, path,
                    ["deviceType": "ios", "installationId": .string(Names.random(12)), "deviceToken": attack])
                #expect(answer.status == 400, "\(attack): \(answer.text)")
            }
        }
        let left = try await ParseClient.master(suite).find(
            "_Installation", ["channels": .string(devices.channel)], ["count": 1, "limit": 0])
        #expect(left["count"] == 3)
    }

    @Test func onlyTheMasterKeyListsAndDeletesDevices() async throws {
        let suite = try await Suite.shared
        let devices = try await Devices.register(suite, tokens: [Self.token()])
        let id = devices.objectIds.values.first ?? ""
        for client in [ParseClient(suite), try await Customer.signUp(suite).client, try await Customer.admin(suite)] {
            #expect(try await client.get("/installations").code == 119)
            #expect(try await client.find("_Installation", [:], ["count": 1, "limit": 0]).code == 119)
            #expect(try await client.call(.DELETE, "/installations/\(id)").code == 119)
        }
        let master = ParseClient.master(suite)
        #expect(try await master.find("_Installation", ["channels": .string(devices.channel)]).results.count == 1)
        #expect(try await master.call(.DELETE, "/installations/\(id)").status == 200)
    }
}
