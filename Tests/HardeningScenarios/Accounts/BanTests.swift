import Foundation
import ParseProtocol
import TestSupport
import Testing

/// T12: an operator bans a user by removing the user's rights on the user object, as dashboards do.
@Suite struct BanTests {
    @Test(arguments: [JSON.object([:]), ["role:admins": ["read": true, "write": true]]])
    func aBannedUserIsOutAndStaysOut(_ acl: JSON) async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let customer = try await Customer.signUp(suite)
        let device = try await customer.signInAgain()
        for client in [customer.client, device] { #expect(try await client.get("/users/me").status == 200) }
        let path = "/users/\(customer.userId)"
        let banned = try await master.call(.PUT, path, ["ACL": acl])
        try #require(banned.status == 200, "\(banned.text)")
        #expect(try await master.get(path)["ACL"] == acl)
        for client in [customer.client, device] {
            #expect(try await client.get("/users/me").code == 209, "A session goes on.")
            #expect(try await client.run("bag").code == 209)
        }
        let pair: JSON = ["username": .string(customer.email), "password": .string(customer.password)]
        for path in ["/login", "/verifyPassword"] {
            let refused = try await ParseClient(suite).call(.POST, path, pair)
            #expect(refused.status == 404, "\(refused.text)")
            #expect(refused.code == 101, "\(refused.text)")
            #expect(refused["error"] == "Invalid username/password.")
        }
        #expect(try await master.call(.POST, "/loginAs", ["userId": .string(customer.userId)]).code == 101)
        // Restores the rights.
        let own: JSON = [customer.userId: ["read": true, "write": true]]
        #expect(try await master.call(.PUT, path, ["ACL": own]).status == 200)
        #expect(try await ParseClient(suite).call(.POST, "/login", pair).status == 200)
    }

    @Test func aBannedAnonymousUserDoesNotComeBackWithItsId() async throws {
        let suite = try await Suite.shared
        let body: JSON = ["authData": ["anonymous": ["id": .string(UUID().uuidString.lowercased())]]]
        let made = try await ParseClient(suite).call(.POST, "/users", body)
        try #require(made.status == 201, "\(made.text)")
        #expect(try await ParseClient.master(suite).call(.PUT, "/users/\(made.objectId)", ["ACL": [:]]).status == 200)
        let again = try await ParseClient(suite).call(.POST, "/users", body)
        #expect(again.code == 101, "\(again.text)")
        #expect(again["sessionToken"] == nil, "\(again.text)")
    }

    @Test func usersDoNotBanThemselves() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let path = "/users/\(customer.userId)"
        #expect(try await customer.client.call(.PUT, path, ["ACL": [:]]).status == 200)
        #expect(try await customer.client.get("/users/me").status == 200)
    }
}
