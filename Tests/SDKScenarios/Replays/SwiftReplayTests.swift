import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The requests of the Swift SDK 6.1: a client key, request ids on writes, always limit and skip (PARSE_PROTOCOL
/// section 17).
@Suite struct SwiftReplayTests {
    private struct SDK: Sendable {
        let wire: Wire
        var session = ""
        let installation = UUID().uuidString.lowercased()

        init(_ suite: Suite) {
            wire = Wire(
                suite: suite, headers: ["Accept: */*", "Accept-Language: en-US,en;q=0.9", "User-Agent: Shop/1"])
        }

        func request(
            _ method: String, _ path: String, _ body: String = "", id: String? = nil
        ) async throws -> Wire.Answer {
            var headers = [
                "X-Parse-Application-Id: satchel", "X-Parse-Client-Key: client", "X-Parse-Client-Version: swift6.1.0",
                "X-Parse-Installation-Id: \(installation)", "X-Parse-Revocable-Session: 1",
            ]
            if !session.isEmpty { headers.append("X-Parse-Session-Token: \(session)") }
            if method != "GET" { headers.append("X-Parse-Request-Id: \(id ?? UUID().uuidString.lowercased())") }
            if !body.isEmpty { headers.append("Content-Type: application/json") }
            return try await wire.send("\(method) /parse/\(path)", headers, body)
        }
    }

    @Test func objectsAndQueries() async throws {
        let sdk = SDK(try await Suite.shared)
        let className = "Point\(Names.random(6))"
        let saved = try await sdk.request(
            "POST", "classes/\(className)",
            #"""
            {"score":1.5,"at":{"__type":"Date","iso":"2022-01-01T12:23:45.678Z"},"ACL":{"*":{"read":true,"write":true}}}
            """#
        )
        #expect(saved.status == 201, "\(saved.text)")
        #expect(saved.json["createdAt"] != nil, "\(saved.text)")
        let path = "classes/\(className)"
        let one = try await sdk.request("GET", "\(path)/\(saved.json.objectId)")
        #expect(one.json.at("at", "iso") == "2022-01-01T12:23:45.678Z")
        #expect(one.json.at("ACL", "*", "read") == true)
        let included = try await sdk.request("GET", "\(path)/\(saved.json.objectId)?include=%5B%22*%22%5D")
        #expect(included.status == 200, "\(included.text)")
        let condition = Wire.escaped(#"{"score":{"$gt":1}}"#)
        let found = try await sdk.request(
            "GET", "\(path)?limit=100&skip=0&where=\(condition)&order=score&keys=%5B%22score%22%5D")
        #expect(found.results.map { $0["score"] } == [1.5], "\(found.text)")
        let byPost = try await sdk.request(
            "POST", path, #"{"_method":"GET","limit":100,"skip":0,"where":{"score":{"$gt":1}}}"#)
        #expect(byPost.status == 200, "\(byPost.text)")
        #expect(byPost.results.count == 1, "\(byPost.text)")
        let first = try await sdk.request("GET", "\(path)?limit=1&skip=0&where=%7B%7D")
        #expect(first.results.count == 1)
        let counted = try await sdk.request("GET", "\(path)?count=1&limit=0&skip=0&where=%7B%7D")
        #expect(counted.json["count"] == 1, "\(counted.text)")
        #expect(counted.results.isEmpty, "\(counted.text)")
        let changed = try await sdk.request(
            "PUT", "\(path)/\(saved.json.objectId)", #"{"score":{"__op":"Increment","amount":1}}"#)
        #expect(changed.json["score"] == 2.5, "\(changed.text)")
        // By default, a PUT with an id chosen by the app creates no object: the answer is 404.
        let upsert = try await sdk.request("PUT", "\(path)/ownId12345", #"{"score":1}"#)
        #expect(upsert.status == 404, "\(upsert.text)")
        #expect(upsert.code == 101, "\(upsert.text)")
        #expect(try await sdk.request("DELETE", "\(path)/\(saved.json.objectId)").text == "{}")
    }

    /// `saveAll` sends 50 at a time, with and without a transaction.
    @Test func batchesOfFifty() async throws {
        let sdk = SDK(try await Suite.shared)
        let className = "Batch\(Names.random(6))"
        for transaction in ["false", "true"] {
            let items = (0..<50).map {
                #"{"body":{"n":\#($0)},"method":"POST","path":"\/parse\/classes\/\#(className)"}"#
            }
            let saved = try await sdk.request(
                "POST", "batch", #"{"requests":[\#(items.joined(separator: ","))],"transaction":\#(transaction)}"#)
            #expect(saved.json.arrayValue?.count == 50, "\(saved.text)")
            #expect(saved.json.at(49, "success", "objectId") != nil, "\(saved.text)")
        }
        let all = try await sdk.request("GET", "classes/\(className)?limit=0&skip=0&count=1")
        #expect(all.json["count"] == 100)
    }

    @Test func usersDevicesAndConfig() async throws {
        var sdk = SDK(try await Suite.shared)
        #expect(try await sdk.request("POST", "health").json["status"] == "ok")
        let name = Names.random(9).lowercased()
        let created = try await sdk.request("POST", "users", #"{"username":"\#(name)","password":"secret1"}"#)
        #expect(created.status == 201, "\(created.text)")
        #expect(created.json["sessionToken"] != nil, "\(created.text)")
        let login = try await sdk.request("POST", "login", #"{"username":"\#(name)","password":"secret1"}"#)
        sdk.session = login.json.text("sessionToken")
        #expect(try await sdk.request("GET", "users/me").json.objectId == created.json.objectId)
        let session = try await sdk.request("GET", "sessions/me")
        #expect(session.json["installationId"] == .string(sdk.installation), "\(session.text)")
        #expect(try await sdk.request("POST", "upgradeToRevocableSession").status == 200)
        let verified = try await sdk.request("POST", "verifyPassword", #"{"username":"\#(name)","password":"secret1"}"#)
        #expect(verified.json.objectId == created.json.objectId, "\(verified.text)")
        let device = try await sdk.request(
            "POST", "installations",
            #"{"deviceType":"ios","installationId":"\#(sdk.installation)","channels":["all"],"badge":0}"#)
        #expect(device.status == 201, "\(device.text)")
        let changed = try await sdk.request(
            "PUT", "installations/\(device.json.objectId)", #"{"channels":{"__op":"AddUnique","objects":["news"]}}"#)
        #expect(changed.json["channels"] == ["all", "news"], "\(changed.text)")
        #expect(try await sdk.request("GET", "config").json["params"] != nil)
        #expect(
            try await sdk.request(
                "POST", "events/AppOpened", #"{"at":{"__type":"Date","iso":"2022-01-01T12:23:45.678Z"}}"#
            ).text == "{}")
        #expect(try await sdk.request("POST", "functions/bag", "{}").json.at("result", "badgeCount") == 0)
        let headers = [
            "X-Parse-Application-Id: satchel", "X-Parse-Session-Token: \(sdk.session)", "Content-Type: text/plain",
        ]
        let file = try await sdk.wire.send("POST /parse/files/note.txt", headers, "a note")
        #expect(file.status == 201, "\(file.text)")
        #expect(try await sdk.request("POST", "logout").text == "{}")
    }

    /// The server refuses a repeated request id on configured paths. The SDK treats that as the success of the first
    /// request.
    @Test func aRepeatedRequestIdRunsOnce() async throws {
        try await Suite.with(settings: ["SATCHEL_IDEMPOTENCY_PATHS": "classes/.*", "SATCHEL_CLIENT_KEY": "client"]) {
            suite in
            let sdk = SDK(suite)
            let id = UUID().uuidString.lowercased()
            let first = try await sdk.request("POST", "classes/Once", #"{"n":1}"#, id: id)
            let second = try await sdk.request("POST", "classes/Once", #"{"n":1}"#, id: id)
            #expect(first.status == 201, "\(first.text)")
            #expect(second.code == 159, "\(second.text)")
            #expect(second.status == 400, "\(second.text)")
            #expect(try await sdk.request("GET", "classes/Once?limit=100&skip=0").results.count == 1)
            let keyless = try await Wire(suite: suite, headers: []).send(
                "GET /parse/classes/Once", ["X-Parse-Application-Id: satchel"])
            #expect(keyless.status == 403)
        }
    }
}
