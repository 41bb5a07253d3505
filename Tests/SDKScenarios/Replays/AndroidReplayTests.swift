import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The requests of the Android SDK, in its oldest public version (1.10) and its last (4.4).
@Suite struct AndroidReplayTests {
    @Test(.timeLimit(.minutes(10)), arguments: AndroidSDK.Version.allCases)
    func aShoppingSession(_ version: AndroidSDK.Version) async throws {
        let suite = try await Suite.shared
        try await ShoppingSession.run(AndroidSDK(suite, version), in: suite)
    }

    /// The bytes of MOBILE_SDKS section 2, with `where` as a string.
    @Test(arguments: AndroidSDK.Version.allCases)
    func everyOptionIsAText(_ version: AndroidSDK.Version) async throws {
        let sdk = try await AndroidSDK.customer(version)
        let name = "Text\(Names.random(6))"
        for n in 0..<4 { #expect(try await sdk.create(name, #""name":"t\#(n)","stock":\#(n)"#).status == 201) }
        let page = try await sdk.command(
            "GET", "classes/\(name)",
            #"{"where":"{\"stock\":{\"$gt\":0}}","order":"name,-createdAt","limit":"1","skip":"1","keys":"name"}"#)
        #expect(page.results.map { $0["name"] } == ["t2"], "\(page.text)")
        #expect(page.results.first?["stock"] == nil, "\(page.text)")
        // Up to 1.15 it requests rows and count, later only the count.
        let both = try await sdk.command("GET", "classes/\(name)", #"{"where":"{\"stock\":{\"$gt\":0}}","count":"1"}"#)
        #expect(both.json["count"] == 3, "\(both.text)")
        #expect(both.results.count == 3, "\(both.text)")
        let alone = try await sdk.command("GET", "classes/\(name)", #"{"count":"1","limit":"0"}"#)
        #expect(alone.json == ["results": [], "count": 4], "\(alone.text)")
        let id = page.results.first?.objectId ?? ""
        let byId = try await sdk.command(
            "GET", "classes/\(name)", #"{"where":"{\"objectId\":\"\#(id)\"}","limit":"1"}"#)
        #expect(byId.results.map(\.objectId) == [id], "\(byId.text)")
        let note = "Note\(Names.random(6))"
        _ = try await sdk.create(note, #""of":\#(AndroidSDK.pointer(name, id))"#)
        let inner = #"{"className":"\#(name)","where":{"stock":2},"limit":10,"skip":0,"order":"name"}"#
        let condition = AndroidSDK.quoted(#"{"of":{"$inQuery":\#(inner)}}"#)
        let notes = try await sdk.command("GET", "classes/\(note)", #"{"where":"\#(condition)","include":"of"}"#)
        #expect(notes.results.map { $0.at("of", "name") } == ["t2"], "\(notes.text)")
    }

    @Test(arguments: AndroidSDK.Version.allCases)
    func aRelationsClassIsAskedOfTheServer(_ version: AndroidSDK.Version) async throws {
        let sdk = try await AndroidSDK.customer(version)
        let (post, fan) = ("Post\(Names.random(6))", "Fan\(Names.random(6))")
        let liked = try await sdk.create(fan, #""name":"c""#)
        let pointer = AndroidSDK.pointer(fan, liked.json.objectId)
        let owner = try await sdk.create(post, #""likes":{"__op":"AddRelation","objects":[\#(pointer)]}"#)
        let related = #"{"object":\#(AndroidSDK.pointer(post, owner.json.objectId)),"key":"likes"}"#
        let members = try await sdk.find(
            post, SDKQuery(conditions: [("$relatedTo", related)], redirectKey: "likes"))
        #expect(members.results.map(\.objectId) == [liked.json.objectId], "\(members.text)")
        #expect(members.json["className"] == .string(fan), "\(members.text)")
    }

    /// An update repeats the id. A batch's answer is an array with one item per request.
    @Test(arguments: AndroidSDK.Version.allCases)
    func updatesAndBatchesRepeatTheId(_ version: AndroidSDK.Version) async throws {
        let sdk = try await AndroidSDK.customer(version)
        let name = "Live\(Names.random(6))"
        let made = try await sdk.create(name, #""n":1,"path":"a/b""#)
        let id = made.json.objectId
        let changed = try await sdk.update(name, id, #""n":{"__op":"Increment","amount":1}"#)
        #expect(changed.status == 200, "\(changed.text)")
        #expect(changed.json["n"] == 2, "\(changed.text)")
        let path = "\(sdk.base)/classes/\(name)"
        let items =
            (0..<47).map { #"{"method":"POST","path":"\#(path)","body":{"n":\#($0)}}"# } + [
                #"{"method":"PUT","path":"\#(path)/\#(id)","body":{"n":7,"objectId":"\#(id)"}}"#,
                #"{"method":"PUT","path":"\#(path)/nothing123","body":{"n":7,"objectId":"nothing123"}}"#,
                #"{"method":"DELETE","path":"\#(path)/\#(id)"}"#,
            ]
        let answer = try await sdk.command("POST", "batch", #"{"requests":[\#(items.joined(separator: ","))]}"#)
        let results = answer.json.arrayValue ?? []
        #expect(answer.status == 200, "\(answer.text)")
        #expect(results.count == 50, "\(answer.text)")
        #expect(results.prefix(48).allSatisfy { $0["success"] != nil }, "\(answer.text)")
        #expect(results.suffix(2).first?.at("error", "code") == 101)
        #expect(results.last == ["success": [:]])
    }

    @Test(arguments: AndroidSDK.Version.allCases)
    func usersComeAndGo(_ version: AndroidSDK.Version) async throws {
        var sdk = AndroidSDK(try await Suite.shared, version)
        try await sdk.begin()
        let id = sdk.userId
        try #require(!id.isEmpty)
        let again = try await sdk.serviceLogIn("anonymous", sdk.anonymousData)
        #expect(again.status == 200, "\(again.text)")
        #expect(again.json.objectId == id, "\(again.text)")
        sdk.become(again)
        let name = "\(Names.random(10).lowercased())@android.example"
        let signUp = try await sdk.signUp(name, "secret1")
        #expect(signUp.status == 200, "\(signUp.text)")
        sdk.become(signUp)
        let own = try await sdk.command("GET", "classes/_User/\(id)", nil)
        #expect(own.json["username"] == .string(name), "\(own.text)")
        #expect(own.json["authData"]?["anonymous"] == nil, "\(own.text)")
        let upgraded = try await sdk.command("POST", "upgradeToRevocableSession", "{}")
        #expect(upgraded.json["sessionToken"] != nil, "\(upgraded.text)")
        #expect(try await sdk.logOut().text == "{}")
        sdk.session = ""
        #expect(try await sdk.logIn(name, "wrong").code == 101)
        let login = try await sdk.logIn(name, "secret1")
        #expect(login.status == 200, "\(login.text)")
        #expect(login.json.objectId == id, "\(login.text)")
        // Up to 1.16.0 an account is created as an object of its class.
        var other = AndroidSDK(try await Suite.shared, version)
        let taken = try await other.signUp(name, "secret1")
        #expect(taken.code == 202, "\(taken.text)")
    }

    @Test(arguments: AndroidSDK.Version.allCases)
    func filesHaveATypeOrNone(_ version: AndroidSDK.Version) async throws {
        let sdk = try await AndroidSDK.customer(version)
        let picture: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + Array("JFIF \(Names.random(8))".utf8)
        for type in [nil, "application/octet-stream", "application/x-www-form-urlencoded", "image/jpeg"] {
            let saved = try await sdk.upload("photo.jpg", picture, type: type)
            #expect(saved.status == 201, "\(type ?? "-"): \(saved.text)")
            #expect(!saved.json.text("name").isEmpty, "\(type ?? "-"): \(saved.text)")
            let path = URLComponents(string: saved.json.text("url"))?.path ?? ""
            let read = try await sdk.wire.send("GET \(path)")
            #expect(read.status == 200, "\(read.head)")
            #expect(read.text == String(decoding: picture, as: UTF8.self), "\(read.head)")
        }
    }

    @Test(arguments: AndroidSDK.Version.allCases)
    func aDeviceIsKept(_ version: AndroidSDK.Version) async throws {
        let suite = try await Suite.shared
        let sdk = try await AndroidSDK.customer(version)
        let made = try await sdk.saveInstallation()
        #expect(made.status == 201, "\(made.text)")
        let id = made.json.objectId
        let joined = try await sdk.update(
            "_Installation", id, #""channels":{"__op":"AddUnique","objects":["news"]}"#)
        #expect(joined.json["channels"] == ["news"], "\(joined.text)")
        let again = try await sdk.saveInstallation()
        #expect([200, 201].contains(again.status), "A known device has its row: \(again.text)")
        #expect(again.json.objectId == id, "A known device has its row: \(again.text)")
        let left = try await sdk.update(
            "_Installation", id, #""deviceToken":{"__op":"Delete"},"pushType":{"__op":"Delete"}"#)
        #expect(left.status == 200, "\(left.text)")
        _ = try await ParseClient.master(suite).call(.DELETE, "/installations/\(id)")
        let gone = try await sdk.update("_Installation", id, #""timeZone":"Europe/Berlin""#)
        #expect(gone.status == 404, "\(gone.text)")
        #expect(gone.code == 101, "\(gone.text)")
        #expect(try await sdk.saveInstallation().status == 201)
    }

    @Test(arguments: AndroidSDK.Version.allCases)
    func eventsConfigAndFunctions(_ version: AndroidSDK.Version) async throws {
        let sdk = try await AndroidSDK.customer(version)
        let at = #""at":{"__type":"Date","iso":"2015-10-08T00:28:56.123Z"}"#
        for (name, members) in [
            ("AppOpened", #"\#(at),"push_hash":"5d41402abc4b2a76b9719d911017c592""#),
            ("Opened%20a%20page", #"\#(at),"dimensions":{"page":"a/b"}"#),
        ] {
            #expect(try await sdk.command("POST", "events/\(name)", "{\(members)}").text == "{}")
        }
        #expect(try await sdk.config().json["params"]?.objectValue != nil)
        #expect(try await sdk.function("bag", "{}").json.at("result", "badgeCount") == 0)
        #expect(try await sdk.function("unknownHere", "{}").code == 141)
    }
}
