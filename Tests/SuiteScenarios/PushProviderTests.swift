import Foundation
import ParseProtocol
import TestSupport
import Testing

/// A peer that behaves like APNs for a sender: HTTP/2 over TLS with verified tokens. Faults of the provider neither
/// lose nor duplicate notifications. Each row of docs/guides/push.md has its test here.
@Suite(.serialized) struct PushProviderTests {
    /// A suite that sends to `Tests/Peers/servers/apns.py`.
    private func withAPNs(
        _ options: [String] = [], settings: [String: String] = [:],
        _ body: (_ suite: Suite, _ master: ParseClient, _ peer: Peer) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/apns-\(Names.random(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await Peer.with("apns.py", [folder] + options) { peer in
            let all = [
                "SATCHEL_PUSH": "apns", "SATCHEL_APNS_KEY_FILE": folder + "/key.p8",
                "SATCHEL_APNS_KEY_ID": "KEYID123", "SATCHEL_APNS_TEAM_ID": "TEAMID1234",
                "SATCHEL_APNS_TOPIC": "com.example.shop", "SATCHEL_APNS_URL": "https://127.0.0.1:\(peer.port)",
                "SATCHEL_CA_FILE": folder + "/authority.pem",
            ].merging(settings) { $1 }
            try await Suite.with(settings: all) { suite in try await body(suite, .master(suite), peer) }
        }
    }

    /// Notifications that the peer accepted, by device token.
    private func taken(_ peer: Peer) -> [String: [JSON]] {
        Dictionary(grouping: peer.reports().filter { $0["status"] == 200 }) { $0.text("token") }
    }

    private func tokens(_ kind: String, _ count: Int) -> [String] {
        (0..<count).map { _ in "\(kind)-\(Names.random(20))" }
    }

    @Test func aNotificationIsWhatApplesRulesSay() async throws {
        try await withAPNs { suite, master, peer in
            let devices = try await Devices.register(suite, tokens: tokens("ok", 1), fields: ["badge": 2])
            let token = devices.objectIds.keys.first ?? ""
            let push: JSON = [
                "channels": [.string(devices.channel)],
                "expiration_time": .string(Timestamp.now.advanced(by: .seconds(3600)).iso),
                "data": [
                    "alert": "Two for one", "title": "Sale", "badge": "Increment", "sound": "bell",
                    "category": "shop", "p": "x1",
                ],
            ]
            let id = try await master.push(push)
            let status = try await master.pushEnded(id)
            #expect(status["status"] == "succeeded")
            #expect(status["numSent"] == 1)
            let seen = try #require(taken(peer)[token]?.first)
            let headers = try #require(seen["headers"])
            #expect(headers[":path"] == .string("/3/device/\(token)"))
            #expect(headers["apns-topic"] == "com.example.shop")
            #expect(headers["apns-push-type"] == "alert")
            #expect(headers["apns-priority"] == "10")
            #expect(headers["apns-collapse-id"] == .string(id))
            #expect(status["expiry"]?.intValue.map { "\($0 / 1000)" } == headers["apns-expiration"]?.stringValue)
            #expect(
                seen["body"] == [
                    "aps": [
                        "alert": ["title": "Sale", "body": "Two for one"], "badge": 3, "sound": "bell",
                        "category": "shop",
                    ],
                    "p": "x1",
                ])
            let silent = try await master.push([
                "channels": [.string(devices.channel)], "data": ["content-available": 1, "sync": true],
            ])
            _ = try await master.pushEnded(silent)
            let second = try #require(taken(peer)[token]?.last)
            #expect(second["headers"]?["apns-push-type"] == "background")
            #expect(second["headers"]?["apns-priority"] == "5")
            #expect(second["body"] == ["aps": ["content-available": 1], "sync": true])
        }
    }

    /// 410, 400 BadDeviceToken, other 4xx, a body that is not JSON, and devices that APNs never reaches.
    @Test func whatIsFinalIsCountedAndDeadTokensAreRemoved() async throws {
        try await withAPNs { suite, master, peer in
            let channel = "c\(Names.random(10))"
            let kinds = ["ok": 3, "gone": 2, "bad": 1, "topic": 1, "noise": 1]
            var devices: [String: String] = [:]
            for (kind, count) in kinds {
                devices.merge(
                    try await Devices.register(suite, tokens: tokens(kind, count), channel: channel).objectIds
                ) { $1 }
            }
            _ = try await Devices.register(
                suite, tokens: tokens("ok", 1), fields: ["deviceType": "android"], channel: channel)
            let id = try await master.push(["channels": [.string(channel)], "data": ["alert": "hi"]])
            let status = try await master.pushEnded(id)
            #expect(status["numSent"] == 3)
            #expect(status["numFailed"] == 6)
            #expect(status["count"] == 9)
            #expect(status["sentPerType"] == ["ios": 3])
            #expect(status["failedPerType"] == ["ios": 5, "android": 1])
            #expect(status["status"] == "succeeded")
            let message = status.text("errorMessage")
            for reason in [
                "Unregistered: 2", "BadDeviceToken: 1", "DeviceTokenNotForTopic: 1", "Status400: 1",
                "NoProviderForDeviceType: 1",
            ] { #expect(message.contains(reason), "\(message)") }
            for (token, objectId) in devices {
                let stored = try await master.get("/installations/\(objectId)")["deviceToken"]
                let isDead = token.hasPrefix("gone") || token.hasPrefix("bad")
                #expect(stored == (isDead ? nil : .string(token)), "\(token)")
            }
            // Nothing was sent twice.
            #expect(peer.reports().count { $0["status"] != nil } == 8)

            // Refusals for another reason than a dead token are parked, by reason.
            func parked() async throws -> [JSON] {
                let answer = try await master.get("/operations/parked").json
                return (answer["results"]?.arrayValue ?? []).filter { $0["kind"] == "push" }
            }
            let items = try await parked()
            #expect(Set(items.map { $0.text("reason") }) == ["DeviceTokenNotForTopic", "Status400"], "\(items)")
            let topic = try #require(items.first { $0["reason"] == "DeviceTokenNotForTopic" })
            #expect(topic["about"] == .string("push \(id) to 1 devices"))
            let body: JSON = ["service": "push", "kind": "push", "id": topic["id"] ?? .null]
            #expect(try await master.call(.POST, "/operations/parked/retry", body).status == 200)
            try await eventually("it is sent again, refused and parked again") {
                guard peer.reports().count(where: { $0["status"] != nil }) == 9 else { return false }
                return try await parked().contains { $0["id"] == topic["id"] }
            }
            #expect(try await master.pushEnded(id)["numFailed"] == 6)
            #expect(try await master.call(.POST, "/operations/parked/drop", body).status == 200)
            #expect(try await parked().map { $0.text("reason") } == ["Status400"])
        }
    }

    /// 429 with Retry-After, 503, a reset stream, half an answer, and a request without an answer.
    @Test func temporaryErrorsAreRetried() async throws {
        try await withAPNs { suite, master, peer in
            let channel = "c\(Names.random(10))"
            var all: [String] = []
            for kind in ["slow", "down", "cut", "half", "mute1", "ok"] { all += tokens(kind, 2) }
            _ = try await Devices.register(suite, tokens: all, channel: channel)
            let start = ContinuousClock.now
            let id = try await master.push(["channels": [.string(channel)], "data": ["alert": "hi"]])
            let status = try await master.pushEnded(id, within: .seconds(60))
            #expect(status["numSent"] == 12, "\(status)")
            #expect(status["numFailed"] == 0, "\(status)")
            #expect(status["errorMessage"] == nil, "\(status)")
            #expect(ContinuousClock.now - start > .seconds(10), "The mute ones were waited for.")
            let reports = Dictionary(grouping: peer.reports()) { $0.text("token") }
            for token in all {
                let seen = reports[token] ?? []
                #expect(seen.filter { $0["status"] == 200 }.count == 1, "\(token): \(seen)")
                // Every attempt has the same notification id.
                #expect(Set(seen.map { $0.text("id") }).count == 1, "\(token)")
                #expect(seen.count == (token.hasPrefix("ok") ? 1 : 2), "\(token)")
            }
        }
    }

    @Test func anExpiredTokenOfOursIsMadeAnewAtOnce() async throws {
        try await withAPNs(["expire=1"]) { suite, master, peer in
            let devices = try await Devices.register(suite, tokens: tokens("ok", 1))
            let first = try await master.push(["channels": [.string(devices.channel)], "data": ["alert": "hi"]])
            #expect(try await master.pushEnded(first)["numSent"] == 1)
            let seen = peer.reports().filter { $0["status"] != nil }
            #expect(seen.map { $0["status"] } == [403, 200])
            #expect(Set(seen.map { $0.text("jwt") }).count == 2)
            #expect(Set(seen.map { $0.text("id") }).count == 1)
            // The new installation remains.
            let second = try await master.push(["channels": [.string(devices.channel)], "data": ["alert": "hi"]])
            _ = try await master.pushEnded(second)
            #expect(peer.reports().last?.text("jwt") == seen.last?.text("jwt"))
        }
    }

    @Test func aKeyThatIsRefusedKeepsEverythingWaiting() async throws {
        try await withAPNs(["refuse=3"]) { suite, master, peer in
            let devices = try await Devices.register(suite, tokens: tokens("ok", 3))
            let id = try await master.push(["channels": [.string(devices.channel)], "data": ["alert": "hi"]])
            #expect(try await master.pushEnded(id)["numSent"] == 3)
            #expect(taken(peer).count == 3)
            try await eventually("the log names the failure") { suite.logTails().contains("InvalidProviderToken") }
        }
    }

    /// The connection is cut without notice, or ends with GOAWAY, while many notifications are in progress.
    @Test(arguments: ["drop=150", "goaway=150", "garbage=1"])
    func aLostConnectionLosesNothing(option: String) async throws {
        try await withAPNs([option]) { suite, master, peer in
            let all = tokens("ok", 600)
            let devices = try await Devices.register(suite, tokens: all)
            let id = try await master.push(["channels": [.string(devices.channel)], "data": ["alert": "hi"]])
            let status = try await master.pushEnded(id, within: .seconds(60))
            #expect(status["numSent"] == 600, "\(status)")
            #expect(status["count"] == 600, "\(status)")
            let seen = taken(peer)
            #expect(Set(seen.keys) == Set(all))
            #expect(seen.values.allSatisfy { Set($0.map { $0.text("id") }).count == 1 })
        }
    }

    /// The process is killed twice while it sends 10,000 notifications.
    @Test func aKilledSenderSendsToEveryDevice() async throws {
        // All devices register from the test's one address.
        let settings = ["SATCHEL_QUOTAS": "installations=off"]
        try await withAPNs(["quiet=1"], settings: settings) { suite, master, peer in
            let all = tokens("ok", 10_000)
            let devices = try await Devices.register(suite, tokens: all)
            let start = ContinuousClock.now
            let id = try await master.push([
                "channels": [.string(devices.channel)], "data": ["alert": "hi", "badge": "Increment"],
            ])
            for mark in [2000, 5000] {
                try await eventually("\(mark) were sent", within: .seconds(60)) { peer.lineCount() > mark }
                try await suite.kill("push-1")
            }
            let status = try await master.pushEnded(id, within: .seconds(90))
            print("10,000 notifications with two kills: \(ContinuousClock.now - start)")
            #expect(status["numSent"] == 10_000, "\(status)")
            #expect(status["numFailed"] == 0, "\(status)")
            #expect(status["count"] == 10_000, "\(status)")
            #expect(status["status"] == "succeeded")
            let seen = taken(peer)
            #expect(Set(seen.keys) == Set(all))
            // Notifications in progress may be sent twice with the same id; others must not.
            let repeated = seen.values.filter { $0.count > 1 }
            print("repeated: \(repeated.count)")
            #expect(repeated.count <= 2 * 200)
            #expect(seen.values.allSatisfy { Set($0.map { $0.text("id") }).count == 1 })
            let badges = try await master.find(
                "_Installation", ["channels": .string(devices.channel), "badge": 1], ["count": 1, "limit": 0])
            #expect(badges["count"] == 10_000)
            #expect(try await suite.rows("push", "SELECT count(*) FROM deliveries") == [[0]])
        }
    }

    /// Each answer takes two seconds. The process is stopped twice while 200 notifications await their answers: it
    /// waits for the answers, starts no new requests, and the next process continues.
    @Test func aRestartedSenderSendsToEveryDeviceOnce() async throws {
        try await withAPNs(["wait=2"]) { suite, master, peer in
            let all = tokens("ok", 600)
            let devices = try await Devices.register(suite, tokens: all)
            let id = try await master.push(["channels": [.string(devices.channel)], "data": ["alert": "hi"]])
            for mark in [1, 250] {
                try await eventually("\(mark) were sent", within: .seconds(60)) { taken(peer).count >= mark }
                try await suite.restart("push-1")
            }
            let status = try await master.pushEnded(id, within: .seconds(90))
            #expect(status["numSent"] == 600, "\(status)")
            #expect(status["numFailed"] == 0, "\(status)")
            #expect(status["count"] == 600, "\(status)")
            let seen = taken(peer)
            #expect(Set(seen.keys) == Set(all))
            #expect(seen.values.allSatisfy { $0.count == 1 }, "\(seen.values.count { $0.count > 1 }) came twice.")
            #expect(try await suite.rows("push", "SELECT count(*) FROM deliveries") == [[0]])
        }
    }

    @Test func aProviderThatIsDownForTooLongEndsThePush() async throws {
        try await withAPNs { suite, master, peer in
            // Attempts after 0, 1 and 3 seconds; the next attempt would be too late.
            let attempts = 6
            var most = 0
            // A delay can only leave out an attempt, so the maximum of several rounds counts.
            for _ in 0..<5 where most < attempts {
                let all = tokens("busy", 2)
                let devices = try await Devices.register(suite, tokens: all)
                let id = try await master.push([
                    "channels": [.string(devices.channel)], "data": ["alert": "hi"], "expiration_interval": 6,
                ])
                let status = try await master.pushEnded(id)
                #expect(status["status"] == "failed")
                #expect(status["errorMessage"] == "Expired: 2")
                let refusals = peer.reports().count { $0["status"] == 503 && all.contains($0.text("token")) }
                #expect(refusals <= attempts)
                most = max(most, refusals)
            }
            #expect(most == attempts)
            #expect(taken(peer).isEmpty)
        }
    }

    /// Nothing listens on port 1. An empty setting trusts the system's authorities, which do not include the peer's.
    @Test(arguments: [["SATCHEL_APNS_URL": "https://127.0.0.1:1"], ["SATCHEL_CA_FILE": ""]])
    func aProviderThatCannotBeReachedIsTriedAgain(settings: [String: String]) async throws {
        try await withAPNs(settings: settings) { suite, master, peer in
            let devices = try await Devices.register(suite, tokens: tokens("ok", 1))
            let id = try await master.push(["channels": [.string(devices.channel)], "data": ["alert": "hi"]])
            try await eventually("it was tried twice") {
                try await suite.rows("push", "SELECT problem FROM deliveries WHERE push = '\(id)' AND attempts > 1")
                    == [["unreachable"]]
            }
            #expect(taken(peer).isEmpty)
            #expect(try await master.get("/classes/_PushStatus/\(id)")["status"] == "running")
        }
    }

    @Test func aTokenThatIsNoTokenNeverLeaves() async throws {
        try await withAPNs { suite, master, peer in
            let devices = try await Devices.register(suite, tokens: ["../admin", "a b", "x?y=1", "ä"])
            let id = try await master.push(["channels": [.string(devices.channel)], "data": ["alert": "hi"]])
            let status = try await master.pushEnded(id)
            #expect(status["numFailed"] == 4)
            #expect(status["errorMessage"] == "BadDeviceToken: 4")
            #expect(peer.reports().allSatisfy { $0["status"] == nil })
        }
    }

    @Test(arguments: [
        (["SATCHEL_PUSH": "fcm"], "SATCHEL_PUSH=fcm is not available"),
        (["SATCHEL_PUSH": "webpush"], "SATCHEL_PUSH=webpush is not available"),
        (["SATCHEL_PUSH": "apns"], "SATCHEL_PUSH=apns needs SATCHEL_APNS_KEY_FILE"),
        (
            [
                "SATCHEL_PUSH": "apns", "SATCHEL_APNS_KEY_FILE": "/nowhere.p8", "SATCHEL_APNS_KEY_ID": "K",
                "SATCHEL_APNS_TEAM_ID": "T",
            ], "SATCHEL_APNS_KEY_FILE=/nowhere.p8 is not a key"
        ),
        (
            [
                "SATCHEL_PUSH": "apns", "SATCHEL_APNS_KEY_FILE": "/etc/passwd", "SATCHEL_APNS_KEY_ID": "K",
                "SATCHEL_APNS_TEAM_ID": "T",
            ], "it is not a P-256 key"
        ),
    ])
    func aWrongConfigurationStopsTheService(settings: [String: String], text: String) async throws {
        let folder = "/tmp/push-\(Names.random(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let environment = settings.merging(["SATCHEL_DATA": folder]) { $1 }
        let failure = await #expect(throws: Command.Failed.self) {
            try await Command.run(["\(checkoutDirectory)/.build/release/push"], environment: environment)
        }
        #expect(failure?.description.contains(text) == true, "\(failure?.description ?? "")")
    }
}
