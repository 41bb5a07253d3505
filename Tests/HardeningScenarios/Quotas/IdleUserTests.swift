import ParseProtocol
import TestSupport
import Testing

/// T6d: if the setting is on, idle anonymous users are deleted with all their data.
@Suite struct IdleUserTests {
    private static func age(_ suite: Suite, _ className: String, by days: Int, where condition: String) async throws {
        let found = try await suite.rows("users", "SELECT id FROM classes WHERE name = '\(className)'")
        let id = try #require(found.first?.at(0)?.intValue)
        try await suite.tamper(
            "users", "UPDATE o\(id) SET updatedAt = updatedAt - \(days * 86_400_000) WHERE \(condition)")
    }

    /// Gives a user's session the end that a use some days ago set.
    private static func ageEnd(_ suite: Suite, of userId: String, by days: Int) async throws {
        let master = ParseClient.master(suite)
        let session = try #require(try await master.find("_Session", ["user": .pointer("_User", userId)]).results.first)
        let end = Timestamp.now.advanced(by: .seconds((365 - days) * 86_400))
        let changed = try await master.call(.PUT, "/sessions/\(session.objectId)", ["expiresAt": end.wire])
        #expect(changed.status == 200, "\(changed.text)")
    }

    private static func ids(_ suite: Suite) async throws -> [String] {
        try await ParseClient.master(suite).get("/users", ["limit": 1000]).results.map(\.objectId)
    }

    @Test func idleAnonymousUsersEnd() async throws {
        try await Suite.with(settings: ["SATCHEL_ANONYMOUS_DAYS": "10"]) { suite in
            let shelf = try await Shelf.fill(suite, names: ["Soap"])
            let (idle, active) = (try await Customer.anonymous(suite), try await Customer.anonymous(suite))
            let (used, account) = (try await Customer.anonymous(suite), try await Customer.signUp(suite))
            let fixed = try await Customer.anonymous(suite)
            for client in [idle.client, active.client] {
                let added = try await client.run("addToBag", ["productId": .string(shelf.productIds[0])])
                #expect(added.status == 200, "\(added.text)")
            }
            // An idle user and the device's session.
            let old = [idle.userId, used.userId, fixed.userId, account.userId].map { "objectId = '\($0)'" }
            try await Self.age(suite, "_User", by: 16, where: old.joined(separator: " OR "))
            for userId in [idle.userId, account.userId] { try await Self.ageEnd(suite, of: userId, by: 16) }
            try await suite.tamper("users", "DELETE FROM fixedSessions")
            // Use does not update a session whose end is fixed.
            try await Self.ageEnd(suite, of: fixed.userId, by: 16)
            let theirs = [idle.userId, fixed.userId, account.userId].map { "doc LIKE '%\($0)%'" }
            try await Self.age(suite, "_Session", by: 16, where: theirs.joined(separator: " OR "))
            // The session shows a use a week ago.
            try await Self.age(suite, "_Session", by: 7, where: "doc LIKE '%\(used.userId)%'")
            // Just switched on: earlier uses updated sessions seldom.
            try await suite.tamper("users", "DELETE FROM idlePeriod")
            try await suite.kill("users-1")
            try await suite.untilHealthy()
            try await eventually("the period begins") {
                try await !suite.rows("users", "SELECT since FROM idlePeriod").isEmpty
            }
            #expect(try await Self.ids(suite).contains(idle.userId))
            try await suite.tamper("users", "UPDATE idlePeriod SET since = since - \(16 * 86_400_000)")
            try await suite.kill("users-1")
            try await suite.untilHealthy()
            try await eventually("the idle user ends") { try await !Self.ids(suite).contains(idle.userId) }
            let left = try await Self.ids(suite)
            for userId in [active.userId, used.userId, fixed.userId, account.userId] {
                #expect(left.contains(userId))
            }
            try await eventually("the bag of the idle user ends") {
                try await ParseClient.master(suite).find("Order").results.count == 1
            }
            #expect(try await idle.client.get("/users/me").code == 209)
            #expect(try await active.client.get("/users/me").status == 200)
        }
    }

    /// Without the setting, no user is deleted, however old.
    @Test func idleUsersEndOnlyWithTheSetting() async throws {
        try await Suite.with { suite in
            let idle = try await Customer.anonymous(suite)
            try await Self.age(suite, "_User", by: 4000, where: "true")
            try await Self.age(suite, "_Session", by: 4000, where: "true")
            try await suite.kill("users-1")
            try await suite.untilHealthy()
            try await Task.sleep(for: .seconds(1))
            #expect(try await Self.ids(suite).contains(idle.userId))
        }
    }
}
