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

    private static func ids(_ suite: Suite) async throws -> [String] {
        try await ParseClient.master(suite).get("/users", ["limit": 1000]).results.map(\.objectId)
    }

    @Test func idleAnonymousUsersEnd() async throws {
        try await Suite.with(settings: ["SATCHEL_ANONYMOUS_DAYS": "10"]) { suite in
            let shelf = try await Shelf.fill(suite, names: ["Soap"])
            let (idle, active) = (try await Customer.anonymous(suite), try await Customer.anonymous(suite))
            let (used, account) = (try await Customer.anonymous(suite), try await Customer.signUp(suite))
            for client in [idle.client, active.client] {
                let added = try await client.run("addToBag", ["productId": .string(shelf.productIds[0])])
                #expect(added.status == 200, "\(added.text)")
            }
            // An idle user and the device's session.
            let old = [idle.userId, used.userId, account.userId].map { "objectId = '\($0)'" }.joined(separator: " OR ")
            try await Self.age(suite, "_User", by: 16, where: old)
            let theirs = [idle.userId, account.userId].map { "doc LIKE '%\($0)%'" }.joined(separator: " OR ")
            try await Self.age(suite, "_Session", by: 16, where: theirs)
            // The session shows a use a week ago.
            try await Self.age(suite, "_Session", by: 7, where: "doc LIKE '%\(used.userId)%'")
            try await suite.kill("users-1")
            try await suite.untilHealthy()
            try await eventually("the idle user ends") { try await !Self.ids(suite).contains(idle.userId) }
            let left = try await Self.ids(suite)
            for userId in [active.userId, used.userId, account.userId] { #expect(left.contains(userId)) }
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
