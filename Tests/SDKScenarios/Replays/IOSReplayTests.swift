import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The requests of the Objective-C SDK, in its oldest public version (1.8, the reference app's) and its last (6.1).
@Suite struct IOSReplayTests {
    @Test(.timeLimit(.minutes(10)), arguments: IOSSDK.Version.allCases)
    func aShoppingSession(_ version: IOSSDK.Version) async throws {
        let suite = try await Suite.shared
        try await ShoppingSession.run(IOSSDK(suite, version), in: suite)
    }

    @Test(arguments: IOSSDK.Version.allCases)
    func optionsAreTexts(_ version: IOSSDK.Version) async throws {
        let sdk = try await IOSSDK.customer(version)
        let name = "Text\(Names.random(6))"
        for n in 0..<4 { #expect(try await sdk.create(name, #""title":"t\#(n)","n":\#(n)"#).status == 201) }
        let page = try await sdk.command(
            "GET", "classes/\(name)", #"{"order":"title","limit":"2","skip":"1","keys":"title"}"#)
        #expect(page.results.map { $0["title"] } == ["t1", "t2"], "\(page.text)")
        #expect(page.results.allSatisfy { $0["n"] == nil }, "\(page.text)")
        let counted = try await sdk.command(
            "GET", "classes/\(name)", #"{"where":{"n":{"$gt":0}},"count":"1","limit":"0"}"#)
        #expect(counted.json == ["results": [], "count": 3], "\(counted.text)")
        let first = try await sdk.command("GET", "classes/\(name)", #"{"limit":"1","where":{"title":"t3"}}"#)
        #expect(first.results.map { $0["n"] } == [3], "\(first.text)")
        let id = first.results.first?.objectId ?? ""
        let byId = try await sdk.command(
            "GET", "classes/\(name)", #"{"limit":"1","where":{"objectId":"\#(id)"},"keys":""}"#)
        #expect(byId.results.count == 1, "\(byId.text)")
        #expect(byId.results.first?.objectId == id, "\(byId.text)")
        let all = try await sdk.command(
            "GET", "classes/\(name)", #"{"limit":"1","where":{"objectId":{"$in":["\#(id)"]}}}"#)
        #expect(all.results.count == 1, "\(all.text)")
        if version == .new {
            let left = try await sdk.command(
                "GET", "classes/\(name)", #"{"excludeKeys":["n"],"hint":"_id_","limit":"1"}"#)
            #expect(left.results.count == 1, "\(left.text)")
            #expect(left.results.first?["n"] == nil, "\(left.text)")
        }
    }

    /// ParseUI's tables request the next page when the last one was full.
    @Test func pagesOfAQueryTable() async throws {
        let sdk = try await IOSSDK.customer(.old)
        let name = "Table\(Names.random(6))"
        let items = (0..<26).map { #"{"method":"POST","path":"/1/classes/\#(name)","body":{"n":\#($0)}}"# }
        _ = try await sdk.command("POST", "batch", #"{"requests":[\#(items.joined(separator: ","))]}"#)
        let full = try await sdk.command("GET", "classes/\(name)", #"{"order":"-createdAt","limit":"25"}"#)
        #expect(full.results.count == 25, "\(full.text)")
        let rest = try await sdk.command("GET", "classes/\(name)", #"{"order":"-createdAt","limit":"25","skip":"25"}"#)
        #expect(rest.results.count == 1, "\(rest.text)")
        #expect(Set((full.results + rest.results).map(\.objectId)).count == 26)
    }

    @Test(arguments: IOSSDK.Version.allCases)
    func subQueriesHaveTheirOptionsAsTexts(_ version: IOSSDK.Version) async throws {
        let sdk = try await IOSSDK.customer(version)
        let (post, comment) = ("Post\(Names.random(6))", "Note\(Names.random(6))")
        var ids: [String] = []
        for n in 0..<3 { ids.append(try await sdk.create(post, #""n":\#(n)"#).json.objectId) }
        for (n, id) in ids.enumerated() {
            _ = try await sdk.create(comment, #""post":\#(IOSSDK.pointer(post, id)),"n":\#(n)"#)
        }
        func found(_ condition: String) async throws -> [JSON?] {
            let answer = try await sdk.command("GET", "classes/\(comment)", #"{"order":"n","where":\#(condition)}"#)
            #expect(answer.status == 200, "\(answer.text)")
            return answer.results.map { $0["n"] }
        }
        let page = #"{"className":"\#(post)","where":{},"limit":"1","skip":"1","order":"n"}"#
        #expect(try await found(#"{"post":{"$inQuery":\#(page)}}"#) == [1])
        #expect(try await found(#"{"post":{"$notInQuery":\#(page)}}"#) == [0, 2])
        #expect(try await found(#"{"post":{"$inQuery":{"className":"\#(post)"}}}"#) == [0, 1, 2])
        #expect(try await found(#"{"n":{"$select":{"query":\#(page),"key":"n"}}}"#) == [1])
        #expect(try await found(#"{"n":{"$dontSelect":{"query":{"className":"\#(post)"},"key":"n"}}}"#) == [])
        #expect(try await found(#"{"$or":[{},{"n":1}]}"#) == [0, 1, 2])
    }

    @Test(arguments: IOSSDK.Version.allCases)
    func aRelationsClassIsAskedOfTheServer(_ version: IOSSDK.Version) async throws {
        let sdk = try await IOSSDK.customer(version)
        let (post, fan) = ("Post\(Names.random(6))", "Fan\(Names.random(6))")
        let liked = try await sdk.create(fan, #""name":"a/b""#)
        _ = try await sdk.create(fan, #""name":"c""#)
        let pointer = IOSSDK.pointer(fan, liked.json.objectId)
        let owner = try await sdk.create(post, #""likes":{"__op":"AddRelation","objects":[\#(pointer)]}"#)
        let related = #"{"$relatedTo":{"object":\#(IOSSDK.pointer(post, owner.json.objectId)),"key":"likes"}}"#
        let members = try await sdk.command(
            "GET", "classes/\(post)", #"{"redirectClassNameForKey":"likes","where":\#(related)}"#)
        #expect(members.results.map(\.objectId) == [liked.json.objectId], "\(members.text)")
        #expect(members.json["className"] == .string(fan), "\(members.text)")
        let known = try await sdk.command("GET", "classes/\(fan)", #"{"where":\#(related)}"#)
        #expect(known.results.map { $0["name"] } == ["a/b"], "\(known.text)")
        let note = "Note\(Names.random(6))"
        _ = try await sdk.create(note, #""fan":\#(pointer)"#)
        let inside = #"{"className":"\#(post)","redirectClassNameForKey":"likes","where":\#(related)}"#
        let notes = try await sdk.command("GET", "classes/\(note)", #"{"where":{"fan":{"$inQuery":\#(inside)}}}"#)
        #expect(notes.results.count == 1, "\(notes.text)")
        // A save of all fields repeats the members of a relation that the device knows.
        let saved = try await sdk.update(
            post, owner.json.objectId,
            #""likes":{"__type":"Relation","className":"\#(fan)","objects":[\#(pointer)]},"title":"x""#)
        #expect(saved.status == 200, "\(saved.text)")
    }

    @Test(arguments: IOSSDK.Version.allCases)
    func objectsLive(_ version: IOSSDK.Version) async throws {
        let sdk = try await IOSSDK.customer(version)
        let name = "Live\(Names.random(6))"
        let acl = #""ACL":{"*":{"read":true},"\#(sdk.userId)":{"read":true,"write":true}}"#
        let made = try await sdk.create(
            name,
            #""on":true,"at":{"__type":"Date","iso":"2015-10-08T00:28:56.123Z"},"path":"a/b","tags":["a"],\#(acl)"#)
        #expect(made.status == 201, "\(made.text)")
        #expect(made.json["createdAt"] != nil, "\(made.text)")
        let id = made.json.objectId
        let one = try await sdk.command("GET", "classes/\(name)/\(id)", nil)
        #expect(one.json["path"] == "a/b", "\(one.text)")
        #expect(one.json["ACL"]?.objectValue != nil, "\(one.text)")
        let changed = try await sdk.update(
            name, id, #""n":{"__op":"Increment","amount":2},"tags":{"__op":"AddUnique","objects":["b"]}"#)
        #expect(changed.json["n"] == 2, "\(changed.text)")
        #expect(changed.json["tags"] == ["a", "b"], "\(changed.text)")
        let empty = try await sdk.update(name, id, "")
        #expect(empty.status == 200, "\(empty.text)")
        #expect(try await sdk.update(name, id, #""ACL":{"__op":"Delete"},"on":{"__op":"Delete"}"#).status == 200)
        #expect(try await sdk.command("GET", "classes/\(name)/\(id)", nil).json["on"] == nil)
        #expect(try await sdk.delete(name, id).text == "{}")
        #expect(try await sdk.delete(name, id).code == 101)
    }

    /// Batches of one, of fifty, and a mixed one; slashes in the paths are escaped.
    @Test(arguments: IOSSDK.Version.allCases)
    func batches(_ version: IOSSDK.Version) async throws {
        let sdk = try await IOSSDK.customer(version)
        let name = "Batch\(Names.random(6))"
        let path = "\(sdk.base)/classes/\(name)"
        func batch(_ items: [String]) async throws -> [JSON] {
            let answer = try await sdk.command("POST", "batch", #"{"requests":[\#(items.joined(separator: ","))]}"#)
            #expect(answer.status == 200, "\(answer.text)")
            return answer.json.arrayValue ?? []
        }
        func create(_ n: Int) -> String { #"{"method":"POST","path":"\#(path)","body":{"n":\#(n)}}"# }
        let one = try await batch([create(0)])
        let id = one.first?.at("success", "objectId")?.stringValue ?? ""
        #expect(one.count == 1)
        #expect(!id.isEmpty)
        let fifty = try await batch((1...50).map(create))
        #expect(fifty.count == 50)
        #expect(fifty.allSatisfy { $0.at("success", "createdAt") != nil })
        let mixed = try await batch([
            create(51), #"{"method":"PUT","path":"\#(path)/\#(id)","body":{"n":-1}}"#,
            #"{"method":"PUT","path":"\#(path)/nothing123","body":{"n":1}}"#,
            #"{"method":"DELETE","path":"\#(path)/\#(id)"}"#,
        ])
        #expect(mixed.count == 4)
        #expect(mixed.dropFirst(2).first?.at("error", "code") == 101)
        #expect(mixed.last == ["success": [:]])
    }

    /// From 1.12 on, the shop's URL is free. A proxy strips its prefix from the request's path, but not from paths
    /// inside a batch.
    @Test func batchesBehindAProxy() async throws {
        let sdk = IOSSDK(try await ClientSuites.proxied.suite, .new)
        let path = "/api/v2/parse/classes/Proxy\(Names.random(6))"
        func batch(_ items: [String]) async throws -> [JSON] {
            let answer = try await sdk.command("POST", "batch", #"{"requests":[\#(items.joined(separator: ","))]}"#)
            #expect(answer.status == 200, "\(answer.text)")
            return answer.json.arrayValue ?? []
        }
        let made = try await batch((1...2).map { #"{"method":"POST","path":"\#(path)","body":{"n":\#($0)}}"# })
        let ids = made.compactMap { $0.at("success", "objectId")?.stringValue }
        try #require(ids.count == 2, "\(made)")
        let mixed = try await batch([
            #"{"method":"PUT","path":"\#(path)/\#(ids[0])","body":{"n":-1}}"#,
            #"{"method":"DELETE","path":"\#(path)/\#(ids[1])"}"#,
            #"{"method":"DELETE","path":"\#(path)/\#(ids[1])"}"#,
        ])
        #expect(mixed.count == 3, "\(mixed)")
        #expect(mixed.first?.at("success", "updatedAt") != nil, "\(mixed)")
        #expect(mixed.dropFirst().first == ["success": [:]], "\(mixed)")
        #expect(mixed.last?.at("error", "code") == 101, "\(mixed)")
    }

    @Test(arguments: IOSSDK.Version.allCases)
    func usersComeAndGo(_ version: IOSSDK.Version) async throws {
        var sdk = IOSSDK(try await Suite.shared, version)
        try await sdk.begin()
        let (token, id) = (sdk.session, sdk.userId)
        try #require(token.hasPrefix("r:"))
        try #require(!id.isEmpty)
        let again = try await sdk.serviceLogIn("anonymous", sdk.anonymousData)
        #expect(again.status == 200, "200 says that the user is not new: \(again.text)")
        #expect(again.json.objectId == id, "200 says that the user is not new: \(again.text)")
        // The session of the previous log-in has ended: there is one per installation.
        sdk.become(again)
        let saved = try await sdk.update(
            "_User", id, #""city":"Ulm","authData":{"anonymous":\#(sdk.anonymousData)}"#)
        #expect(saved.status == 200, "\(saved.text)")
        let name = "\(Names.random(10).lowercased())@ios.example"
        let signUp = try await sdk.signUp(name, "secret1")
        #expect(signUp.status == 200, "\(signUp.text)")
        #expect(signUp.json["authData"]?["anonymous"] == nil, "\(signUp.text)")
        sdk.become(signUp)
        let own = try await sdk.command("GET", "classes/_User/\(id)", nil)
        #expect(own.json["username"] == .string(name), "\(own.text)")
        #expect(own.json["authData"]?["anonymous"] == nil, "\(own.text)")
        #expect(own.json["sessionToken"] == .string(sdk.session), "\(own.text)")
        let me = try await sdk.me()
        #expect(me.json["sessionToken"] == .string(sdk.session), "become() reads it: \(me.text)")
        #expect(try await sdk.command("GET", "sessions/me", nil).json["installationId"] == .string(sdk.installation))
        let upgraded = try await sdk.command("POST", "upgradeToRevocableSession", nil)
        #expect(upgraded.json["sessionToken"] != nil, "\(upgraded.text)")
        #expect(try await sdk.logIn(name, "wrong").code == 101)
        let login = try await sdk.logIn(name, "secret1")
        #expect(login.status == 200, "\(login.text)")
        #expect(login.json.objectId == id, "\(login.text)")
        sdk.become(login)
        #expect(try await sdk.command("POST", "requestPasswordReset", #"{"email":"\#(name)"}"#).text == "{}")
        #expect(try await sdk.logOut().text == "{}")
        #expect(try await sdk.me().code == 209)
        (sdk.session, sdk.userId) = ("", "")
        let taken = try await sdk.signUp(name, "secret1")
        #expect(taken.code == 202, "\(taken.text)")
    }

    /// The type that CFNetwork adds when an app gives none is ignored.
    @Test(arguments: IOSSDK.Version.allCases)
    func filesHaveATypeOrNone(_ version: IOSSDK.Version) async throws {
        let sdk = try await IOSSDK.customer(version)
        let picture: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + Array("JFIF \(Names.random(8))".utf8)
        for type in [nil, "application/octet-stream", "application/x-www-form-urlencoded", "image/jpeg"] {
            for name in ["photo.jpg", "file"] where name == "photo.jpg" || type != "image/jpeg" {
                let saved = try await sdk.upload(name, picture, type: type)
                #expect(saved.status == 201, "\(name) \(type ?? "-"): \(saved.text)")
                #expect(saved.json.text("name").contains("_\(name)"), "\(saved.text)")
                let path = URLComponents(string: saved.json.text("url"))?.path ?? ""
                let read = try await sdk.wire.send("GET \(path)", sdk.headers())
                #expect(read.status == 200, "\(read.head)")
                #expect(read.text == String(decoding: picture, as: UTF8.self), "\(read.head)")
                if name == "photo.jpg" { #expect(read.header("Content-Type") == "image/jpeg", "\(read.head)") }
            }
        }
    }

    @Test(arguments: IOSSDK.Version.allCases)
    func aDeviceIsKept(_ version: IOSSDK.Version) async throws {
        let suite = try await Suite.shared
        let sdk = try await IOSSDK.customer(version)
        let made = try await sdk.saveInstallation()
        #expect(made.status == 201, "\(made.text)")
        let path = "classes/_Installation/\(made.json.objectId)"
        #expect(try await sdk.command("PUT", path, #"{"badge":3}"#).status == 200)
        let joined = try await sdk.command("PUT", path, #"{"channels":{"__op":"AddUnique","objects":["news"]}}"#)
        #expect(joined.json["channels"] == ["all", "news"], "\(joined.text)")
        let left = try await sdk.command("PUT", path, #"{"channels":{"__op":"Remove","objects":["all"]}}"#)
        #expect(left.json["channels"] == ["news"], "\(left.text)")
        let token = try await sdk.command("PUT", path, #"{"deviceToken":"\#(IOSSDK.newDeviceToken())"}"#)
        #expect(token.status == 200, "\(token.text)")
        #expect(try await sdk.command("PUT", path, #"{"user":\#(sdk.userPointer)}"#).status == 200)
        #expect(try await sdk.command("GET", path, nil).json["channels"] == ["news"])
        let again = try await sdk.saveInstallation()
        #expect([200, 201].contains(again.status), "\(again.text)")
        #expect(again.json.objectId == made.json.objectId, "\(again.text)")
        // The row was deleted: `.objectNotFound` (101) makes the SDK post all values again.
        _ = try await ParseClient.master(suite).call(.DELETE, "/installations/\(made.json.objectId)")
        let gone = try await sdk.command("PUT", path, #"{"badge":0}"#)
        #expect(gone.status == 404, "\(gone.text)")
        #expect(gone.code == 101, "\(gone.text)")
        #expect(try await sdk.saveInstallation().status == 201)
    }

    @Test(arguments: IOSSDK.Version.allCases)
    func eventsConfigAndFunctions(_ version: IOSSDK.Version) async throws {
        let sdk = try await IOSSDK.customer(version)
        let at = #""at":{"__type":"Date","iso":"2015-10-08T00:28:56.123Z"}"#
        let nine = (0..<9).map { #""k\#($0)":"v""# }.joined(separator: ",")
        for (name, members) in [
            ("AppOpened", #"\#(at),"push_hash":"5d41402abc4b2a76b9719d911017c592""#), ("AppOpened", at),
            ("Opened%20a%20page", #"\#(at),"dimensions":{"page":"a/b"}"#), ("Many", #"\#(at),"dimensions":{\#(nine)}"#),
            ("_CrashReport", #"\#(at),"breakpadDump":{"crash":"SIGSEGV","minidump":"AAAA"}"#),
        ] {
            let answer = try await sdk.command("POST", "events/\(name)", "{\(members)}")
            #expect(answer.status == 200, "\(name): \(answer.text)")
            #expect(answer.text == "{}", "\(name): \(answer.text)")
        }
        #expect(try await sdk.config().json["params"]?.objectValue != nil)
        #expect(try await sdk.command("POST", "functions/bag", nil).json.at("result", "badgeCount") == 0)
        #expect(try await sdk.command("POST", "functions/bag", "{}").json.at("result", "badgeCount") == 0)
        #expect(try await sdk.command("POST", "functions/unknownHere", nil).code == 141)
        let products = try await sdk.command("GET", "classes/_Product", #"{"order":"order","limit":"100"}"#)
        #expect(products.status == 200, "\(products.text)")
    }

    /// 6.1 sends one request id for all requests until the app is restarted.
    @Test func oneRequestIdForALaunch() async throws {
        let sdk = IOSSDK(try await GatewaySuites.guarded, .new)
        let name = "Once\(Names.random(6))"
        for n in 0..<3 {
            let made = try await sdk.create(name, #""n":\#(n)"#)
            #expect(made.status == 201, "\(made.text)")
        }
        let retried = try await sdk.create(name, #""n":2"#)
        #expect(retried.code == 159, "The same request again is a repetition: \(retried.text)")
        let found = try await sdk.command("GET", "classes/\(name)", #"{"order":"n","limit":"9"}"#)
        #expect(found.results.map { $0["n"] } == [0, 1, 2], "\(found.text)")
    }
}
