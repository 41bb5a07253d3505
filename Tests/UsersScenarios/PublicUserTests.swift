import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Users that everybody may read (`SATCHEL_PUBLIC_USERS`), in a shop that is started again with the setting and
/// without it.
@Suite struct PublicUserTests {
    /// A copy of the data with which a shop goes on elsewhere.
    private static func copy(of suite: Suite) throws -> String {
        let copy = FileManager.default.temporaryDirectory.path + "/users-\(Names.random(8))"
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
        for name in try FileManager.default.contentsOfDirectory(atPath: suite.dataDirectory)
        where name.hasSuffix(".sqlite") || name.hasSuffix(".key") || name.hasSuffix(".password") || name == "files" {
            try FileManager.default.copyItem(atPath: "\(suite.dataDirectory)/\(name)", toPath: "\(copy)/\(name)")
        }
        return copy
    }

    /// Whether a stranger sees each of the users.
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
        try await Suite.with(settings: ["SATCHEL_PUBLIC_USERS": "true"], data: copies[0]) { suite in
            for _ in 0..<2 { users.append(try await Customer.signUp(suite)) }
            try await Self.setACL(.object([users[4].userId: ["read": true, "write": true]]), of: users[4])
            try await eventually("the user of before is shown") {
                try await Self.seen(users, in: suite) == [true, false, true, true, false]
            }
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
