import Foundation
import ParseProtocol
import TestSupport
import Testing

@testable import MoveIn

/// A running suite moves out. Each form of Parse Server has what the suite serves, as the proof of a move shows.
@Suite(.timeLimit(.minutes(15))) struct MoveOutScenarioTests {
    private static let hash = "$2y$10$ZdWvWiqsmBM8Wjlewy1zrOzUvD7qx2T99f6S7LZKeojhPA2gqHlTK"
    private static let anonymousId = "0f8fad5b-d9cb-469f-a165-70867728950e"
    private static let time = JSON.string("2019-03-01T10:00:00.123Z")
    private static let count = 250

    private static func leaving(_ number: Int) -> JSON {
        var object: JSON = [
            "objectId": .string("leaving\(number)"), "createdAt": time, "updatedAt": time,
            "text": .string("tab\t line\n back\\slash \"quote\" é \u{1F600} \(number)"), "price": .double(0.1 + 0.2),
            "rank": .int(Int64(number % 9)), "ok": .bool(number % 2 == 0),
            "soldAt": ["__type": "Date", "iso": .string("2020-02-0\(number % 9 + 1)T03:04:05.006Z")],
            "place": ["__type": "GeoPoint", "latitude": 37.75, "longitude": -122.25],
            "area": ["__type": "Polygon", "coordinates": [[0, 0], [0, 1], [1, 1]]],
            "blob": ["__type": "Bytes", "base64": "AAH/"], "owner": .pointer("_User", "leaver0001"),
            "list": [1, "two", .null, [true], ["__type": "Date", "iso": "2020-01-01T00:00:00.000Z"]],
            "meta": ["deep": ["list": [1.5, ["a": "b"]], "to": .pointer("_User", "leaver0001")]],
        ]
        if number % 3 == 0 { object["ACL"] = ["*": ["read": true], "role:a-b": ["read": true, "write": true]] }
        if number % 3 == 1 { object["ACL"] = [:] }
        if number % 5 == 0 { object["text"] = nil }
        return object
    }

    private static func fill(_ suite: Suite) async throws {
        let master = ParseClient.master(suite)
        func send(_ path: String, _ body: JSON) async throws {
            let answer = try await master.call(.POST, path, body)
            #expect((200...201).contains(answer.status), "\(path): \(answer.text)")
            #expect(answer["failed"] ?? 0 == 0, "\(path): \(answer.text)")
        }
        let schema: JSON = [
            "className": "Leaving",
            "fields": [
                "fans": ["type": "Relation", "targetClass": "_User"], "rank": ["type": "Number"],
                "text": ["type": "String"],
            ],
            "indexes": ["rank_1": ["rank": 1]],
            "classLevelPermissions": ["find": ["*": true], "get": ["requiresAuthentication": true], "create": [:]],
        ]
        try await send("/schemas/Leaving", schema)
        let user: JSON = [
            "objectId": "leaver0001", "createdAt": time, "updatedAt": time, "username": "leaving-ann",
            "_hashed_password": .string(hash),
        ]
        try await send("/import/_User", [user])
        try await send("/users", ["username": "leaving-bob", "password": "Secret-41-0"])
        try await send("/users", ["authData": ["anonymous": ["id": .string(anonymousId)]]])
        try await send("/import/Leaving", .array((0..<count).map(leaving)))
        let member: JSON = ["owningId": "leaving7", "relatedId": "leaver0001"]
        try await send("/import/_Join:fans:Leaving", [member])
        let role: JSON = [
            "objectId": "leavers001", "createdAt": time, "updatedAt": time, "name": "a-b", "ACL": ["*": ["read": true]],
        ]
        try await send("/import/_Role", [role])
        let holder: JSON = ["owningId": "leavers001", "relatedId": "leaver0001"]
        try await send("/import/_Join:users:_Role", [holder])
        let device: JSON = ["installationId": "leaving-device-1", "deviceType": "ios", "channels": ["news"]]
        try await send("/installations", device)
        let config: JSON = ["params": ["farewell": "Bye", "limit": 3], "masterKeyOnly": ["limit": true]]
        let answer = try await master.call(.PUT, "/config", config)
        #expect(answer.status == 200, "\(answer.text)")
    }

    private static func client(_ suite: Suite) -> SuiteClient {
        SuiteClient(url: suite.url, applicationId: "satchel", masterKey: Suite.masterKey)
    }

    /// Compares what moved out with what the suite serves, and what no read shows.
    private static func check(_ server: any OldServer, _ suite: Suite) async throws {
        let report = try await VerifyRun(source: server, suite: client(suite), mapping: Mapping(), seed: 11).run()
        #expect(report.isProven, "\(report.text)")
        let proofs = Dictionary(report.classes.map { ($0.name, $0) }) { $1 }
        let leaving = proofs["Leaving"]
        #expect(leaving?.equal == count && leaving?.extra == 0, "\(report.text)")
        #expect(leaving?.queries == SampledQueries.countMax && leaving?.failedQueries == [], "\(report.text)")
        #expect(proofs["_Join:fans:Leaving"]?.equal == 1)
        #expect(proofs["_Join:users:_Role"]?.equal ?? 0 > 0)
        #expect(proofs["_Installation"]?.equal == 1)
        #expect(proofs["_Session"]?.there ?? 0 == 0)

        let users = Dictionary(await (try await server.read("_User")).rows.map { ($0.objectId, $0.fields) }) { $1 }
        #expect(users["leaver0001"]?["_hashed_password"] == .string(hash))
        let bob = users.values.first { $0["username"] == "leaving-bob" }
        #expect(bob != nil && bob?["_hashed_password"] == nil)
        let ids = users.values.compactMap { $0["authData"]?["anonymous"]?["id"]?.stringValue }
        #expect(ids == [anonymousId])
        let config = await (try await server.read("_GlobalConfig")).rows
        #expect(config.first?.fields["params"]?["farewell"] == "Bye")
        #expect(config.first?.fields["masterKeyOnly"]?["limit"] == true)
    }

    @Test func aSuiteMovesOutInBothForms() async throws {
        try await Suite.with { suite in
            try await Self.fill(suite)
            try await withFolder { folder in
                let client = Self.client(suite)
                let dumped = try await OutRun(suite: client, writer: try MongoDumpWriter("\(folder)/dump")).run()
                #expect(dumped.refused == [])
                #expect(dumped.withoutPassword > 0, "Bob's hash is Satchel's own.")
                try await Self.check(try #require(try MongoDump.open("\(folder)/dump", prefix: "")), suite)

                let file = "\(folder)/out.sql"
                let written = try await OutRun(suite: client, writer: try SQLWriter(file)).run()
                #expect(written.refused == [] && written.rows["Leaving"] == Self.count)
                let url = try await TestSupport.PostgreSQLServer.shared.newDatabase()
                _ = try await Command.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url, "-f", file])
                try await Self.check(try LiveDatabase(url), suite)
                let text = try await Command.run(
                    ["psql", "-XAtq", "-d", url, "-c", #"SELECT text FROM "Leaving" WHERE "objectId" = 'leaving1'"#])
                #expect(text == "tab\t line\n back\\slash \"quote\" é \u{1F600} 1\n")
            }
            // Each page of secrets is in the audit log.
            let notes = try await ParseClient.master(suite).run("auditEntries", ["className": "_User"])
            let actions = (notes.result["entries"]?.arrayValue ?? []).compactMap { $0["action"]?.stringValue }
            #expect(actions.contains("exportSecrets"), "\(notes.text)")
        }
    }
}
