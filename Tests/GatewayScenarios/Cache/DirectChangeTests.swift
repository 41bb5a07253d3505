import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The event loop forwards creates, updates and events with a small body, and creates of classes with cloud code
/// triggers. Other requests run in tasks on other threads. Clients must see no difference, and each change is made
/// once.
@Suite struct DirectChangeTests {
    /// With this header a task drives the request; otherwise it has no meaning.
    private static let long = "Connection: keep-alive, x"
    /// With this header the handler of its route answers a request.
    private static let context = "X-Parse-Cloud-Context: {}"

    private func text(
        _ method: String, _ path: String, _ body: String, _ more: [String] = [], id: String = "satchel"
    ) -> String {
        let lines = [
            "\(method) \(path) HTTP/1.1", "Host: x", "X-Parse-Application-Id: \(id)",
            "Content-Length: \(body.utf8.count)",
        ]
        return (lines + more).joined(separator: "\r\n") + "\r\n\r\n" + body
    }

    /// An answer without the parts that always differ: ids and times.
    private struct Shape: Equatable, CustomStringConvertible {
        let status: String
        let headers: [String]
        let body: JSON

        init(_ answer: String) throws {
            let parts = answer.components(separatedBy: "\r\n\r\n")
            let lines = parts[0].components(separatedBy: "\r\n")
            status = lines[0]
            var body = try JSON(parsing: Array((parts.last ?? "").utf8))
            let objectId = body["objectId"]?.stringValue
            for name in ["objectId", "createdAt", "updatedAt"] where body[name] != nil { body[name] = "some" }
            self.body = body
            headers = lines.dropFirst().filter { line in
                !["x-satchel-request-id", "date"].contains(line.prefix { $0 != ":" }.lowercased())
            }.map { line in
                line.replacingOccurrences(of: objectId ?? "\n", with: "some").lowercased()
            }.sorted()
        }

        var description: String { "\(status)\n\(headers.joined(separator: "\n"))\n\(body)" }
    }

    private struct Row {
        let method: String
        let path: String
        let body: String
        let status: Int
        var more: [String] = []
        var id = "satchel"
    }

    private func rows(_ className: String, _ objectId: String, token: String) -> [Row] {
        let (all, one) = ("/parse/classes/\(className)", "/parse/classes/\(className)/\(objectId)")
        return [
            Row(method: "POST", path: all, body: #"{"number":7,"text":"\u00fc ü 🙂"}"#, status: 201),
            Row(method: "POST", path: all, body: "{}", status: 201, more: ["Origin: https://shop.example"]),
            Row(method: "POST", path: all + "?a=1", body: "{}", status: 201, more: ["Content-Type: text/plain"]),
            Row(method: "POST", path: "/1/classes/\(className)", body: "{}", status: 201, more: ["Accept: */*"]),
            Row(method: "POST", path: all, body: "{}", status: 201, more: ["X-Parse-Session-Token: \(token)"]),
            Row(method: "POST", path: all, body: " {}", status: 201),
            Row(
                method: "POST", path: all, body: "{}", status: 201,
                more: ["X-Parse-Master-Key: \(Suite.masterKey)"]),
            Row(method: "POST", path: all, body: #"{"number":"seven"}"#, status: 400),
            Row(method: "POST", path: all, body: #"{"number":"#, status: 400),
            Row(method: "POST", path: all, body: #"{"a b":1}"#, status: 400),
            Row(method: "POST", path: all, body: #"{"a":1}{"#, status: 400),
            Row(method: "POST", path: all, body: "[]", status: 400),
            Row(method: "POST", path: all, body: "no", status: 400),
            Row(method: "POST", path: all, body: #"{"_method":"GET","where":{"number":-1}}"#, status: 200),
            Row(method: "POST", path: all, body: #"{"_method":"LOOK"}"#, status: 400),
            Row(method: "POST", path: all, body: "{}", status: 403, id: "another"),
            Row(method: "POST", path: all, body: "{}", status: 400, more: ["X-Parse-Session-Token: r:nobody"]),
            Row(method: "POST", path: all, body: "{}", status: 403, more: ["X-Parse-Master-Key: wrong"]),
            Row(method: "POST", path: "/parse/classes/1st", body: "{}", status: 400),
            Row(method: "POST", path: "/parse/classes/_User", body: "{}", status: 400),
            Row(method: "POST", path: "/parse/classes/_Nothing", body: "{}", status: 400),
            Row(method: "POST", path: one, body: "{}", status: 404),
            Row(method: "PUT", path: one, body: #"{"text":"b"}"#, status: 200),
            Row(method: "PUT", path: one, body: #"{"text":"b"}"#, status: 200, more: ["Origin: https://shop.example"]),
            Row(method: "PUT", path: one, body: "{}", status: 200, more: ["If-None-Match: *"]),
            Row(method: "PUT", path: one, body: #"{"number":{"__op":"Increment","amount":0}}"#, status: 200),
            Row(method: "PUT", path: one, body: #"{"number":{"__op":"Fly"}}"#, status: 400),
            Row(method: "PUT", path: one, body: #"{"number":[]}"#, status: 400),
            Row(method: "PUT", path: one, body: "{", status: 400),
            Row(method: "PUT", path: "\(all)/nobody0000", body: "{}", status: 404),
            Row(method: "PUT", path: "\(all)/no%20body", body: "{}", status: 404),
            Row(method: "PUT", path: all, body: "{}", status: 404),
        ] + events(token: token)
    }

    private func events(token: String) -> [Row] {
        let event = "/parse/events/Look"
        return [
            Row(method: "POST", path: event, body: #"{"dimensions":{"screen":"\u00fc"}}"#, status: 200),
            Row(method: "POST", path: "/1/events/AppOpened", body: "{}", status: 200),
            Row(method: "POST", path: event, body: "{}", status: 200, more: ["Origin: https://shop.example"]),
            Row(method: "POST", path: event, body: "{}", status: 200, more: ["X-Parse-Session-Token: \(token)"]),
            Row(method: "POST", path: event, body: "[]", status: 400),
            Row(method: "POST", path: event, body: "no", status: 400),
            Row(method: "POST", path: event, body: "{}", status: 400, more: ["X-Parse-Session-Token: r:nobody"]),
            Row(method: "POST", path: event, body: "{}", status: 403, id: "another"),
            Row(method: "POST", path: event + "/more", body: "{}", status: 404),
            Row(method: "PUT", path: event, body: "{}", status: 404),
        ]
    }

    /// Accepted and refused requests, on all three paths.
    @Test func allWaysAnswerAlike() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let className = "Alike\(Names.random(6))"
        let made = try await client.create(className, ["number": 1, "text": "a"])
        let (user, _) = try await Customer.anonymous(suite)
        // So that the gateway has the session in its cache.
        #expect(try await user.get("/classes/\(className)/\(made.objectId)").status == 200)
        let rows = rows(className, made.objectId, token: try #require(user.sessionToken))
        for row in rows {
            let request = text(row.method, row.path, row.body, row.more, id: row.id)
            let direct = try Shape(try await RawRequest.send(suite, Array(request.utf8)))
            for way in [Self.long, Self.context] {
                let other = text(row.method, row.path, row.body, row.more + [way], id: row.id)
                let long = try Shape(try await RawRequest.send(suite, Array(other.utf8)))
                #expect(direct == long, "\(row) \(way)")
            }
            #expect(direct.status.hasPrefix("HTTP/1.1 \(row.status) "), "\(row): \(direct)")
        }
        let creates = rows.count(where: { $0.status == 201 })
        let count = try await client.find(className, [:], ["count": 1])["count"]?.intValue
        #expect(count == Int64(1 + 3 * creates))
    }

    /// Changes and reads, pipelined over one connection.
    @Test func changesAreMadeInTheOrderOfTheirRequests() async throws {
        let suite = try await Suite.shared
        let made = try await ParseClient(suite).create("Step", ["number": 0])
        let one = "/parse/classes/Step/\(made.objectId)"
        let increment = text("PUT", one, #"{"number":{"__op":"Increment","amount":1}}"#)
        let read = "GET \(one) HTTP/1.1\r\nHost: x\r\nX-Parse-Application-Id: satchel\r\n\r\n"
        let steps = (0..<12).map { $0 % 3 == 0 ? increment + read : increment }
        let last = text("PUT", one, "{}", ["Connection: close"])
        let answers = try await RawRequest.send(suite, Array((steps.joined() + last).utf8), untilClosed: true)
        var numbers: [Int64] = []
        for answer in answers.components(separatedBy: "HTTP/1.1 ").dropFirst().dropLast() {
            let body = answer.components(separatedBy: "\r\n\r\n").last ?? ""
            numbers.append(try #require(try JSON(parsing: Array(body.utf8))["number"]?.intValue, "\(answer)"))
        }
        #expect(numbers == [1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11, 12])
    }

    /// Bodies near the size limit of the direct path, in several packets, followed by another request.
    @Test func aBodyThatComesInPartsIsWhole() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        for count in [1, 2000, 16_376, 16_377, 70_000] {
            let value = String(repeating: "x", count: count)
            let request = Array(text("POST", "/parse/classes/Parts", #"{"a":"\#(value)"}"#).utf8)
            let connection = try RawConnection(suite)
            // Sends the head, the body and the end of the body separately; other requests are answered meanwhile.
            for part in [request.dropLast(count + 6), request.suffix(count + 6).dropLast(3)] {
                connection.send(Array(part))
                #expect(try await client.get("/health").status == 200)
            }
            let rest = request.suffix(3) + Array(text("POST", "/parse/classes/Parts", "{}", ["Connection: close"]).utf8)
            connection.send(Array(rest))
            var answers = ""
            while let more = connection.read(within: 60_000), !more.isEmpty { answers += more }
            let parts = answers.components(separatedBy: "HTTP/1.1 ").dropFirst().map { $0 }
            try #require(parts.map { String($0.prefix(3)) } == ["201", "201"], "\(answers)")
            let body = try JSON(parsing: Array((parts[0].components(separatedBy: "\r\n\r\n").last ?? "").utf8))
            let objectId = try #require(body["objectId"]?.stringValue)
            let stored = try await client.get("/classes/Parts/\(objectId)")
            #expect(stored["a"] == .string(value))
        }
    }

    private static let code = """
        Parse.Cloud.define('hello', () => 'hello');
        Parse.Cloud.beforeSave('Told', request => {
          const number = request.object.get('number');
          if (number < 0) throw new Parse.Error(142, 'Too small.');
          request.object.set('twice', number * 2);
          request.object.set('caller', request.user ? 'somebody' : 'nobody');
        });
        Parse.Cloud.afterSave('Told', request =>
          new Parse.Object('Heard').save({ number: request.object.get('number') }, { useMasterKey: true }));
        Parse.Cloud.beforeDelete('Told', () => {});
        """

    /// Creates and updates of a class with triggers, on each path and then pipelined.
    @Test func triggersAnswerAlikeOnBothPaths() async throws {
        let suite = try await CloudSuite.start(Self.code)
        let client = ParseClient(suite)
        let made = try await client.create("Told", ["number": 1])
        let (user, _) = try await Customer.anonymous(suite)
        #expect(try await user.get("/classes/Told/\(made.objectId)")["twice"] == 2)
        let (all, one) = ("/parse/classes/Told", "/parse/classes/Told/\(made.objectId)")
        let token = try #require(user.sessionToken)
        let rows = [
            Row(method: "POST", path: all, body: #"{"number":7}"#, status: 201),
            Row(method: "POST", path: all, body: #"{"number":7,"ACL":{}}"#, status: 201),
            Row(
                method: "POST", path: all, body: #"{"number":7}"#, status: 201,
                more: ["X-Parse-Session-Token: \(token)"]),
            Row(method: "POST", path: all, body: #"{"number":-7}"#, status: 400),
            Row(method: "POST", path: all, body: #"{"number":"seven"}"#, status: 400),
            Row(method: "POST", path: all, body: #"{"number":7,"a b":1}"#, status: 400),
            Row(method: "POST", path: all, body: #"{"number":"#, status: 400),
            Row(method: "POST", path: all, body: "[]", status: 400),
            Row(method: "PUT", path: one, body: #"{"number":8}"#, status: 200),
            Row(method: "PUT", path: one, body: #"{"number":-8}"#, status: 400),
        ]
        for row in rows {
            let request = text(row.method, row.path, row.body, row.more)
            let other = text(row.method, row.path, row.body, row.more + [Self.long])
            // Resets the object so that both paths find the same state: an answer contains the fields that the code
            // changed.
            if row.method == "PUT" { _ = try await RawRequest.send(suite, Array(other.utf8)) }
            let direct = try Shape(try await RawRequest.send(suite, Array(request.utf8)))
            let long = try Shape(try await RawRequest.send(suite, Array(other.utf8)))
            #expect(direct == long, "\(row)")
            #expect(direct.status.hasPrefix("HTTP/1.1 \(row.status) "), "\(row): \(direct)")
        }
        let steps = (1...6).map { text("POST", all, #"{"number":\#($0)}"#, $0 == 6 ? ["Connection: close"] : []) }
        let answers = try await RawRequest.send(suite, Array(steps.joined().utf8), untilClosed: true)
        let twice = try answers.components(separatedBy: "HTTP/1.1 ").dropFirst().map { answer in
            try JSON(parsing: Array((answer.components(separatedBy: "\r\n\r\n").last ?? "").utf8))["twice"]?.intValue
        }
        #expect(twice == [2, 4, 6, 8, 10, 12])
        // Each create was reported to the trigger and stored once.
        let creates = Int64(1 + 2 * rows.count(where: { $0.status == 201 }) + steps.count)
        let updates = Int64(3 * rows.count(where: { $0.status == 200 }))
        let master = ParseClient.master(suite)
        let stored = try await master.find("Told", [:], ["count": 1, "limit": 0])["count"]?.intValue
        #expect(stored == creates)
        try await eventually("afterSave has heard of each") {
            let heard = try await master.find("Heard", [:], ["count": 1, "limit": 0])["count"]?.intValue
            return heard == creates + updates
        }
    }

    /// An incomplete request changes nothing; a complete one is executed even if its client disconnects.
    @Test func completeChangesSurviveADisconnect() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let className = "Gone\(Names.random(6))"
        _ = try await client.create(className, ["number": 0])
        let request = Array(text("POST", "/parse/classes/\(className)", #"{"number":1}"#).utf8)
        for isHalfClosed in [true, false] {
            for kept in [request.count - 13, request.count - 5] {
                let connection = try RawConnection(suite)
                connection.send(Array(request[..<kept]))
                guard isHalfClosed else { continue }
                connection.finish()
                var answer = ""
                while let more = connection.read(within: 60_000), !more.isEmpty { answer += more }
                #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
            }
        }
        // Closes the connection as soon as the request is sent.
        try RawConnection(suite).send(request)
        try await eventually("the object is there") {
            try await client.find(className, [:], ["count": 1])["count"] == 2
        }
        let count = try await client.find(className, [:], ["count": 1])["count"]?.intValue
        #expect(count == 2, "What was not complete was not made.")
    }
}
