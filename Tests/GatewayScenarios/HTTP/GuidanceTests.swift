import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// The response to a refused request names the change to make (`Guidance`), and nothing beyond `/developers`.
@Suite struct GuidanceTests {
    private static let app = ("X-Parse-Application-Id", "satchel")

    @Test func aWrongOrMissingApplicationIdAndAWrongKeyAreToldApart() async throws {
        let open = ParseClient(try await Suite.shared)
        let closed = ParseClient(try await GatewaySuites.closed)
        let basic = "Basic \(Data("satchel".utf8).base64EncodedString())"
        let cases: [(ParseClient, [(String, String)], String)] = [
            (open, [], "has no application id: send the header X-Parse-Application-Id"),
            (open, [("Authorization", basic)], "Authorization has no application id"),
            (open, [("Authorization", "Bearer x")], "Authorization has no application id"),
            (open, [("X-Parse-Application-Id", "Satchel")], "no application with that id"),
            (open, [Self.app, Self.app], "no application with that id"),
            (open, [Self.app, ("X-Parse-Master-Key", "x")], "SATCHEL_MASTER_KEY_IPS"),
            (closed, [Self.app], "no client key: send X-Parse-REST-API-Key or X-Parse-Windows-Key."),
            (closed, [Self.app, ("X-Parse-REST-API-Key", "x")], "The client key is not accepted"),
        ]
        for (client, headers, hint) in cases {
            let answer = try await client.send(.GET, "/classes/Open", headers: headers)
            #expect(answer.status == 403, "\(headers): \(answer.text)")
            #expect(answer["error"] == "unauthorized" && answer.code == nil, "\(headers): \(answer.text)")
            #expect(answer.json.text("hint").contains(hint), "\(headers): \(answer.text)")
            #expect(answer.json.text("hint").contains("/developers"), "\(headers): \(answer.text)")
        }
        let tunnelled = try await open.send(.POST, "/classes/Open", body: Array(#"{"_ApplicationId":"other"}"#.utf8))
        #expect(tunnelled.json.text("hint").contains("no application with that id"), "\(tunnelled.text)")
    }

    /// A right key from a network that is not listed gets the answer of a wrong one.
    @Test func aHintDoesNotTellAKeyThatIsRight() async throws {
        let client = ParseClient(try await GatewaySuites.closed)
        func answer(_ key: String) async throws -> ParseClient.Answer {
            try await client.send(.GET, "/classes/Open", headers: [Self.app, ("X-Parse-Maintenance-Key", key)])
        }
        let (right, wrong) = (try await answer(GatewaySuites.maintenanceKey), try await answer("wrong"))
        #expect(right.status == 403 && right.text == wrong.text, "\(right.text) \(wrong.text)")
    }

    @Test func aRouteOfOperatorsSaysWhatItNeeds() async throws {
        let answer = try await ParseClient(try await Suite.shared).get("/serverInfo")
        #expect(answer["error"] == "unauthorized: master key is required")
        #expect(answer.json.text("hint").contains("needs the master key"), "\(answer.text)")
    }

    @Test func aPathThatIsNoRouteSaysWhichOneIs() async throws {
        let client = ParseClient(try await Suite.shared)
        var root = client
        root.url = client.url.replacingOccurrences(of: "/parse", with: "")
        let cases: [(ParseClient, HTTPMethod, String, String)] = [
            (root, .GET, "/classes/Product", "must begin with /parse."),
            (root, .POST, "/functions/checkout", "must begin with /parse."),
            (root, .GET, "/nothing", "The API is at /parse."),
            (client, .GET, "/parse/classes/Product", "leave /parse out of the path"),
            (client, .GET, "/1/classes/Product", "leave /1 out of the path"),
            (client, .GET, "/functions", "/parse/functions/{functionName}"),
            (client, .GET, "/classes", "/parse/classes/{className}"),
            (client, .GET, "/Classes/Product", "begins with /parse/classes"),
            (client, .GET, "/Product", "/parse/classes/{className}"),
            (client, .GET, "/nothing", "/parse/openapi.json"),
        ]
        for (client, method, path, sentence) in cases {
            let answer = try await client.call(method, path)
            #expect(answer.status == 404 && answer.code == 108, "\(method) \(path): \(answer.text)")
            #expect(answer.json.text("error").contains(sentence), "\(method) \(path): \(answer.text)")
            #expect(answer.json.text("error").contains("/developers"), "\(method) \(path): \(answer.text)")
        }
    }

    /// It is the first address that a developer opens, so that it needs no key.
    @Test func theMountItselfSaysWhatItIs() async throws {
        let client = ParseClient(try await Suite.shared)
        for path in ["", "/"] {
            let answer = try await client.send(.GET, path, headers: [("Accept", "text/html")])
            #expect(answer.status == 404 && answer.code == 108, "\(answer.text)")
            #expect(answer.json.text("error").contains("server URL of an SDK"), "\(answer.text)")
        }
    }

    @Test func aWrongMethodNamesTheRightOnes() async throws {
        let client = ParseClient(try await Suite.shared)
        let cases: [(HTTPMethod, String, String, String)] = [
            (.GET, "/functions/bag", "POST", "JSON object in the body"),
            (.POST, "/classes/Product/abc", "GET, PUT, DELETE", "_method"),
            (.PUT, "/classes/Product", "GET, POST", "PUT is for /parse/classes/{className}/{objectId}"),
        ]
        for (method, path, allowed, sentence) in cases {
            let answer = try await client.call(method, path, method == .GET ? nil : [:])
            #expect(answer.status == 404 && answer.code == 108, "\(method) \(path): \(answer.text)")
            #expect(answer.headers.first(name: "Allow") == allowed, "\(method) \(path)")
            #expect(answer.json.text("error").contains(sentence), "\(method) \(path): \(answer.text)")
        }
        let patch = try await client.call(.PATCH, "/classes/Product/abc", [:])
        #expect(patch.code == 108 && patch.json.text("error").contains("PUT changes"), "\(patch.text)")
    }

    @Test func aBodyThatIsNoObjectSaysWhatToSend() async throws {
        let client = ParseClient(try await Suite.shared)
        let cases: [(String, String, String, String)] = [
            ("/functions/bag", "application/json", "{'a':1}", "such as {\"name\":\"Rose\"}"),
            ("/classes/Odd", "application/xml", "<a/>", "Content-Type: application/json"),
            ("/classes/Odd", "multipart/form-data; boundary=x", "--x\r\n", "/parse/files/{fileName}"),
            ("/classes/Odd", "application/json", "[{\"a\":1}]", "/parse/batch saves several"),
            ("/requestPasswordReset", "application/json", "[]", "Send its members in braces"),
        ]
        for (path, type, body, sentence) in cases {
            let answer = try await client.send(
                .POST, path, headers: client.credentials + [("Content-Type", type)], body: Array(body.utf8))
            #expect(answer.code == 107, "\(path) \(body): \(answer.text)")
            #expect(answer.json.text("error").contains(sentence), "\(path) \(body): \(answer.text)")
        }
    }

    /// Errors whose text the protocol fixes keep it.
    @Test func aFixedTextGetsAHint() async throws {
        let client = ParseClient(try await Suite.shared)
        var signedOut = client
        signedOut.sessionToken = "r:00000000000000000000000000000000"
        let cases: [(ParseClient.Answer, Int, String, String)] = [
            (try await client.run("chekout"), 141, "Invalid function: \"chekout\"", "case-sensitive"),
            (
                try await client.get("/classes/Product", ["name": "x"]), 102, "Invalid parameter for query: name",
                "where="
            ),
            (try await client.get("/classes/Product/abc", ["limit": 1]), 102, "Improper encode of parameter", "keys"),
            (try await signedOut.get("/classes/Product"), 209, "Invalid session token", "sign in"),
        ]
        for (answer, code, text, hint) in cases {
            #expect(answer.code == code && answer["error"] == .string(text), "\(answer.text)")
            #expect(answer.json.text("hint").contains(hint), "\(answer.text)")
        }
    }
}
