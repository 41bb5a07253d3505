import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Pushes from the request to the device, with the spool instead of a provider: recipients, times, and reports.
@Suite struct PushTests {
    static func tokens(_ count: Int) -> [String] { (0..<count).map { _ in Names.random(20) } }

    // MARK: Rights

    @Test func onlyTheMasterKeyAndAdminsSend() async throws {
        let suite = try await Suite.shared
        let body: JSON = ["where": [:], "data": ["alert": "hi"]]
        for client in [ParseClient(suite), try await Customer.signUp(suite).client] {
            let answer = try await client.call(.POST, "/push", body)
            #expect(answer.status == 403, "\(answer.text)")
            #expect(answer.headers.first(name: "X-Parse-Push-Status-Id") == nil)
            #expect(try await client.get("/push_audiences").status == 403)
            let batch = try await client.call(
                .POST, "/batch", ["requests": [["method": "POST", "path": "/parse/push", "body": body]]])
            #expect(batch.json.at(0, "success") == nil, "\(batch.text)")
        }
        var wrong = ParseClient(suite)
        wrong.masterKey = Suite.masterKey + "x"
        #expect(try await wrong.call(.POST, "/push", body).status == 403)
        let admin = try await Customer.admin(suite)
        let sent = try await admin.call(
            .POST, "/push", ["channels": [.string("nobody\(Names.random(8))")], "data": ["alert": "hi"]])
        #expect(sent.status == 200, "\(sent.text)")
        let audience = try await admin.call(.POST, "/push_audiences", ["name": "ours", "query": "{}"])
        #expect(audience.status == 201, "\(audience.text)")
        #expect(try await admin.get("/push_audiences/\(audience.objectId)")["name"] == "ours")
        #expect(try await admin.call(.DELETE, "/push_audiences/\(audience.objectId)").status == 200)
    }

    /// GHSA-7xg7-rqf6-pw6c and CVE-2019-1020012: internal classes through the generic routes.
    @Test func internalClassesAreTheMasterKeysAlone() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let audience = try await master.call(.POST, "/push_audiences", ["name": "secret", "query": "{}"])
        try #require(audience.status == 201, "\(audience.text)")
        for className in ["_Audience", "_PushStatus"] {
            for client in [ParseClient(suite), try await Customer.admin(suite)] {
                for answer in [
                    try await client.find(className), try await client.create(className, ["name": "x", "query": "{}"]),
                    try await client.get("/classes/\(className)/\(audience.objectId)"),
                    try await client.call(.PUT, "/classes/\(className)/\(audience.objectId)", ["name": "y"]),
                    try await client.call(.DELETE, "/classes/\(className)/\(audience.objectId)"),
                ] {
                    #expect(answer.code == 119, "\(answer.text)")
                }
                let batch = try await client.call(
                    .POST, "/batch",
                    ["requests": [["method": "POST", "path": .string("/parse/classes/\(className)"), "body": [:]]]])
                #expect(batch.json.at(0, "error", "code") == 119, "\(batch.text)")
                let pointed = try await client.find(
                    "Product", ["brand": ["$inQuery": ["className": .string(className), "where": [:]]]])
                #expect(pointed.code == 102, "\(pointed.text)")
            }
            // No client writes a status, not even with the master key.
            if className == "_PushStatus" {
                #expect(try await master.create(className, ["status": "succeeded"]).code == 119)
            }
        }
        #expect(try await master.get("/push_audiences/\(audience.objectId)")["name"] == "secret")
        #expect(try await master.get("/health").status == 200)
    }

    // MARK: Recipients

    @Test func aChannelsDevicesGetIt() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let devices = try await Devices.register(suite, tokens: Self.tokens(3))
        _ = try await Devices.register(suite, tokens: Self.tokens(2))
        let data: JSON = ["alert": "Two for one", "title": "Sale", "sound": "bell", "category": "shop", "p": "x1"]
        let id = try await master.push(["channels": [.string(devices.channel), "nobodyIsHere"], "data": data])
        let status = try await master.pushEnded(id)
        #expect(suite.devices(of: id) == Set(devices.objectIds.keys))
        #expect(suite.notifications().filter { $0["pushId"] == .string(id) }.allSatisfy { $0["data"] == data })
        #expect(status["status"] == "succeeded")
        #expect(status["numSent"] == 3)
        #expect(status["numFailed"] == 0)
        #expect(status["count"] == 3)
        #expect(status["sentPerType"] == ["ios": 3])
        #expect(status["source"] == "rest")
        #expect(status["ACL"] == [:])
        #expect(status["payload"].flatMap { try? JSON(parsing: $0.stringValue ?? "") } == data)
        #expect(
            status["query"].flatMap { try? JSON(parsing: $0.stringValue ?? "") }
                == ["channels": ["$in": [.string(devices.channel), "nobodyIsHere"]]])
        #expect(status["pushTime"]?.stringValue.flatMap(Timestamp.init(iso:)) != nil)
        // Rows of sent deliveries are deleted; only their number is stored.
        #expect(try await suite.rows("push", "SELECT count(*) FROM deliveries WHERE push = '\(id)'") == [[0]])
    }

    @Test(arguments: [ParseClient.Style.headers, .tunnelled])
    func aConditionChoosesDevices(style: ParseClient.Style) async throws {
        let suite = try await Suite.shared
        var master = ParseClient.master(suite)
        master.style = style
        let channel = "c\(Names.random(10))"
        let (old, new, android) = (Self.tokens(2), Self.tokens(2), Self.tokens(1))
        _ = try await Devices.register(suite, tokens: old, fields: ["appVersion": "1.0", "badge": 1], channel: channel)
        _ = try await Devices.register(suite, tokens: new, fields: ["appVersion": "2.0", "badge": 5], channel: channel)
        _ = try await Devices.register(
            suite, tokens: android, fields: ["appVersion": "2.1", "deviceType": "android"], channel: channel)
        let here: JSON = .string(channel)
        let cases: [(JSON, [String])] = [
            (["channels": here, "deviceType": "ios", "appVersion": ["$regex": "^2"]], new),
            (["channels": here, "$or": [["badge": ["$lt": 3]], ["deviceType": "android"]]], old + android),
            (["channels": ["$all": [here]], "badge": ["$exists": false]], android),
            (["channels": here, "appVersion": ["$in": ["1.0"]]], old),
            (["channels": here, "appVersion": "9"], []),
            (["channels": here, "objectId": ["$gt": ""], "$and": [["badge": ["$gte": 5]]]], new),
        ]
        for (condition, expected) in cases {
            let id = try await master.push(["where": condition, "data": ["alert": "hi"]])
            let status = try await master.pushEnded(id)
            #expect(suite.devices(of: id) == Set(expected), "\(condition)")
            #expect(status["status"] == "succeeded")
            #expect(status["count"] == .int(Int64(expected.count)))
        }
        for (bad, code) in [
            (["badge": ["$no": 1]], 107), (["a b": 1], 105), (["$or": 3], 102), (["ACL": [:]], 102),
            (["badge": ["$in": 1]], 107),
        ] as [(JSON, Int)] {
            let refused = try await master.call(.POST, "/push", ["where": bad, "data": ["alert": "hi"]])
            #expect(refused.code == code, "\(bad): \(refused.text)")
        }
    }

    @Test func aSubQueryOnUsersChoosesTheirDevices() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let (ada, ben) = (try await Customer.signUp(suite), try await Customer.signUp(suite))
        let channel = "c\(Names.random(10))"
        for customer in [ada, ben] {
            let made = try await customer.client.call(
                .POST, "/installations",
                [
                    "deviceType": "ios", "deviceToken": .string("of-\(customer.userId)"), "user": customer.pointer,
                    "channels": [.string(channel)],
                ])
            try #require(made.status == 201, "\(made.text)")
        }
        let users: JSON = ["className": "_User", "where": ["email": .string(ada.email)]]
        let id = try await master.push([
            "where": ["channels": .string(channel), "user": ["$inQuery": users]], "data": ["alert": "hi"],
        ])
        _ = try await master.pushEnded(id)
        #expect(suite.devices(of: id) == ["of-\(ada.userId)"])
        let others = try await master.push([
            "where": ["channels": .string(channel), "user": ["$notInQuery": users]], "data": ["alert": "hi"],
        ])
        _ = try await master.pushEnded(others)
        #expect(suite.devices(of: others) == ["of-\(ben.userId)"])
    }

    // MARK: Badges

    @Test func aBadgeIsCountedOnTheServer() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let tokens = Self.tokens(2)
        let devices = try await Devices.register(suite, tokens: [tokens[0]], fields: ["badge": 4])
        _ = try await Devices.register(suite, tokens: [tokens[1]], channel: devices.channel)
        func badges(_ id: String) -> [String: Int64] {
            let sent = suite.notifications().filter { $0["pushId"] == .string(id) }
            return Dictionary(
                sent.map { ($0.text("deviceToken"), $0["badge"]?.intValue ?? -1) }, uniquingKeysWith: { $1 })
        }
        for (badge, expected) in [
            ("Increment", [5, 1]), ("Increment", [6, 2]), (0, [0, 0]), (["increment": 3], [3, 3]),
        ]
            as [(JSON, [Int64])]
        {
            let id = try await master.push(["channels": [.string(devices.channel)], "data": ["badge": badge]])
            _ = try await master.pushEnded(id)
            #expect(badges(id) == [tokens[0]: expected[0], tokens[1]: expected[1]], "\(badge)")
            let stored = try await master.find("_Installation", ["channels": .string(devices.channel)]).results
            #expect(stored.allSatisfy { $0["badge"]?.intValue == badges(id)[$0.text("deviceToken")] })
        }
    }

    // MARK: Times

    @Test func aPushForLaterWaits() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let devices = try await Devices.register(suite, tokens: Self.tokens(1))
        var early: Set<Bool> = []
        for isText in Array(repeating: [true, false], count: 10).joined() where !early.contains(isText) {
            let time = Timestamp.now.advanced(by: .seconds(3))
            let value: JSON = isText ? .string(time.iso) : time.wire
            let id = try await master.push([
                "channels": [.string(devices.channel)], "data": ["alert": "later"], "push_time": value,
                "expiration_interval": 60,
            ])
            let status = try await master.get("/classes/_PushStatus/\(id)")
            let sent = suite.devices(of: id)
            // If the push was read too late, the next round repeats the test.
            if Timestamp.now < time {
                #expect(status["status"] == "scheduled")
                #expect(sent.isEmpty)
                early.insert(isText)
            }
            #expect(status["pushTime"] == .string(time.iso))
            #expect(status["expiry"] == .int(time.milliseconds + 60_000))
            let ended = try await master.pushEnded(id)
            #expect(suite.devices(of: id).count == 1)
            let updated = ended["updatedAt"]?.stringValue.flatMap(Timestamp.init(iso:))
            #expect(updated.map { $0 >= time } == true)
        }
        #expect(early == [true, false])
    }

    @Test func localTimeComesToEachZoneByItself() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let channel = "c\(Names.random(10))"
        let (here, west) = (Self.tokens(1), Self.tokens(1))
        _ = try await Devices.register(suite, tokens: here, fields: ["timeZone": "Etc/UTC"], channel: channel)
        _ = try await Devices.register(suite, tokens: west, fields: ["timeZone": "Etc/GMT+5"], channel: channel)
        let wall = Timestamp.now.advanced(by: .seconds(2)).iso.dropLast()
        let id = try await master.push([
            "channels": [.string(channel)], "data": ["alert": "hi"], "push_time": .string(String(wall)),
        ])
        try await eventually("the device in UTC has it") { suite.devices(of: id) == Set(here) }
        let waiting = try await suite.rows("push", "SELECT token, dueAt - madeAt FROM deliveries WHERE push = '\(id)'")
        #expect(waiting.map { $0.at(0) } == [.string(west[0])])
        let status = try await master.get("/classes/_PushStatus/\(id)")
        #expect(status["status"] == "running")
        #expect(status["pushTime"] == .string(String(wall)))
        let due = try await suite.rows("push", "SELECT dueAt FROM deliveries WHERE push = '\(id)'")
        let expected = try #require(Timestamp(iso: wall + "Z")).advanced(by: .seconds(5 * 3600))
        #expect(due == [[.int(expected.milliseconds)]])
    }

    @Test func whatExpiredIsNotSent() async throws {
        // A spool that cannot be written simulates a provider that is down until the push expires.
        try await Suite.with { suite in
            let master = ParseClient.master(suite)
            let devices = try await Devices.register(suite, tokens: Self.tokens(2))
            try await suite.replaceSpool(byFile: true)
            let id = try await master.push([
                "channels": [.string(devices.channel)], "data": ["alert": "now"], "expiration_interval": 3,
            ])
            let status = try await master.pushEnded(id)
            try await suite.replaceSpool(byFile: false)
            #expect(status["status"] == "failed")
            #expect(status["numFailed"] == 2)
            #expect(status["numSent"] == 0)
            #expect(status["errorMessage"] == "Expired: 2")
            #expect(suite.notifications().isEmpty)
        }
    }

    @Test(
        arguments: [
            (["channels": ["a"], "where": [:], "data": ["alert": "x"]], 115), (["data": ["alert": "x"]], 115),
            (["channels": ["a"]], 115), (["channels": ["a"], "data": ["alert": "x"], "push_time": "soon"], 115),
            (
                [
                    "channels": ["a"], "data": ["alert": "x"], "expiration_interval": 5,
                    "expiration_time": "2099-01-01T00:00:00Z",
                ], 115
            ),
            (["channels": ["a"], "data": ["alert": "x"], "expiration_time": "2001-01-01T00:00:00Z"], 138),
            (["channels": ["a"], "data": ["alert": "x"], "push_time": "2099-01-01T00:00:00Z"], 152),
            (["channels": ["a"], "data": ["alert": "x"], "audience_id": "nobody1234"], 115),
            (
                ["where": ["user": ["$inQuery": ["className": "_PushStatus", "where": [:]]]], "data": ["alert": "x"]],
                102
            ),
        ] as [(JSON, Int)])
    func aBadPushIsRefused(body: JSON, code: Int) async throws {
        let suite = try await Suite.shared
        let answer = try await ParseClient.master(suite).call(.POST, "/push", body)
        #expect(answer.code == code, "\(answer.text)")
        #expect(answer.headers.first(name: "X-Parse-Push-Status-Id") == nil)
    }

    // MARK: Audiences

    @Test func audiencesAreStoredCountedAndUsed() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let devices = try await Devices.register(suite, tokens: Self.tokens(1))
        let condition: JSON = ["channels": .string(devices.channel)]
        let name = "Channel \(devices.channel)"
        let made = try await master.call(
            .POST, "/push_audiences", ["name": .string(name), "query": .string(condition.serializedText)])
        try #require(made.status == 201, "\(made.text)")
        #expect(made.headers.first(name: "Location") == "\(suite.url)/classes/_Audience/\(made.objectId)")
        let path = "/push_audiences/\(made.objectId)"
        let read = try await master.get(path)
        #expect(read["query"] == condition)
        #expect(read["name"] == .string(name))
        #expect(read["timesUsed"] == nil)
        let unused = try await master.find("_Audience", ["name": .string(name), "timesUsed": ["$exists": false]])
        #expect(unused.results.map(\.objectId) == [made.objectId], "\(unused.text)")
        let listed = try await master.get("/push_audiences", ["where": ["name": .string(name)]])
        #expect(listed.results.map { $0["query"] } == [condition])
        // The PHP SDK uses the class.
        let raw = try await master.get("/classes/_Audience/\(made.objectId)")
        #expect(raw["query"] == .string(condition.serializedText))

        let id = try await master.push(["audience_id": .string(made.objectId), "data": ["alert": "hi"]])
        _ = try await master.pushEnded(id)
        #expect(suite.devices(of: id) == Set(devices.objectIds.keys))
        _ = try await master.push([
            "audience_id": .string(made.objectId), "where": condition, "data": ["alert": "hi"],
        ])
        let used = try await master.get(path)
        #expect(used["timesUsed"] == 2)
        #expect(used["lastUsed"]?.wireType == "Date")

        #expect(try await master.call(.PUT, path, ["query": "{\"badge\":1}"]).status == 200)
        #expect(try await master.get(path)["query"] == ["badge": 1])
        for (bad, code) in [
            (["name": "x", "query": "no JSON"], 107), (["name": "x"], 135), (["query": "{}"], 135),
            (["name": "x", "query": "{\"a\":{\"$no\":1}}"], 107),
        ] as [(JSON, Int)] {
            #expect(try await master.call(.POST, "/push_audiences", bad).code == code, "\(bad)")
        }
        #expect(try await master.call(.DELETE, path).status == 200)
        #expect(try await master.get(path).code == 101)
    }

    /// As the Parse PHP SDK sends pushes and audiences (PARSE_PROTOCOL section 17).
    @Test func thePHPClientsFormsWork() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let devices = try await Devices.register(suite, tokens: Self.tokens(1))
        let condition = #"{"channels":"\#(devices.channel)","deviceType":{"$eq":"ios"}}"#
        let audience = try await master.create("_Audience", ["name": "PHP", "query": .string(condition)])
        try #require(audience.status == 201, "\(audience.text)")
        let body = #"{"where":\#(condition),"data":{"alert":"php"},"push_time":"\#(Timestamp.now.iso)"}"#
        let answer = try await master.send(
            .POST, "/push", headers: master.credentials + [("Content-Type", "application/json")],
            body: Array(body.utf8))
        let id = try #require(answer.headers.first(name: "X-Parse-Push-Status-Id"), "\(answer.text)")
        let found = try await master.find("_PushStatus", ["objectId": ["$eq": .string(id)]])
        #expect(found.results.count == 1)
        _ = try await master.pushEnded(id)
        #expect(suite.devices(of: id) == Set(devices.objectIds.keys))
        // The SDK requests the features when it starts.
        let features = try await master.get("/serverInfo/")["features"]?["push"]
        #expect(features?["immediatePush"] == true)
        #expect(features?["pushAudiences"] == true)
    }
}
