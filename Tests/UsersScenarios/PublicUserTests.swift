import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Publicly readable users (`SATCHEL_PUBLIC_USERS`), in a shop that is restarted with and without the setting.
@Suite struct PublicUserTests {
    /// Copies the data for the next start of the shop.
    private static func copy(of suite: Suite) throws -> String {
        let copy = FileManager.default.temporaryDirectory.path + "/users-\(Names.random(8))"
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
        for name in try FileManager.default.contentsOfDirectory(atPath: suite.dataDirectory)
        where name.hasSuffix(".sqlite") || name.hasSuffix(".key") || name.hasSuffix(".password") || name == "files" {
            try FileManager.default.copyItem(atPath: "\(suite.dataDirectory)/\(name)", toPath: "\(copy)/\(name)")
        }
        return copy
    }

    /// Whether a client without rights sees each of the users.
    private static func seen(_ users: [Customer], in suite: Suite) async throws -> [Bool] {
        var seen: [Bool] = []
        for user in users {
            let answer = try await ParseClient(suite).get("/users/\(user.userId)")
            guard answer.status == 200 || answer.code == 101 else { throw Unexpected("GET users", answer) }
            #expect(answer["email"] == nil, "E-mail addresses stay protected: \(answer.text)")
            seen.append(answer.status == 200)
        }
        return seen
    }

    private static func setACL(_ acl: JSON, of user: Customer) async throws {
        let answer = try await user.client.call(.PUT, "/users/\(user.userId)", ["ACL": acl])
        guard answer.status == 200 else { throw Unexpected("PUT users", answer) }
    }

    private static let shown: Set<String> = ["objectId", "createdAt", "updatedAt", "ACL", "displayName", "firstName"]

    /// Through queries, reads by id, includes and live queries, also for new fields. Conditions reveal no more.
    private static func onlyDisplayFieldsAreShown(
        of user: Customer, to reader: Customer, in suite: Suite
    ) async throws {
        let changes: JSON = ["displayName": "Ann", "phone": "555 0100", "shoeSize": 38]
        #expect(try await user.client.call(.PUT, "/users/\(user.userId)", changes).status == 200)
        let pointing = try await ParseClient.master(suite).create("Pointing", ["user": user.pointer])
        let id: JSON = ["objectId": .string(user.userId)]
        for client in [ParseClient(suite), reader.client] {
            let answers = [
                try await client.find("_User", id).results.first,
                try await client.get("/users/\(user.userId)").json,
                try await client.get("/classes/Pointing/\(pointing.objectId)", ["include": "user"]).json["user"],
            ]
            for answer in answers {
                let names = Set(answer?.objectValue?.keys.map { $0 } ?? []).subtracting(["__type", "className"])
                #expect(names == shown, "\(answer ?? .null)")
            }
            for condition in ["username", "phone", "shoeSize"] {
                let asked = try await client.find("_User", .object([condition: ["$exists": true]]))
                #expect(asked.code == 119, "\(condition)")
            }
            let session = client.sessionToken.map(JSON.string) ?? .null
            let live = try await LiveConnection.connect(suite, ["sessionToken": session])
            #expect(try await live.subscribe(1, "_User", id)["op"] == "subscribed")
            let name = JSON.string("Ann \(Names.random(4))")
            #expect(
                try await user.client.call(.PUT, "/users/\(user.userId)", ["displayName": name, "phone": "1"]).status
                    == 200)
            let event = try await live.nextEvent(of: 1)
            #expect(event.at("object", "displayName") == name, "\(event)")
            for secret in [user.email, "phone", "shoeSize"] { #expect(!event.serializedText.contains(secret)) }
        }
        #expect(try await user.client.get("/users/\(user.userId)")["shoeSize"] == 38)
    }

    @Test(.timeLimit(.minutes(10)), .enabled(if: Suite.keepsFiles, "The files of one suite are copied for the next."))
    func theSettingCountsForEveryUserAsLongAsItIsSet() async throws {
        var users: [Customer] = []
        var copies: [String] = []
        defer { for copy in copies { try? FileManager.default.removeItem(atPath: copy) } }
        try await Suite.with { suite in
            for _ in 0..<3 { users.append(try await Customer.signUp(suite)) }
            try await Self.setACL(["friend": ["read": true]], of: users[1])
            try await Self.setACL(["*": ["read": true]], of: users[2])
            #expect(try await Self.seen(users, in: suite) == [false, false, true])
            try await suite.down()
            copies.append(try Self.copy(of: suite))
        }
        let settings = ["SATCHEL_PUBLIC_USERS": "true", "SATCHEL_LIVE_CLASSES": "*,_User"]
        try await Suite.with(settings: settings, data: copies[0]) { suite in
            for _ in 0..<2 { users.append(try await Customer.signUp(suite)) }
            try await Self.setACL(.object([users[4].userId: ["read": true, "write": true]]), of: users[4])
            try await eventually("the user of before is shown") {
                try await Self.seen(users, in: suite) == [true, false, true, true, false]
            }
            try await Self.onlyDisplayFieldsAreShown(of: users[3], to: users[4], in: suite)
            try await suite.down()
            copies.append(try Self.copy(of: suite))
        }
        try await Suite.with(data: copies[1]) { suite in
            try await eventually("who did not choose it is shown no more") {
                try await Self.seen(users, in: suite) == [false, false, true, false, false]
            }
        }
    }
}
