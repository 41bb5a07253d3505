import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// What the JavaScript, PHP and Swift SDKs put on the wire, replayed (PARSE_PROTOCOL section 17).
@Suite struct ClientReplayTests {
    /// Every call is POST with text/plain and credentials in the body.
    @Test func javaScript() async throws {
        let suite = try await Suite.shared
        let plain = ParseClient(suite)
        func post(_ path: String, _ body: String) async throws -> ParseClient.Answer {
            try await plain.send(
                .POST, path, headers: [("Content-Type", "text/plain"), ("Origin", "http://shop.example")],
                body: Array(body.utf8))
        }
        let keys =
            #""_ApplicationId":"satchel","_JavaScriptKey":"js","_ClientVersion":"js5.3.0","_InstallationId":"\#(Names.random(8))""#
        let className = "GameScore\(Names.random(6))"
        let name = "\(Names.random(8))@js.example"

        let saved = try await post("/classes/\(className)", #"{"score":1337,"_method":"POST",\#(keys)}"#)
        #expect(saved.status == 201, "\(saved.text)")
        let stored = try await post("/classes/\(className)/\(saved.objectId)", #"{"_method":"GET",\#(keys)}"#)
        #expect(Set(stored.json.objectValue?.keys.map { $0 } ?? []) == ["objectId", "createdAt", "updatedAt", "score"])
        let found = try await post(
            "/classes/\(className)",
            #"{"where":{"score":{"$gt":5}},"limit":10,"order":"-score","_method":"GET",\#(keys)}"#)
        #expect(found.results.map { $0["score"] } == [1337], "\(found.text)")
        let counted = try await post(
            "/classes/\(className)", #"{"where":{},"limit":0,"count":1,"_method":"GET",\#(keys)}"#)
        #expect(counted["count"] == 1)
        let changed = try await post(
            "/classes/\(className)/\(saved.objectId)",
            #"{"score":{"__op":"Increment","amount":1},"_method":"PUT",\#(keys)}"#)
        #expect(changed["score"] == 1338, "\(changed.text)")
        let batch = try await post(
            "/batch",
            #"{"requests":[{"method":"POST","path":"/parse/classes/\#(className)","body":{"score":2}}],"_method":"POST",\#(keys)}"#
        )
        #expect(batch.json.at(0, "success", "objectId") != nil, "\(batch.text)")

        let user = try await post("/users", #"{"username":"\#(name)","password":"secret1","_method":"POST",\#(keys)}"#)
        #expect(user.status == 201, "\(user.text)")
        let login = try await post("/login", #"{"username":"\#(name)","password":"secret1","_method":"POST",\#(keys)}"#)
        let session = #""_SessionToken":"\#(login.json.text("sessionToken"))""#
        let me = try await post("/users/me", #"{"_method":"GET",\#(session),\#(keys)}"#)
        #expect(me.objectId == user.objectId, "\(me.text)")
        let function = try await post("/functions/bag", #"{\#(session),"_method":"POST",\#(keys)}"#)
        #expect(function.result["badgeCount"] == 0, "\(function.text)")
        #expect(try await post("/logout", #"{\#(session),"_method":"POST",\#(keys)}"#).json == [:])
        let removed = try await post("/classes/\(className)/\(saved.objectId)", #"{"_method":"DELETE",\#(keys)}"#)
        #expect(removed.json == [:])
        let refused = try await post("/classes/\(className)", #"{"_method":"GET","_ApplicationId":"other"}"#)
        #expect(refused.status == 403)
    }

    /// Real verbs, headers, conditions in the query string; trailing slashes; users through classes/_User.
    @Test func php() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let headers = [
            ("X-Parse-Client-Version", "php2.4.0"), ("X-Parse-Application-Id", "satchel"),
            ("X-Parse-REST-API-Key", "rest"), ("Content-Type", "application/json"), ("Expect", ""),
        ]
        func send(
            _ method: HTTPMethod, _ path: String, _ body: String? = nil, _ more: [(String, String)] = []
        ) async throws -> ParseClient.Answer {
            try await client.send(method, path, headers: headers + more, body: body.map { Array($0.utf8) })
        }
        let className = "TestObject\(Names.random(6))"
        let master = [("X-Parse-Master-Key", Suite.masterKey)]
        #expect(try await send(.GET, "/serverInfo/", nil, master).status == 200)
        #expect(try await send(.GET, "/health").status == 200)
        let saved = try await send(.POST, "/classes/\(className)", #"{"foo":"bar","n":1}"#)
        #expect(saved.status == 201, "\(saved.text)")
        let query = ParseClient.queryText(["where": ["foo": ["$eq": "bar"], "n": ["$gte": 1]], "limit": 1])
        let found = try await send(.GET, "/classes/\(className)?\(query)")
        #expect(found.results.map(\.objectId) == [saved.objectId], "\(found.text)")
        let counted = try await send(.GET, "/classes/\(className)?limit=0&count=1")
        #expect(counted["count"] == 1)

        let name = "\(Names.random(8))@php.example"
        let user = try await send(.POST, "/classes/_User", #"{"username":"\#(name)","password":"secret1"}"#)
        #expect(user.status == 201 && user["sessionToken"] != nil, "\(user.text)")
        let session = [("X-Parse-Session-Token", user.json.text("sessionToken"))]
        let changed = try await send(.PUT, "/classes/_User/\(user.objectId)", #"{"phone":"415"}"#, session)
        #expect(changed.status == 200, "\(changed.text)")
        #expect(try await send(.GET, "/users/me", nil, session)["phone"] == "415")
        let login = ParseClient.queryText(["username": .string(name), "password": "secret1"])
        #expect(try await send(.GET, "/login?\(login)").objectId == user.objectId)
        let authData = #"{"authData":{"anonymous":{"id":"\#(Names.random(16).lowercased())"}}}"#
        let first = try await send(.POST, "/users", authData)
        let again = try await send(.POST, "/users", authData)
        #expect(first.status == 201 && again.status == 200 && again.objectId == first.objectId)
        #expect(try await send(.DELETE, "/classes/\(className)/\(saved.objectId)").json == [:])
    }

    /// Headers with a client key and a request id, always limit and skip; queries by POST on demand.
    @Test func swift() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let headers = [
            ("X-Parse-Application-Id", "satchel"), ("X-Parse-Client-Key", "key"),
            ("X-Parse-Client-Version", "swift6.1.0"), ("X-Parse-Installation-Id", Names.random(12).lowercased()),
            ("Content-Type", "application/json"),
        ]
        func send(_ method: HTTPMethod, _ path: String, _ body: String? = nil) async throws -> ParseClient.Answer {
            try await client.send(
                method, path, headers: headers + [("X-Parse-Request-Id", Names.random(20))],
                body: body.map { Array($0.utf8) })
        }
        let className = "Point\(Names.random(6))"
        let saved = try await send(
            .POST, "/classes/\(className)", #"{"score":1.5,"at":{"__type":"Date","iso":"2022-01-01T12:23:45.678Z"}}"#)
        #expect(saved.status == 201, "\(saved.text)")
        let byURL = try await send(
            .GET, "/classes/\(className)?limit=100&skip=0&where=%7B%22score%22%3A%7B%22%24gt%22%3A1%7D%7D")
        #expect(byURL.results.count == 1, "\(byURL.text)")
        let byPost = try await send(
            .POST, "/classes/\(className)", #"{"_method":"GET","limit":100,"skip":0,"where":{"score":{"$gt":1}}}"#)
        #expect(byPost.status == 200 && byPost.results.count == 1, "\(byPost.text)")
        let batch = try await send(
            .POST, "/batch",
            #"{"requests":[{"method":"PUT","path":"/parse/classes/\#(className)/\#(saved.objectId)","body":{"score":2}}],"transaction":false}"#
        )
        #expect(batch.json.at(0, "success", "updatedAt") != nil, "\(batch.text)")
        let installation = try await send(.POST, "/installations", #"{"deviceType":"ios","channels":["all"]}"#)
        #expect(installation.status == 201, "\(installation.text)")
        let login = try await send(.POST, "/users", #"{"username":"\#(Names.random(9))","password":"secret1"}"#)
        #expect(login["sessionToken"] != nil, "\(login.text)")
    }

    /// The path that hosted Parse had.
    @Test func theHostedPathWorksToo() async throws {
        var client = ParseClient(try await Suite.shared)
        client.url = client.url.replacingOccurrences(of: "/parse", with: "/1")
        let created = try await client.create("Hosted\(Names.random(6))", ["a": 1])
        #expect(created.status == 201, "\(created.text)")
    }
}
