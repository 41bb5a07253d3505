import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The requests of the Flutter SDK, in its first stable version (1.0) and 8.0.
@Suite struct FlutterReplayTests {
    @Test(.timeLimit(.minutes(10)), arguments: FlutterSDK.Version.allCases)
    func aShoppingSession(_ version: FlutterSDK.Version) async throws {
        let suite = try await Suite.shared
        try await ShoppingSession.run(FlutterSDK(suite, version), in: suite)
    }

    /// The query string of MOBILE_SDKS section 4: spaces, commas, colons and dollar signs as Dart writes them.
    @Test(arguments: FlutterSDK.Version.allCases)
    func queriesAreWrittenByHand(_ version: FlutterSDK.Version) async throws {
        let sdk = try await FlutterSDK.customer(version)
        let name = "Text\(Names.random(6))"
        for n in 0..<4 { #expect(try await sdk.create(name, #""name":"t \#(n)","n":\#(n)"#).status == 201) }
        let page = try await sdk.command(
            "GET", "classes/\(name)?where=%7B%22n%22:%20%7B%22$gt%22:0%7D%7D&limit=1&skip=1&order=name,-n&keys=name",
            nil)
        #expect(page.results.map { $0["name"] } == ["t 2"], "\(page.text)")
        #expect(page.results.first?["n"] == nil, "\(page.text)")
        let equal = try await sdk.command("GET", "classes/\(name)?where=%7B%22name%22:%20%22t%201%22%7D", nil)
        #expect(equal.json.objectValue?.count == 1, "\(equal.text)")
        #expect(equal.results.count == 1, "\(equal.text)")
        let counted = try await sdk.count(name, SDKQuery(conditions: [("n", #"{"$gt":0}"#)]))
        #expect(counted.json["count"] == 3, "\(counted.text)")
        #expect(counted.results.count == 3, "\(counted.text)")
        let left = try await sdk.command("GET", "classes/\(name)?order=n&excludeKeys=n", nil)
        #expect(left.results.count == 4, "\(left.text)")
        #expect(left.results.allSatisfy { $0["n"] == nil }, "\(left.text)")
        #expect(try await sdk.find(name, SDKQuery(conditions: [("n", "99")])).text == #"{"results":[]}"#)
    }

    @Test(arguments: FlutterSDK.Version.allCases)
    func aRelationsClassIsAskedOfTheServer(_ version: FlutterSDK.Version) async throws {
        let sdk = try await FlutterSDK.customer(version)
        let (post, fan) = ("Post\(Names.random(6))", "Fan\(Names.random(6))")
        let liked = try await sdk.create(fan, #""name":"c""#)
        let pointer = FlutterSDK.pointer(fan, liked.json.objectId)
        let owner = try await sdk.create(post, #""likes":{"__op":"AddRelation","objects":[\#(pointer)]}"#)
        let related = #"{"object":\#(FlutterSDK.pointer(post, owner.json.objectId)),"key":"likes"}"#
        let condition = Wire.escaped(#"{"$relatedTo":\#(related)}"#)
        let path = "classes/\(post)?where=\(condition)&redirectClassNameForKey=likes"
        let members = try await sdk.command("GET", path, nil)
        #expect(members.results.map(\.objectId) == [liked.json.objectId], "\(members.text)")
    }

    /// Half of the bodies have the type text/plain.
    @Test(arguments: FlutterSDK.Version.allCases)
    func objectsLive(_ version: FlutterSDK.Version) async throws {
        let sdk = try await FlutterSDK.customer(version)
        let name = "Live\(Names.random(6))"
        let made = try await sdk.create(name, #""n":1,"tags":["a"]"#)
        let path = "classes/\(name)/\(made.json.objectId)"
        #expect(try await sdk.command("PUT", path, #"{"n":2}"#).status == 200)
        let unset = try await sdk.send("PUT", path, #"{"tags":{"__op":"Delete"}}"#, type: FlutterSDK.text)
        #expect(unset.status == 200, "\(unset.text)")
        let one = try await sdk.command("GET", path, nil)
        #expect(one.json["n"] == 2, "\(one.text)")
        #expect(one.json["tags"] == nil, "\(one.text)")
        let items = (0..<50).map { #"{"method":"POST","path":"/parse/classes/\#(name)","body":{"n":\#($0)}}"# }
        let batch = try await sdk.send(
            "POST", "batch", #"{"requests":[\#(items.joined(separator: ","))]}"#, type: FlutterSDK.text)
        #expect(batch.json.arrayValue?.count == 50, "\(batch.text)")
        #expect(batch.json.at(49, "success", "objectId") != nil, "\(batch.text)")
        #expect(try await sdk.delete(name, made.json.objectId).text == "{}")
    }

    @Test(arguments: FlutterSDK.Version.allCases)
    func usersComeAndGo(_ version: FlutterSDK.Version) async throws {
        var sdk = FlutterSDK(try await Suite.shared, version)
        let name = "\(Names.random(10).lowercased())@flutter.example"
        let created = try await sdk.signUp(name, "secret1")
        #expect(created.status == 201, "\(created.text)")
        sdk.become(created)
        #expect(try await sdk.me().json.objectId == sdk.userId)
        let session = try await sdk.command("GET", "sessions/me", nil)
        #expect(session.json["installationId"] == .string(sdk.installation), "\(session.text)")
        #expect(try await sdk.update("_User", sdk.userId, #""city":"Ulm""#).status == 200)
        for path in ["requestPasswordReset", "verificationEmailRequest"] {
            let asked = try await sdk.send("POST", path, #"{"email":"\#(name)"}"#, type: FlutterSDK.text)
            #expect(asked.text == "{}", "\(path): \(asked.text)")
        }
        #expect(try await sdk.logOut().text == "{}")
        sdk.session = ""
        #expect(try await sdk.logIn(name, "wrong").code == 101)
        sdk.become(try await sdk.logIn(name, "secret1"))
        let ended = try await sdk.command("DELETE", "classes/_User/\(sdk.userId)", nil)
        #expect(ended.text == "{}", "\(ended.text)")
        sdk.session = ""
        let data = #"{"authData":{"anonymous":{"id":"\#(UUID().uuidString.lowercased())"}}}"#
        let anonymous = try await sdk.send("POST", "users", data, type: FlutterSDK.text, names: true)
        #expect(anonymous.status == 201, "\(anonymous.text)")
        #expect(anonymous.json["sessionToken"] != nil, "\(anonymous.text)")
    }

    /// An update repeats the device's members, some of them null or empty.
    @Test(arguments: FlutterSDK.Version.allCases)
    func aDeviceIsKept(_ version: FlutterSDK.Version) async throws {
        let sdk = try await FlutterSDK.customer(version)
        let made = try await sdk.saveInstallation()
        #expect(made.status == 201, "\(made.text)")
        let changed = try await sdk.send(
            "PUT", "installations/\(made.json.objectId)",
            #"{\#(sdk.deviceMembers),"deviceToken":null,"GCMSenderId":"","channels":["news"]}"#, type: FlutterSDK.text)
        #expect(changed.status == 200, "\(changed.text)")
        let read = try await sdk.command("GET", "installations/\(made.json.objectId)", nil)
        #expect(read.json["channels"] == ["news"], "\(read.text)")
    }

    @Test(arguments: FlutterSDK.Version.allCases)
    func filesConfigAndFunctions(_ version: FlutterSDK.Version) async throws {
        let sdk = try await FlutterSDK.customer(version)
        let headers = ["X-Parse-Application-Id: satchel", "X-Parse-Session-Token: \(sdk.session)"]
        for type in [[], ["content-type: image/jpeg"], ["content-type: application/octet-stream"]] {
            let line = "POST /parse/files/photo.jpg"
            let saved = try await sdk.wire.send(line, headers + type, bytes: [0xFF, 0xD8, 0xFF, 0xE0]).readable(line)
            #expect(saved.status == 201, "\(saved.text)")
            #expect(saved.json["name"] != nil, "\(saved.text)")
            #expect(saved.json["url"] != nil, "\(saved.text)")
        }
        let config = try await sdk.send("GET", "config", nil, type: FlutterSDK.text)
        #expect(config.json["params"]?.objectValue != nil)
        #expect(try await sdk.command("GET", "health", nil).json["status"] == "ok")
        #expect(try await sdk.function("bag", nil).json.at("result", "badgeCount") == 0)
        #expect(try await sdk.function("bag", "{}").json.at("result", "badgeCount") == 0)
    }
}
