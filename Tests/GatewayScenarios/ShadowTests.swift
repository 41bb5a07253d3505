import ParseProtocol
import TestSupport
import Testing

/// The shadow mode with an old server (`Tests/Peers/servers/old_server.py`).
@Suite struct ShadowTests {
    /// Runs `body` with an old server and a suite that sends every read to it.
    private static func with(
        _ settings: [String: String] = [:], _ body: (Suite, Peer) async throws -> Void
    ) async throws {
        try await Peer.with("old_server.py") { peer in
            let own = [
                "SATCHEL_SHADOW_URL": "\(peer.url)/parse", "SATCHEL_SHADOW_SHARE": "1",
                "SATCHEL_SHADOW_APPLICATION_ID": "oldApp",
            ]
            try await Suite.with(settings: own.merging(settings) { $1 }) { try await body($0, peer) }
        }
    }

    private static func report(_ suite: Suite) async throws -> JSON {
        try await ParseClient.master(suite).get("/operations/shadow").json
    }

    /// The report after all reads so far.
    private static func finalReport(_ suite: Suite) async throws -> JSON {
        var report = JSON.null
        try await eventually("no read is under way") {
            report = try await Self.report(suite)
            return report["underWay"] == 0
        }
        return report
    }

    /// Sets the old server's answer to a path under the mount.
    private static func answer(_ peer: Peer, _ path: String, _ order: [String: JSON]) async throws {
        _ = try await peer.control("answer", .object(order.merging(["path": .string("/parse" + path)]) { $1 }))
    }

    private static func reads(of name: String, _ report: JSON) -> JSON? {
        report["classes"]?.arrayValue?.first { $0.text("className") == name }
    }

    private static func field(_ name: String, of className: String, _ report: JSON) -> JSON? {
        reads(of: className, report)?["fields"]?.arrayValue?.first { $0.text("name") == name }
    }

    @Test func differencesAreCountedByClassAndField() async throws {
        try await Self.with { suite, peer in
            let (client, master) = (ParseClient(suite), ParseClient.master(suite))
            let made = try await client.create("Lamp", ["name": "desk", "watts": 5, "kept": true])
            try #require(made.status == 201, "\(made.text)")
            let (id, path) = (made.objectId, "/classes/Lamp/\(made.objectId)")
            var old = try await master.get(path).json
            old["name"] = "floor"
            old["color"] = "crimson"
            old["watts"] = nil
            old["updatedAt"] = "2020-01-01T00:00:00.000Z"
            try await Self.answer(peer, path, ["json": old])
            #expect(try await client.get(path)["name"] == "desk")

            var report = try await Self.finalReport(suite)
            #expect(report["isOn"] == true)
            #expect(report["compared"] == 1, "\(report)")
            #expect(report["equal"] == 0)
            #expect(Self.field("name", of: "Lamp", report)?["different"] == 1)
            #expect(Self.field("name", of: "Lamp", report)?["objectIds"] == [.string(id)])
            #expect(Self.field("color", of: "Lamp", report)?["missingHere"] == 1)
            #expect(Self.field("watts", of: "Lamp", report)?["missingThere"] == 1)
            #expect(Self.field("kept", of: "Lamp", report)?["equal"] == 1)
            #expect(Self.field("updatedAt", of: "Lamp", report) == nil)
            #expect(Self.reads(of: "Lamp", report)?["excused"] == ["updatedAt": 1])
            for value in ["desk", "floor", "crimson"] { #expect(!report.serializedText.contains(value)) }

            let second = try await client.create("Lamp", ["name": "second"])
            try await Self.answer(peer, "/classes/Lamp", ["json": ["results": [old]]])
            #expect(try await client.find("Lamp", [:], ["order": "createdAt"]).results.count == 2)
            report = try await Self.finalReport(suite)
            #expect(Self.field("objectId", of: "Lamp", report)?["missingThere"] == 1)
            #expect(Self.field("objectId", of: "Lamp", report)?["objectIds"] == [.string(second.objectId)])

            // The default answer of the old server to a get is that there is no such object.
            #expect(try await client.get("/classes/Lamp/\(second.objectId)").status == 200)
            report = try await Self.finalReport(suite)
            #expect(Self.field("objectId", of: "Lamp", report)?["missingThere"] == 2)

            try await Self.answer(peer, path, ["status": 302, "to": .string("\(peer.url)/elsewhere")])
            #expect(try await client.get(path).status == 200)
            report = try await Self.finalReport(suite)
            #expect(report["failures"] == ["302": 1])
            #expect(!peer.reports().contains { $0["path"] == "/elsewhere" })

            try await eventually("the log tells of differences") {
                let lines = try await master.get("/operations/log", ["text": "old server differ"]).json["entries"]
                return lines?.arrayValue?.isEmpty == false
            }
            #expect(try await client.call(.DELETE, "/operations/shadow").code == 119)
            #expect(try await master.call(.DELETE, "/operations/shadow").json == [:])
            report = try await Self.report(suite)
            #expect(report["compared"] == 0)
            #expect(report["classes"] == [])
            #expect(report["failures"] == [:])
        }
    }

    @Test func theOldServerGetsNoCredentialsByDefault() async throws {
        try await Self.with { suite, peer in
            let guest = ParseClient(suite)
            try #require(try await guest.create("Vault", ["name": "one"]).status == 201)
            let clients = [
                ParseClient.master(suite), try await Customer.admin(suite), try await Customer.signUp(suite).client,
                ParseClient(suite, style: .tunnelled),
            ]
            for client in clients { #expect(try await client.find("Vault").results.count == 1) }
            let part: JSON = ["method": "GET", "path": "/parse/classes/Vault"]
            _ = try await guest.call(.POST, "/batch", ["requests": [part]])
            _ = try await guest.get("/classes/_User")
            let keys = [("X-Parse-REST-API-Key", "rest-key-71"), ("X-Parse-Client-Key", "client-key-71")]
            let read = try await guest.send(.GET, "/classes/Vault?limit=7", headers: guest.credentials + keys)
            #expect(read.results.count == 1)
            _ = try await Self.finalReport(suite)
            let seen = peer.reports()
            #expect(seen.map { $0.text("query") } == ["limit=7"])
            let headers = seen.first?["headers"]?.objectValue ?? [:]
            #expect(headers["x-parse-application-id"] == "oldApp")
            #expect(headers["x-satchel-shadow"] == "1")
            let others = headers.keys.filter { $0.hasPrefix("x-parse-") || $0 == "authorization" || $0 == "cookie" }
            #expect(others == ["x-parse-application-id"])
        }
    }

    @Test func theMasterKeyIsNeverSent() async throws {
        try await Self.with(["SATCHEL_SHADOW_SENDS": "sessions"]) { suite, peer in
            let customer = try await Customer.signUp(suite).client
            try #require(try await customer.create("Vault", ["name": "one"]).status == 201)
            for client in [ParseClient.master(suite), try await Customer.admin(suite)] {
                #expect(try await client.find("Vault").results.count == 1)
            }
            let key = [("X-Parse-REST-API-Key", "rest-key-72")]
            let read = try await customer.send(.GET, "/classes/Vault?limit=8", headers: customer.credentials + key)
            #expect(read.results.count == 1)
            _ = try await Self.finalReport(suite)
            let seen = peer.reports()
            #expect(seen.map { $0.text("query") } == ["limit=8"])
            let headers = seen.first?["headers"]?.objectValue ?? [:]
            #expect(headers["x-parse-rest-api-key"] == "rest-key-72")
            #expect(headers["x-parse-session-token"] == customer.sessionToken.map(JSON.string))
            #expect(!seen.map(\.serializedText).joined().contains(Suite.masterKey))
        }
    }

    /// The old server answers none of the reads, and each of them is answered here.
    @Test func aHangingOldServerDelaysNothingAndTheQueueIsBounded() async throws {
        try await Self.with { suite, peer in
            let client = ParseClient(suite)
            try #require(try await client.create("Slow", ["name": "one"]).status == 201)
            try await Self.answer(peer, "/classes/Slow", ["hangs": true])
            try await eventually("reads are dropped") {
                for _ in 0..<20 { #expect(try await client.get("/classes/Slow").results.count == 1) }
                let report = try await Self.report(suite)
                #expect(report["compared"] == 0)
                #expect((report["underWay"]?.intValue ?? .max) <= 16 + 64)
                return (report["dropped"]?.intValue ?? 0) > 0
            }
            try await eventually("reads time out") {
                (try await Self.report(suite).at("failures", "timedOut")?.intValue ?? 0) > 0
            }
        }
    }
}
