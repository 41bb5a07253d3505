import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The requests of the JavaScript SDK 5.3: every call is a POST of text/plain, with verb, credentials and options in
/// one JSON body (PARSE_PROTOCOL sections 1.2 and 17).
@Suite struct JavaScriptReplayTests {
    private struct SDK: Sendable {
        let wire: Wire
        var session = ""
        var isMaster = false
        let installation = UUID().uuidString.lowercased()

        init(_ suite: Suite) {
            wire = Wire(
                suite: suite,
                headers: ["User-Agent: node-XMLHttpRequest", "Accept: */*", "Content-Type: text/plain"])
        }

        /// `RESTController.request`: the members in the order in which the SDK adds them.
        func request(_ method: String, _ path: String, _ members: String = "") async throws -> Wire.Answer {
            var body = members.isEmpty ? [] : [members]
            if method != "POST" { body.append(#""_method":"\#(method)""#) }
            body.append(#""_ApplicationId":"satchel""#)
            body.append(isMaster ? #""_MasterKey":"\#(Suite.masterKey)""# : #""_JavaScriptKey":"js""#)
            body.append(#""_ClientVersion":"js5.3.0""#)
            body.append(#""_InstallationId":"\#(installation)""#)
            if !session.isEmpty { body.append(#""_SessionToken":"\#(session)""#) }
            return try await wire.send("POST /parse/\(path)", [], "{\(body.joined(separator: ","))}")
        }
    }

    @Test func objectsAreSavedFetchedFoundAndDestroyed() async throws {
        let sdk = SDK(try await Suite.shared)
        let className = "GameScore\(Names.random(6))"
        let path = "classes/\(className)"
        let saved = try await sdk.request("POST", path, #""score":1337,"cheatMode":false"#)
        let id = saved.json.objectId
        #expect(saved.status == 201, "\(saved.text)")
        #expect(!id.isEmpty, "\(saved.text)")
        #expect(saved.header("Location") == "\(sdk.wire.suite.url)/\(path)/\(id)")
        #expect(saved.header("Access-Control-Allow-Origin") == "*")
        let fetched = try await sdk.request("GET", "\(path)/\(id)")
        #expect(
            Set(fetched.json.objectValue?.keys.map(\.self) ?? []) == [
                "objectId", "createdAt", "updatedAt", "score", "cheatMode",
            ])
        let changed = try await sdk.request("PUT", "\(path)/\(id)", #""score":{"__op":"Increment","amount":1}"#)
        #expect(changed.json["score"] == 1338, "\(changed.text)")
        #expect(changed.json["updatedAt"] != nil, "\(changed.text)")
        let found = try await sdk.request(
            "GET", path,
            #""where":{"score":{"$gt":5}},"keys":"score","include":"owner","limit":10,"skip":0,"order":"-score""#)
        #expect(found.results.map { $0["score"] } == [1338], "\(found.text)")
        #expect(found.results.first?["cheatMode"] == nil)
        let counted = try await sdk.request("GET", path, #""where":{},"limit":0,"count":1"#)
        #expect(counted.json == ["results": [], "count": 1])
        let lists = try await sdk.request("GET", path, #""where":{},"keys":["score"],"excludeKeys":["cheatMode"]"#)
        #expect(lists.results.first?["score"] == 1338)
        let removed = try await sdk.request("DELETE", "\(path)/\(id)")
        #expect(removed.status == 200)
        #expect(removed.text == "{}")
        let gone = try await sdk.request("GET", "\(path)/\(id)")
        #expect(gone.status == 404)
        #expect(gone.text == #"{"code":101,"error":"Object not found."}"#)
    }

    /// `saveAll` in batches of 20, `destroyAll`, and `saveAll` with `transaction`.
    @Test func batchesOfTwenty() async throws {
        let sdk = SDK(try await Suite.shared)
        let className = "Batch\(Names.random(6))"
        func items(_ range: Range<Int>) -> String {
            range.map { #"{"method":"POST","body":{"n":\#($0)},"path":"/parse/classes/\#(className)"}"# }.joined(
                separator: ",")
        }
        for start in [0, 20] {
            let saved = try await sdk.request("POST", "batch", #""requests":[\#(items(start..<start + 20))]"#)
            #expect(saved.json.arrayValue?.count == 20, "\(saved.text)")
            #expect(saved.json.at(19, "success", "objectId") != nil, "\(saved.text)")
        }
        let atomic = try await sdk.request("POST", "batch", #""requests":[\#(items(40..<42))],"transaction":true"#)
        #expect(atomic.json.at(1, "success", "objectId") != nil, "\(atomic.text)")
        let bad = #"{"method":"POST","body":{"n":"text"},"path":"/parse/classes/\#(className)"}"#
        let refused = try await sdk.request(
            "POST", "batch", #""requests":[\#(items(50..<51)),\#(bad)],"transaction":true"#)
        #expect(refused.status >= 400, "\(refused.text)")
        #expect(refused.json["code"] != nil, "\(refused.text)")
        let all = try await sdk.request("GET", "classes/\(className)", #""where":{},"limit":100"#)
        #expect(all.results.count == 42, "The failed transaction left nothing.")
        let ids = all.results.prefix(2).map(\.objectId)
        let removals = ids.map { #"{"method":"DELETE","path":"/parse/classes/\#(className)/\#($0)","body":{}}"# }
        let removed = try await sdk.request("POST", "batch", #""requests":[\#(removals.joined(separator: ","))]"#)
        #expect(removed.json == [["success": [:]], ["success": [:]]], "\(removed.text)")
    }

    /// `Parse.serverURL` is the outer URL, whose path occurs in batches; a proxy strips its prefix from the request's
    /// path.
    @Test func batchesBehindAProxy() async throws {
        let sdk = SDK(try await ClientSuites.proxied.suite)
        let className = "Proxy\(Names.random(6))"
        let path = "/api/v2/parse/classes/\(className)"
        let items = (0..<20).map { #"{"method":"POST","body":{"n":\#($0)},"path":"\#(path)"}"# }
        let saved = try await sdk.request("POST", "batch", #""requests":[\#(items.joined(separator: ","))]"#)
        let ids = (saved.json.arrayValue ?? []).compactMap { $0.at("success", "objectId")?.stringValue }
        try #require(ids.count == 20, "\(saved.text)")
        let more = #"{"method":"POST","body":{"n":20},"path":"\#(path)"}"#
        let atomic = try await sdk.request("POST", "batch", #""requests":[\#(more)],"transaction":true"#)
        #expect(atomic.json.at(0, "success", "objectId") != nil, "\(atomic.text)")
        let removal = #"{"method":"DELETE","path":"\#(path)/\#(ids[0])","body":{}}"#
        let removed = try await sdk.request("POST", "batch", #""requests":[\#(removal)]"#)
        #expect(removed.json == [["success": [:]]], "\(removed.text)")
        let left = try await sdk.request("GET", "classes/\(className)", #""where":{},"limit":0,"count":1"#)
        #expect(left.json == ["results": [], "count": 20], "\(left.text)")
    }

    @Test func usersSignUpInAndOut() async throws {
        var sdk = SDK(try await Suite.shared)
        let name = "\(Names.random(8).lowercased())@js.example"
        let revocable = #""_RevocableSession":"1""#
        let created = try await sdk.request(
            "POST", "users", #""username":"\#(name)","password":"secret1",\#(revocable)"#)
        #expect(created.status == 201, "\(created.text)")
        #expect(created.json.text("sessionToken").hasPrefix("r:"), "\(created.text)")
        let login = try await sdk.request("POST", "login", #""username":"\#(name)","password":"secret1",\#(revocable)"#)
        #expect(login.status == 200, "\(login.text)")
        #expect(login.json.objectId == created.json.objectId, "\(login.text)")
        sdk.session = login.json.text("sessionToken")
        let session = try await sdk.request("GET", "sessions/me")
        #expect(session.json["installationId"] == .string(sdk.installation), "\(session.text)")
        #expect(try await sdk.request("GET", "users/me").json.objectId == created.json.objectId)
        let saved = try await sdk.request("PUT", "users/\(created.json.objectId)", #""phone":"415""#)
        #expect(saved.status == 200, "\(saved.text)")
        let found = try await sdk.request(
            "GET", "users", #""where":{"objectId":"\#(created.json.objectId)"},"limit":1"#)
        #expect(found.results.map { $0["phone"] } == ["415"], "\(found.text)")
        #expect(try await sdk.request("POST", "functions/bag").json.at("result", "badgeCount") == 0)
        #expect(try await sdk.request("POST", "requestPasswordReset", #""email":"\#(name)""#).text == "{}")
        let ended = sdk.session
        #expect(try await sdk.request("POST", "logout").text == "{}")
        let late = try await sdk.request("GET", "users/me")
        #expect(late.status == 400, "\(late.text)")
        #expect(late.code == 209, "\(late.text)")
        // A sign-in succeeds although the request contains a void session.
        sdk.session = ended
        let again = try await sdk.request("POST", "login", #""username":"\#(name)","password":"secret1""#)
        #expect(again.status == 200, "\(again.text)")
        sdk.session = ""
        let anonymous = #""authData":{"anonymous":{"id":"\#(UUID().uuidString.lowercased())"}}"#
        #expect(try await sdk.request("POST", "users", anonymous).status == 201)
        #expect(try await sdk.request("POST", "users", anonymous).status == 200)
    }

    /// A file is JSON with base64 content, with its type next to the credentials.
    @Test func filesTravelAsJSON() async throws {
        let suite = try await Suite.shared
        var sdk = SDK(suite)
        sdk.session = try await Customer.signUp(suite).client.sessionToken ?? ""
        let content = Data("hello".utf8).base64EncodedString()
        let file = #""base64":"\#(content)","fileData":{"metadata":{"a":"b"},"tags":{}},"_ContentType":"text/plain""#
        let saved = try await sdk.request("POST", "files/hello.txt", file)
        #expect(saved.status == 201, "\(saved.text)")
        #expect(saved.json.text("name").hasSuffix("_hello.txt"), "\(saved.text)")
        #expect(saved.header("Location") == saved.json.text("url"))
        let path = URLComponents(string: saved.json.text("url"))?.path ?? ""
        let plain = Wire(suite: suite, headers: [])
        let read = try await plain.send("GET \(path)")
        #expect(read.status == 200, "\(read.head)")
        #expect(read.text == "hello", "\(read.head)")
        #expect(read.header("Content-Type")?.hasPrefix("text/plain") == true, "\(read.head)")
        let name = saved.json.text("name")
        #expect(try await plain.send("GET /parse/files/satchel/metadata/\(name)").json.at("metadata", "a") == "b")
        let className = "Filed\(Names.random(6))"
        let pointer = #"{"__type":"File","name":"\#(name)","url":"\#(saved.json.text("url"))"}"#
        let object = try await sdk.request("POST", "classes/\(className)", #""file":\#(pointer)"#)
        let fetched = try await sdk.request("GET", "classes/\(className)/\(object.json.objectId)")
        #expect(fetched.json.at("file", "url") == saved.json["url"], "\(fetched.text)")
        sdk.session = ""
        sdk.isMaster = true
        #expect(try await sdk.request("DELETE", "files/\(name)").text == "{}")
        #expect(try await plain.send("GET \(path)").status == 404)
    }

    /// Sub-queries and relations as `Parse.Query.toJSON` writes them.
    @Test func subQueriesAndRelations() async throws {
        let sdk = SDK(try await Suite.shared)
        let (post, comment) = ("Post\(Names.random(6))", "Comment\(Names.random(6))")
        let saved = try await sdk.request("POST", "classes/\(post)", #""title":"first","rank":1"#)
        let pointer = #"{"__type":"Pointer","className":"\#(post)","objectId":"\#(saved.json.objectId)"}"#
        let relation = #"{"__op":"AddRelation","objects":[\#(pointer)]}"#
        let one = try await sdk.request(
            "POST", "classes/\(comment)", #""post":\#(pointer),"rank":1,"likes":\#(relation)"#)
        #expect(one.status == 201, "\(one.text)")
        let whole = #"{"where":{"title":"first"},"className":"\#(post)"}"#
        for (condition, count) in [
            (#"{"post":{"$inQuery":\#(whole)}}"#, 1), (#"{"post":{"$notInQuery":\#(whole)}}"#, 0),
            (#"{"rank":{"$select":{"key":"rank","query":\#(whole)}}}"#, 1),
            (#"{"rank":{"$dontSelect":{"key":"rank","query":\#(whole)}}}"#, 0),
            (#"{"$or":[{"rank":1},{"rank":2}]}"#, 1), (#"{"post":\#(pointer)}"#, 1), (#"{"likes":\#(pointer)}"#, 1),
        ] {
            let found = try await sdk.request("GET", "classes/\(comment)", #""where":\#(condition),"include":"post""#)
            #expect(found.status == 200, "\(condition): \(found.text)")
            #expect(found.results.count == count, "\(condition): \(found.text)")
        }
        let owner = #"{"__type":"Pointer","className":"\#(comment)","objectId":"\#(one.json.objectId)"}"#
        let members = try await sdk.request(
            "GET", "classes/\(post)", #""where":{"$relatedTo":{"object":\#(owner),"key":"likes"}}"#)
        #expect(members.results.map(\.objectId) == [saved.json.objectId], "\(members.text)")
    }

    @Test func configEventsAndManagement() async throws {
        var sdk = SDK(try await Suite.shared)
        #expect(try await sdk.request("GET", "config").json["params"]?.objectValue != nil)
        #expect(try await sdk.request("POST", "events/Search", #""dimensions":{"term":"tea"}"#).text == "{}")
        #expect(try await sdk.request("GET", "health").json["status"] == "ok")
        let refused = try await sdk.request("GET", "schemas/")
        #expect(refused.status == 403)
        #expect(refused.json["error"] == "unauthorized: master key is required", "\(refused.text)")
        sdk.isMaster = true
        let parameter = "js\(Names.random(6))"
        let changed = try await sdk.request(
            "PUT", "config", #""params":{"\#(parameter)":7},"masterKeyOnly":{"\#(parameter)":true}"#)
        #expect(changed.json == ["result": true], "\(changed.text)")
        #expect(try await sdk.request("GET", "config").json.at("params", .member(parameter)) == 7)
        let className = "Schema\(Names.random(6))"
        let schema = #""className":"\#(className)","fields":{"n":{"type":"Number"}},"indexes":{}"#
        #expect(try await sdk.request("POST", "schemas/\(className)", schema).json["className"] == .string(className))
        let schemas = try await sdk.request("GET", "schemas/")
        #expect(schemas.results.contains { $0["className"] == .string(className) })
        #expect(try await sdk.request("DELETE", "purge/\(className)").text == "{}")
        #expect(try await sdk.request("DELETE", "schemas/\(className)").text == "{}")
        let push = try await sdk.request("POST", "push", #""channels":["nobody\#(className)"],"data":{"alert":"hi"}"#)
        #expect(push.json == ["result": true], "\(push.head)")
        #expect(push.header("X-Parse-Push-Status-Id") != nil, "\(push.head)")
        let hook = #""functionName":"js\#(className)","url":"https://hooks.shop.example/f""#
        #expect(try await sdk.request("POST", "hooks/functions", hook).json["url"] == "https://hooks.shop.example/f")
        #expect(try await sdk.request("PUT", "hooks/functions/js\(className)", #""__op":"Delete""#).text == "{}")
        #expect(try await sdk.request("GET", "cloud_code/jobs/data").json["jobs"]?.arrayValue != nil)
        let status = try await sdk.request("GET", "classes/_PushStatus", #""where":{},"limit":1"#)
        #expect(status.results.count == 1, "\(status.text)")
    }

    /// The server's answers to a wrong application id, a malformed body and a LiveQuery request.
    @Test func refusalsAreThoseTheSDKKnows() async throws {
        let sdk = SDK(try await Suite.shared)
        let other = try await sdk.wire.send("POST /parse/classes/A", [], #"{"_method":"GET","_ApplicationId":"other"}"#)
        #expect(other.status == 403)
        #expect(other.json["error"] == "unauthorized", "\(other.text)")
        let broken = try await sdk.wire.send("POST /parse/classes/A", [], #"{"_method":"GET""#)
        #expect(broken.status == 400, "\(broken.text)")
        #expect(broken.json["error"] != nil, "\(broken.text)")
        let upgrade = try await Wire(suite: sdk.wire.suite, headers: []).send(
            "GET /parse",
            ["Upgrade: websocket", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13"])
        #expect(upgrade.status == 403 || upgrade.status == 404, "LiveQuery is not offered: \(upgrade.head)")
    }
}
