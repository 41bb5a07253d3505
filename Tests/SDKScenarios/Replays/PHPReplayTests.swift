import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The requests of the PHP SDK 2.4: real verbs, headers, conditions in the query string, an empty `Expect:`
/// (PARSE_PROTOCOL section 17).
@Suite struct PHPReplayTests {
    private struct SDK: Sendable {
        let wire: Wire
        var session = ""
        var isMaster = false

        init(_ suite: Suite) { wire = Wire(suite: suite, headers: ["User-Agent: parse-php-sdk", "Accept: */*"]) }

        func request(_ method: String, _ path: String, _ body: String = "") async throws -> Wire.Answer {
            var headers = ["X-Parse-Client-Version: php2.4.0", "X-Parse-Application-Id: satchel"]
            headers.append(isMaster ? "X-Parse-Master-Key: \(Suite.masterKey)" : "X-Parse-REST-API-Key: rest")
            if !session.isEmpty { headers.append("X-Parse-Session-Token: \(session)") }
            headers += ["Content-Type: application/json", "Expect: "]
            return try await wire.send("\(method) /parse/\(path)", headers, body)
        }

        /// A query as `http_build_query` writes it.
        func query(_ path: String, _ options: [(String, String)]) async throws -> Wire.Answer {
            let text = options.map { "\(Wire.escaped($0.0))=\(Wire.escaped($0.1))" }.joined(separator: "&")
            return try await request("GET", "\(path)?\(text)")
        }
    }

    @Test func theServerIsAskedAboutItself() async throws {
        var sdk = SDK(try await Suite.shared)
        #expect(try await sdk.request("GET", "health").json["status"] == "ok")
        sdk.isMaster = true
        let info = try await sdk.request("GET", "serverInfo/")
        #expect(info.status == 200, "\(info.text)")
        #expect(info.json.at("features", "globalConfig") != nil, "\(info.text)")
        #expect(info.json.at("replicas", "catalog-1")?.intValue != nil, "\(info.text)")
        let unknown = try await sdk.wire.send("GET /other/health")
        #expect(unknown.status == 404)
    }

    @Test func objectsAreSavedQueriedAndDestroyed() async throws {
        let sdk = SDK(try await Suite.shared)
        let className = "TestObject\(Names.random(6))"
        let saved = try await sdk.request("POST", "classes/\(className)", #"{"foo":"bar","n":1}"#)
        #expect(saved.status == 201, "\(saved.text)")
        let id = saved.json.objectId
        let condition = #"{"foo":{"$eq":"bar"},"n":{"$gte":1,"$ne":5}}"#
        let found = try await sdk.query(
            "classes/\(className)", [("where", condition), ("limit", "1"), ("order", "-n,foo")])
        #expect(found.results.map(\.objectId) == [id], "\(found.text)")
        let counted = try await sdk.query("classes/\(className)", [("limit", "0"), ("count", "1")])
        #expect(counted.json == ["results": [], "count": 1])
        let several = try await sdk.query(
            "classes/\(className)",
            [("where", #"{"$or":[{"foo":"bar"},{"foo":{"$eq":"x"}}]}"#), ("keys", "foo"), ("excludeKeys", "n")])
        #expect(several.results.first?["foo"] == "bar", "\(several.text)")
        #expect(several.results.first?["n"] == nil, "\(several.text)")
        let changed = try await sdk.request(
            "PUT", "classes/\(className)/\(id)", #"{"tags":{"__op":"AddUnique","objects":["a"]}}"#)
        #expect(changed.json["tags"] == ["a"], "\(changed.text)")
        #expect(try await sdk.request("GET", "classes/\(className)/\(id)").json["foo"] == "bar")
        #expect(try await sdk.request("DELETE", "classes/\(className)/\(id)").text == "{}")
        let gone = try await sdk.request("GET", "classes/\(className)/\(id)")
        #expect(gone.status == 404)
        #expect(gone.code == 101)
    }

    /// `saveAll` sends 40 at a time.
    @Test func batchesOfForty() async throws {
        let sdk = SDK(try await Suite.shared)
        let className = "Batch\(Names.random(6))"
        let items = (0..<40).map { #"{"method":"POST","path":"/parse/classes/\#(className)","body":{"n":\#($0)}}"# }
        let saved = try await sdk.request("POST", "batch", #"{"requests":[\#(items.joined(separator: ","))]}"#)
        #expect(saved.json.arrayValue?.count == 40, "\(saved.text)")
        #expect(saved.json.at(39, "success", "createdAt") != nil, "\(saved.text)")
        // libcurl sends long bodies in several pieces.
        let chunked = try await sdk.wire.sendChunked(
            "POST /parse/classes/\(className)",
            ["X-Parse-Application-Id: satchel", "Content-Type: application/json", "Expect: "],
            #"{"n":41,"text":"some more text"}"#)
        #expect(chunked.status == 201, "\(chunked.head) \(chunked.text)")
        let patient = try await sdk.wire.send(
            "POST /parse/classes/\(className)",
            ["X-Parse-Application-Id: satchel", "Content-Type: application/json", "Expect: 100-continue"], #"{"n":42}"#)
        // The server may send 100 Continue first.
        #expect("\(patient.head) \(patient.text)".contains(" 201 "), "\(patient.head)")
    }

    @Test func usersGoThroughTheClass() async throws {
        var sdk = SDK(try await Suite.shared)
        let name = "\(Names.random(8).lowercased())@php.example"
        let created = try await sdk.request("POST", "classes/_User", #"{"username":"\#(name)","password":"secret1"}"#)
        #expect(created.status == 201, "\(created.text)")
        #expect(created.json.text("sessionToken").hasPrefix("r:"), "\(created.text)")
        let id = created.json.objectId
        let login = try await sdk.request("POST", "login", #"{"username":"\#(name)","password":"secret1"}"#)
        #expect(login.json.objectId == id, "\(login.text)")
        sdk.session = login.json.text("sessionToken")
        #expect(try await sdk.request("PUT", "classes/_User/\(id)", #"{"phone":"415"}"#).status == 200)
        #expect(try await sdk.request("GET", "classes/_User/\(id)").json["phone"] == "415")
        #expect(try await sdk.request("GET", "users/me").json.objectId == id)
        #expect(try await sdk.request("GET", "sessions/me").json.at("user", "objectId") == .string(id))
        #expect(try await sdk.request("POST", "logout", "{}").text == "{}")
        sdk.session = ""
        let old = try await sdk.query("login", [("username", name), ("password", "secret1")])
        #expect(old.json.objectId == id, "\(old.text)")
        let authData = #"{"authData":{"anonymous":{"id":"\#(UUID().uuidString.lowercased())"}}}"#
        #expect(try await sdk.request("POST", "users", authData).status == 201)
        #expect(try await sdk.request("POST", "users", authData).status == 200)
        sdk.isMaster = true
        #expect(try await sdk.request("DELETE", "classes/_User/\(id)").text == "{}")
    }

    /// The raw bytes with their type.
    @Test func filesAreRaw() async throws {
        let suite = try await Suite.shared
        var sdk = SDK(suite)
        sdk.isMaster = true
        let headers = [
            "X-Parse-Client-Version: php2.4.0", "X-Parse-Application-Id: satchel",
            "X-Parse-Master-Key: \(Suite.masterKey)", "Content-Type: text/plain", "Expect: ",
        ]
        let saved = try await sdk.wire.send("POST /parse/files/hello.txt", headers, "Fetch me")
        #expect(saved.status == 201, "\(saved.text)")
        let path = URLComponents(string: saved.json.text("url"))?.path ?? ""
        #expect(try await Wire(suite: suite, headers: []).send("GET \(path)").text == "Fetch me")
        #expect(try await sdk.request("DELETE", "files/\(saved.json.text("name"))").text == "{}")
    }

    @Test func theMasterManages() async throws {
        var sdk = SDK(try await Suite.shared)
        sdk.isMaster = true
        let className = "Schema\(Names.random(6))"
        let made = try await sdk.request(
            "POST", "schemas/\(className)", #"{"className":"\#(className)","fields":{"n":{"type":"Number"}}}"#)
        #expect(made.json.at("fields", "n", "type") == "Number", "\(made.text)")
        #expect(made.json["fields"]?.objectValue?.count == 5)
        #expect(try await sdk.request("GET", "schemas/").results.contains { $0["className"] == .string(className) })
        let changed = try await sdk.request("PUT", "schemas/\(className)", #"{"fields":{"n":{"__op":"Delete"}}}"#)
        #expect(changed.json["fields"]?.objectValue?.count == 4, "\(changed.text)")
        #expect(try await sdk.request("DELETE", "schemas/\(className)").text == "{}")
        #expect(try await sdk.request("PUT", "config", #"{"params":{"php":1}}"#).json == ["result": true])
        #expect(try await sdk.request("GET", "config").json.at("params", "php") == 1)
        #expect(try await sdk.request("POST", "events/AppOpened", "{}").text == "{}")
        let audience = try await sdk.request(
            "POST", "classes/_Audience", #"{"name":"\#(className)","query":"{\"a\":1}"}"#)
        #expect(audience.status == 201, "\(audience.text)")
        let push = #"{"where":{"deviceType":"none"},"data":{"alert":"hi"},"audience_id":"\#(audience.json.objectId)"}"#
        #expect(try await sdk.request("POST", "push", push).json == ["result": true])
        let used = try await sdk.request("GET", "classes/_Audience/\(audience.json.objectId)")
        #expect(used.json["timesUsed"] == 1, "\(used.text)")
        #expect(try await sdk.request("DELETE", "classes/_Audience/\(audience.json.objectId)").text == "{}")
        let role = #"{"name":"php \#(className)","ACL":{"*":{"read":true}}}"#
        #expect(try await sdk.request("POST", "roles", role).status == 201)
        let device = #"{"deviceType":"android","installationId":"\#(className)"}"#
        #expect(try await sdk.request("POST", "classes/_Installation", device).status == 201)
    }

    /// Hooks are deleted by PUT; lists are bare arrays.
    @Test func hooksJobsAndLogs() async throws {
        var sdk = SDK(try await Suite.shared)
        sdk.isMaster = true
        let name = "php\(Names.random(8))"
        let url = "https://hooks.shop.example/f"
        let function = #"{"functionName":"\#(name)","url":"\#(url)"}"#
        #expect(try await sdk.request("POST", "hooks/functions", function).json["url"] == .string(url))
        #expect(try await sdk.request("GET", "hooks/functions/\(name)").json["functionName"] == .string(name))
        let list = try await sdk.request("GET", "hooks/functions").json.arrayValue ?? []
        #expect(list.contains { $0["functionName"] == .string(name) })
        let changed = try await sdk.request("PUT", "hooks/functions/\(name)", #"{"url":"\#(url)/2"}"#)
        #expect(changed.json["url"] == .string("\(url)/2"), "\(changed.text)")
        #expect(try await sdk.request("PUT", "hooks/functions/\(name)", #"{"__op":"Delete"}"#).text == "{}")
        let gone = try await sdk.request("GET", "hooks/functions/\(name)")
        #expect(gone.code == 143, "\(gone.text)")
        #expect(gone.json["error"] == .string("no function named: \(name) is defined"), "\(gone.text)")
        let trigger = #"{"className":"\#(name)","triggerName":"beforeSave","url":"\#(url)"}"#
        #expect(try await sdk.request("POST", "hooks/triggers", trigger).json["triggerName"] == "beforeSave")
        #expect(try await sdk.request("GET", "hooks/triggers/\(name)/beforeSave").json["url"] == .string(url))
        #expect(try await sdk.request("PUT", "hooks/triggers/\(name)/beforeSave", #"{"__op":"Delete"}"#).text == "{}")
        let job = try await sdk.request("POST", "jobs/nothing", "{}")
        #expect(job.code == 141, "\(job.text)")
        #expect(job.json["error"] == "Invalid job.", "\(job.text)")
        let jobs = try await sdk.request("GET", "cloud_code/jobs/data")
        #expect(jobs.json["jobs"]?.arrayValue != nil, "\(jobs.text)")
        #expect(jobs.json["in_use"]?.arrayValue != nil, "\(jobs.text)")
        let log = try await sdk.request("GET", "scriptlog/?level=info&size=3&order=desc")
        #expect(log.status == 200, "\(log.text)")
        #expect(log.json.arrayValue != nil, "\(log.text)")
    }
}
