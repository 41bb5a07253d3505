import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Strings with thousands of combining marks on one letter, which Swift takes seconds to hash, at each entry point of
/// the suite. All are refused, and other clients are not delayed.
@Suite(.timeLimit(.minutes(5))) struct CombiningMarkTests {
    /// 80,000 marks in an order that normalization has to sort.
    private static let marks = {
        var text = String.UnicodeScalarView()
        var seed: UInt32 = 1
        for _ in 0..<80_000 {
            seed = seed &* 1_664_525 &+ 1_013_904_223
            text.append((["\u{301}", "\u{316}", "\u{328}", "\u{345}"] as [Unicode.Scalar])[Int(seed >> 30)])
        }
        return "a" + String(text)
    }()
    private static let short = String(String.UnicodeScalarView(marks.unicodeScalars.prefix(1200)))
    private static let escaped = short.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""

    /// A request that must be refused.
    private struct Door: Sendable {
        var name: String
        var method = HTTPMethod.POST
        var path: String
        var type = "application/json"
        var headers: [(String, String)] = []
        var body: [UInt8]?
        /// Whether it is a page of the storefront, which says so in HTML.
        var isPage = false
    }

    /// A body with the marks in place of the tilde. Built as text, because a dictionary would hash the marks.
    private static func body(_ text: String) -> [UInt8] { Array(text.replacing("~", with: marks).utf8) }

    private static func doors(_ customer: Customer, _ master: ParseClient) -> [Door] {
        let client = [("X-Parse-Application-Id", "satchel")]
        let user = customer.client.credentials
        return [
            Door(name: "no application", path: "/classes/Marked", body: body(#"{"o":{"~":1}}"#)),
            Door(name: "value", path: "/classes/Marked", headers: client, body: body(#"{"text":"~"}"#)),
            Door(name: "key", path: "/classes/Marked", headers: client, body: body(#"{"o":{"~":1}}"#)),
            Door(name: "field", path: "/classes/Marked", headers: client, body: body(#"{"~":1}"#)),
            Door(
                name: "tunnelled", path: "/classes/Marked", type: "text/plain",
                body: body(#"{"_ApplicationId":"satchel","_method":"GET","where":{"~":1}}"#)),
            Door(
                name: "batch", path: "/batch", headers: client,
                body: body(#"{"requests":[{"method":"POST","path":"/parse/classes/Marked","body":{"text":"~"}}]}"#)),
            Door(
                name: "form", path: "/users", type: "application/x-www-form-urlencoded", headers: client,
                body: body("username=~&password=x")),
            Door(
                name: "sign-up", path: "/users", headers: client,
                body: body(#"{"username":"marked","password":"a-long-secret","firstName":"~"}"#)),
            Door(name: "sign-in", path: "/login", headers: client, body: body(#"{"username":"~","password":"x"}"#)),
            Door(
                name: "own name", method: .PUT, path: "/users/\(customer.userId)", headers: user,
                body: body(#"{"firstName":"~"}"#)),
            Door(name: "function", path: "/functions/addToBag", headers: user, body: body(#"{"productId":"~"}"#)),
            Door(name: "event", path: "/events/Seen", headers: client, body: body(#"{"dimensions":{"~":"~"}}"#)),
            Door(name: "query", method: .GET, path: "/classes/Marked?order=\(escaped)", headers: client),
            Door(name: "path", method: .GET, path: "/classes/Marked/\(escaped)", headers: client),
            Door(name: "file", path: "/files/\(escaped).txt", type: "text/plain", headers: client, body: [120]),
            Door(
                name: "schema", path: "/schemas/Marked", headers: master.credentials,
                body: body(#"{"className":"Marked","fields":{"~":{"type":"String"}}}"#)),
            Door(
                name: "import", path: "/import/Marked", type: "text/csv", headers: master.credentials,
                body: body("text\r\n~\r\n")),
            Door(
                name: "staged row", path: "/moves/rows/Marked", type: "text/plain", headers: master.credentials,
                body: body("a1\t0\t{\"text\":\"~\"}\n")),
        ]
    }

    private static let pageDoors: [Door] = {
        let site = [("Sec-Fetch-Site", "same-origin")]
        let plain = "application/x-www-form-urlencoded"
        let withFile = "multipart/form-data; boundary=b"
        // Within the limits of forms: else the length alone would refuse them.
        let name = String(String.UnicodeScalarView(marks.unicodeScalars.prefix(300)))
        let doors: [(String, String, String)] = [
            ("text of a page's form", plain, "product=\(escaped)"),
            ("name in a page's form", plain, "\(escaped)=1"),
            ("bytes of a page's form", plain, "product=\(short)"),
            (
                "text beside a page's file", withFile,
                "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\(short)\r\n--b--\r\n"
            ),
            (
                "name beside a page's file", withFile,
                "--b\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\nx\r\n--b--\r\n"
            ),
        ]
        return doors.map { name, type, text in
            Door(name: name, path: "/bag", type: type, headers: site, body: Array(text.utf8), isPage: true)
        }
    }()

    @Test("T2u: every door refuses a long run at once") func everyDoorRefusesALongRunAtOnce() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let honest = customer.client
        let doors = Self.doors(customer, .master(suite)) + Self.pageDoors
        let times = try await CostlyRequests.times {
            let answer = try await honest.get("/users/me")
            let page = try await honest.find("Product", [:], ["limit": 1])
            return answer.status == 200 && page.status == 200 ? nil : "\(answer.status) \(page.status)"
        } during: {
            for door in doors {
                var client = ParseClient(suite)
                if door.isPage { client.url = suite.origin }
                let answer = try await client.send(
                    door.method, door.path, headers: door.headers + [("Content-Type", door.type)], body: door.body)
                #expect(answer.status == 400, "\(door.name): \(answer.status) \(answer.text.prefix(300))")
                if door.isPage { continue }
                #expect(answer.code == ParseError.Code.invalidJSON.rawValue, "\(door.name): \(answer.text.prefix(300))")
            }
        }
        #expect(times.failures.isEmpty, "\(times)")
        #expect(times.percentile(95) < 1500, "\(times)")
    }

    @Test func aHeadWithALongRunIsNoHTTP() async throws {
        let suite = try await Suite.shared
        for head in [
            "GET /parse/classes/Product?\(Self.short) HTTP/1.1\nHost: a", "GET /\(Self.short) HTTP/1.1\nHost: a",
            "GET /parse/health HTTP/1.1\nHost: a\nX-Parse-Application-Id: \(Self.short)",
            "GET /parse HTTP/1.1\nHost: a\nUpgrade: \(Self.short)\nConnection: upgrade",
        ] {
            let answer = try await RawRequest.send(suite, head)
            #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer.prefix(200))")
        }
        let answer = try await RawRequest.send(suite, "GET /parse/health HTTP/1.1\nHost: a\nX-Name: Z\u{301}oe")
        #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer.prefix(200))")
    }

    @Test func aMessageOfALiveQueryIsRefused() async throws {
        let suite = try await Suite.shared
        let socket = try await LiveConnection(suite)
        let message = #"{"op":"connect","applicationId":"satchel","o":{"\#(Self.short)":1}}"#
        try await socket.send(raw: LiveConnection.frame(Array(message.utf8)))
        #expect(try await socket.next()["code"] == 1)
    }

    /// A crash report is sent once, so it is accepted, with the run of marks split.
    @Test func aCrashReportIsTaken() async throws {
        let suite = try await Suite.shared
        let project = try await CrashProject.create(suite)
        let id = CrashProject.newId()
        let event = Self.body(
            #"{"event_id":"\#(id)","level":"fatal","platform":"cocoa","message":"~","tags":{"~":"~"}}"#)
        let before = try ProcessorReading(suite, "crash-1")
        let answer = try await project.send(event, to: "store", key: project.key)
        #expect(answer.status == 200, "\(answer.status) \(answer.text)")
        try await eventually("the report is an issue") { try await project.issues().count == 1 }
        let after = try ProcessorReading(suite, "crash-1")
        #expect(after.seconds - before.seconds < 5)
    }

    /// In Swift, "é" as one scalar and as two are equal strings. For clients and SQL they differ.
    @Test func canonicallyEquivalentTextsAreDifferentValues() async throws {
        let suite = try await Suite.shared
        let client = ParseClient.master(suite)
        let (one, two): (JSON, JSON) = ("\u{E9}", "e\u{301}")
        let made = try await client.create("Accent", ["list": [one], "name": one])
        let path = "/classes/Accent/\(made.objectId)"
        func list() async throws -> [String] {
            try await client.get(path)["list"]?.arrayValue?.map { $0.serialized.hex } ?? []
        }
        let (first, second) = (one.serialized.hex, two.serialized.hex)
        _ = try await client.call(.PUT, path, ["list": ["__op": "AddUnique", "objects": [two, one, two]]])
        #expect(try await list() == [first, second])
        _ = try await client.call(.PUT, path, ["list": ["__op": "Remove", "objects": [one]]])
        #expect(try await list() == [second])
        for (condition, count) in [
            (["name": one], 1), (["name": two], 0), (["list": one], 0), (["list": two], 1),
            (["name": ["$in": [two]]], 0), (["name": ["$ne": two]], 1), (["list": ["$all": [one, two]]], 0),
        ] as [(JSON, Int)] {
            #expect(try await client.find("Accent", condition).results.count == count, "\(condition)")
        }
        // Changing to the other form is a change.
        _ = try await client.call(.PUT, path, ["name": two])
        #expect(try await client.find("Accent", ["name": two]).results.count == 1)
    }
}
