import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Every error code that a client can cause, with its status (PARSE_PROTOCOL sections 1.4 and 14).
@Suite struct ErrorCodeTests {
    /// Clients, and names that no other test uses.
    struct World: Sendable {
        let suite: Suite
        let client: ParseClient
        let master: ParseClient
        let className = "Code\(Names.random(8))"
        let name = "\(Names.random(10).lowercased())@codes.example"

        var path: String { "/classes/\(className)" }

        func create(_ object: JSON) async throws -> ParseClient.Answer { try await client.create(className, object) }
        func find(_ options: [String: JSON]) async throws -> ParseClient.Answer { try await client.get(path, options) }
        func signUp(_ more: [String: JSON] = [:]) async throws -> ParseClient.Answer {
            try await client.call(
                .POST, "/users", .object(["username": .string(name), "password": "secret1"].merging(more) { $1 }))
        }
        func push(_ body: JSON) async throws -> ParseClient.Answer { try await master.call(.POST, "/push", body) }
        func installation(_ body: JSON) async throws -> ParseClient.Answer {
            try await client.call(.POST, "/installations", body)
        }
        func upload(_ name: String, _ bytes: [UInt8], _ type: String) async throws -> ParseClient.Answer {
            try await master.send(
                .POST, "/files/\(name)", headers: master.credentials + [("Content-Type", type)], body: bytes)
        }
    }

    struct Provoked: Sendable, CustomTestStringConvertible {
        let code: Int
        let what: String
        let status: Int
        let ask: @Sendable (World) async throws -> ParseClient.Answer

        init(
            _ code: Int, _ what: String, status: Int = 400,
            _ ask: @escaping @Sendable (World) async throws -> ParseClient.Answer
        ) {
            self.code = code
            self.what = what
            self.status = status
            self.ask = ask
        }

        var testDescription: String { "\(code) \(what)" }
    }

    @Test(arguments: queries + writes + devices + files + users + classes)
    func eachCodeIsAnsweredWithItsStatus(_ expected: Provoked) async throws {
        let suite = try await Suite.shared
        let world = World(suite: suite, client: ParseClient(suite), master: .master(suite))
        let answer = try await expected.ask(world)
        #expect(answer.code == expected.code, "\(answer.status) \(answer.text)")
        #expect(answer.status == expected.status, "\(answer.text)")
        let text = answer["error"]?.stringValue ?? ""
        #expect(!text.isEmpty)
        #expect(answer.headers.first(name: "Content-Type") == "application/json; charset=utf-8")
    }

    /// Only imports and the master key choose ids; an import reports each row separately.
    @Test func anIdThatCannotBeIs104() async throws {
        let master = ParseClient.master(try await Suite.shared)
        let answer = try await master.call(.POST, "/import/Code\(Names.random(8))", [["objectId": "a/b", "n": 1]])
        #expect(answer.json.at("failures", 0, "code") == 104, "\(answer.text)")
    }

    private static let queries: [Provoked] = [
        .init(-1, "a challenge about nothing") { try await $0.client.call(.POST, "/challenge", [:]) },
        .init(101, "an object that is not there", status: 404) { try await $0.client.get("\($0.path)/nothing") },
        .init(101, "a wrong password", status: 404) {
            try await $0.client.call(.POST, "/login", ["username": .string($0.name), "password": "secret1"])
        },
        .init(102, "an unknown option") { try await $0.find(["where": [:], "nothing": 1]) },
        .init(102, "$or that is no list") { try await $0.find(["where": ["$or": 1]]) },
        .init(103, "a class name that cannot be") { try await $0.client.find("9lives") },
        .init(105, "a condition on a name that cannot be") { try await $0.find(["where": ["9lives": 1]]) },
        .init(102, "a condition that is no object") { try await $0.find(["where": [1]]) },
        .init(107, "an unknown constraint") { try await $0.find(["where": ["a": ["$nothing": 1]]]) },
        .init(108, "an unknown route", status: 404) { try await $0.client.get("/nothing") },
        .init(117, "a negative limit") { try await $0.find(["limit": -1]) },
        .init(118, "a negative skip") { try await $0.find(["skip": -1]) },
        .init(119, "an internal class") { try await $0.client.find("_PushStatus") },
        .init(141, "an unknown function") { try await $0.client.run("nothing") },
        .init(142, "a function without its parameter") {
            let user = try await Customer.signUp($0.suite)
            return try await user.client.run("addToBag")
        },
        .init(160, "an event whose name cannot be") { try await $0.client.call(.POST, "/events/a%07b", [:]) },
    ]

    private static let writes: [Provoked] = [
        .init(105, "a field name that cannot be") { try await $0.create(["9lives": 1]) },
        .init(105, "an id that the client chose") { try await $0.create(["objectId": "abcdefghij"]) },
        .init(107, "a body that is no JSON") {
            try await $0.client.send(.POST, $0.path, headers: $0.client.credentials, body: Array("{".utf8))
        },
        .init(107, "an increment by a text") { try await $0.create(["a": ["__op": "Increment", "amount": "1"]]) },
        .init(108, "an operator that is the server's own") {
            try await $0.create(["a": ["__op": "SetOnInsert", "amount": 1]])
        },
        .init(111, "another type than before") {
            _ = try await $0.create(["a": 1])
            return try await $0.create(["a": "text"])
        },
        .init(111, "a second place in one class") {
            let place: JSON = ["__type": "GeoPoint", "latitude": 1, "longitude": 1]
            return try await $0.create(["a": place, "b": place])
        },
        .init(116, "an object past 128 KB") {
            try await $0.create(["a": .string(String(repeating: "x", count: 140_000))])
        },
        .init(121, "a member with a dollar") { try await $0.create(["a": ["$b": 1]]) },
        .init(123, "rights that cannot be") { try await $0.create(["ACL": ["*unresolved": ["read": true]]]) },
        .init(137, "a second of what is unique") {
            let role: JSON = ["name": .string("Codes \($0.className)"), "ACL": [:]]
            _ = try await $0.master.call(.POST, "/roles", role)
            return try await $0.master.call(.POST, "/roles", role)
        },
    ]

    private static let devices: [Provoked] = [
        .init(112, "a channel that cannot be") {
            try await $0.installation(["deviceType": "ios", "installationId": .string($0.className), "channels": ["9"]])
        },
        .init(115, "a push to channels and a condition") {
            try await $0.push(["channels": ["a"], "where": [:], "data": ["alert": "a"]])
        },
        .init(138, "a push that expired long ago") {
            try await $0.push([
                "channels": ["a"], "data": ["alert": "a"], "expiration_time": "2001-01-01T00:00:00.000Z",
            ])
        },
        .init(152, "a push for much later") {
            try await $0.push(["channels": ["a"], "data": ["alert": "a"], "push_time": "2090-01-01T00:00:00.000Z"])
        },
        .init(135, "a device without a type") { try await $0.installation(["installationId": .string($0.className)]) },
        .init(136, "another type of a device") {
            let id = JSON.string($0.className)
            let created = try await $0.installation(["deviceType": "ios", "installationId": id])
            return try await $0.client.call(
                .PUT, "/installations/\(created.objectId)", ["deviceType": "android", "installationId": id])
        },
    ]

    private static let files: [Provoked] = [
        .init(122, "a file name that cannot be") { try await $0.upload("$a.txt", [1], "text/plain") },
        .init(129, "a file past the limit", status: 413) {
            try await $0.upload("a.txt", Array(repeating: 65, count: (10 << 20) + 1), "text/plain")
        },
        .init(130, "an empty file") { try await $0.upload("a.txt", [], "text/plain") },
        .init(130, "a page as a file") { try await $0.upload("a.html", Array("<p>".utf8), "text/html") },
        .init(130, "a file of somebody without an account") {
            try await $0.client.send(
                .POST, "/files/a.txt", headers: $0.client.credentials + [("Content-Type", "text/plain")], body: [65])
        },
        .init(150, "a photo that is none") {
            let file = try await $0.upload("a.png", Array("text".utf8), "image/png")
            let photo: JSON = ["__type": "File", "name": .string(file.json.text("name"))]
            return try await $0.master.create("Product", ["name": "p", "unitPrice": 1, "fullsizeImage": photo])
        },
        .init(153, "removing a file that is not there") { try await $0.master.call(.DELETE, "/files/nothing.txt") },
    ]

    private static let users: [Provoked] = [
        .init(125, "an address that is none") { try await $0.signUp(["email": "nothing"]) },
        .init(139, "a role name that cannot be") {
            try await $0.master.call(.POST, "/roles", ["name": "a/b", "ACL": [:]])
        },
        .init(162, "signing in as nobody") { try await $0.master.call(.POST, "/loginAs", [:]) },
        .init(200, "no user name") { try await $0.client.call(.POST, "/users", ["password": "secret1"]) },
        .init(201, "no password") { try await $0.client.call(.POST, "/users", ["username": .string($0.name)]) },
        .init(202, "a name that is taken") {
            _ = try await $0.signUp()
            return try await $0.signUp()
        },
        .init(203, "an address that is taken") {
            let email = JSON.string($0.name)
            _ = try await $0.signUp(["email": email])
            return try await $0.client.call(
                .POST, "/users", ["username": .string($0.className), "password": "secret1", "email": email])
        },
        .init(204, "a mail to no address") { try await $0.client.call(.POST, "/requestPasswordReset", [:]) },
        .init(206, "changing somebody else") {
            let user = try await $0.signUp()
            return try await $0.client.call(.PUT, "/users/\(user.objectId)", ["phone": "1"])
        },
        .init(209, "an unknown session") {
            var client = $0.client
            client.sessionToken = "r:00000000000000000000000000000000"
            return try await client.get($0.path)
        },
        .init(252, "an unknown provider") {
            try await $0.client.call(.POST, "/users", ["authData": ["nothing": ["id": "1"]]])
        },
        .init(253, "authData that is no object") { try await $0.client.call(.POST, "/users", ["authData": "text"]) },
    ]

    private static let classes: [Provoked] = [
        .init(103, "a class that is not there") { try await $0.master.get("/schemas/\($0.className)") },
        .init(103, "a class that is there") {
            _ = try await $0.master.call(.POST, "/schemas/\($0.className)", [:])
            return try await $0.master.call(.POST, "/schemas/\($0.className)", [:])
        },
        .init(135, "a pointer to no class") {
            try await $0.master.call(.POST, "/schemas/\($0.className)", ["fields": ["a": ["type": "Pointer"]]])
        },
        .init(136, "changing a field that every class has") {
            _ = try await $0.create(["a": 1])
            return try await $0.master.call(
                .PUT, "/schemas/\($0.className)", ["fields": ["objectId": ["__op": "Delete"]]])
        },
        .init(142, "a required field that is missing") {
            _ = try await $0.master.call(
                .POST, "/schemas/\($0.className)", ["fields": ["a": ["type": "Number", "required": true]]])
            return try await $0.create(["b": 1])
        },
        .init(255, "dropping a class with objects") {
            _ = try await $0.create(["a": 1])
            return try await $0.master.call(.DELETE, "/schemas/\($0.className)")
        },
        .init(255, "adding a field that is there with another type") {
            _ = try await $0.create(["a": 1])
            return try await $0.master.call(.PUT, "/schemas/\($0.className)", ["fields": ["a": ["type": "String"]]])
        },
    ]
}
