import ParseProtocol
import TestSupport
import Testing

/// `isAdmin`, by which apps decide whether to show operator screens: true for members of the role `admins`. It grants
/// no right by itself.
@Suite struct AdminMarkTests {
    private static func adminsId(_ suite: Suite) async throws -> String {
        let found = try await ParseClient.master(suite).find("_Role", ["name": "admins"])
        return try #require(found.results.first).objectId
    }

    private static func change(
        _ relation: String, _ operation: String, _ pointer: JSON, of roleId: String, in suite: Suite
    ) async throws {
        let changed = try await ParseClient.master(suite).call(
            .PUT, "/roles/\(roleId)", .object([relation: ["__op": .string(operation), "objects": [pointer]]]))
        try #require(changed.status == 200, "\(changed.text)")
    }

    /// Every request by which the customer's own device reads the user.
    private static func own(_ customer: Customer, in suite: Suite) async throws -> [JSON?] {
        let pair: JSON = ["username": .string(customer.email), "password": .string(customer.password)]
        return [
            try await customer.client.get("/users/me")["isAdmin"],
            try await customer.client.get("/users/\(customer.userId)")["isAdmin"],
            try await customer.client.find("_User", ["objectId": .string(customer.userId)]).results.first?["isAdmin"],
            try await ParseClient(suite).call(.POST, "/login", pair)["isAdmin"],
        ]
    }

    /// As the README describes.
    @Test func aSecondAdminIsMadeWithTheMasterKeyAndToldSo() async throws {
        let suite = try await Suite.shared
        let (customer, roleId) = (try await Customer.signUp(suite), try await Self.adminsId(suite))
        #expect(try await Self.own(customer, in: suite) == [nil, nil, nil, nil])
        #expect(try await customer.client.run("sessionsOf", ["userId": .string(customer.userId)]).code == 119)
        try await Self.change("users", "AddRelation", customer.pointer, of: roleId, in: suite)
        #expect(try await Self.own(customer, in: suite) == [true, true, true, true])
        #expect(try await customer.client.run("sessionsOf", ["userId": .string(customer.userId)]).status == 200)
        let master = ParseClient.master(suite)
        #expect(try await master.get("/users/\(customer.userId)")["isAdmin"] == true)
        let listed = try await master.find("_User", ["objectId": .string(customer.userId)])
        #expect(listed.results.first?["isAdmin"] == true, "\(listed.text)")
        // Apps save objects as they read them; this makes no admin.
        let path = "/users/\(customer.userId)"
        #expect(try await customer.client.call(.PUT, path, ["isAdmin": true, "city": "Ulm"]).status == 200)
        try await Self.change("users", "RemoveRelation", customer.pointer, of: roleId, in: suite)
        #expect(try await Self.own(customer, in: suite) == [nil, nil, nil, nil], "It was never stored.")
        #expect(try await customer.client.call(.PUT, path, ["isAdmin": true]).code == 119)
    }

    @Test func aRoleWithinTheAdminsCounts() async throws {
        let suite = try await Suite.shared
        let (customer, roleId) = (try await Customer.signUp(suite), try await Self.adminsId(suite))
        let made = try await ParseClient.master(suite).create(
            "_Role",
            [
                "name": .string("staff-\(Names.random(8))"), "ACL": [:],
                "users": ["__op": "AddRelation", "objects": [customer.pointer]],
            ])
        try #require(made.status == 201, "\(made.text)")
        let staff = JSON.pointer("_Role", made.objectId)
        try await Self.change("roles", "AddRelation", staff, of: roleId, in: suite)
        #expect(try await Self.own(customer, in: suite) == [true, true, true, true])
        #expect(try await ParseClient.master(suite).get("/users/\(customer.userId)")["isAdmin"] == true)
        try await Self.change("roles", "RemoveRelation", staff, of: roleId, in: suite)
        #expect(try await Self.own(customer, in: suite) == [nil, nil, nil, nil])
    }

    /// A stored value, for example from an import.
    @Test func theFieldAloneGrantsNothing() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let path = "/users/\(customer.userId)"
        #expect(try await ParseClient.master(suite).call(.PUT, path, ["isAdmin": true]).status == 200)
        #expect(try await customer.client.run("sessionsOf", ["userId": .string(customer.userId)]).code == 119)
        #expect(try await customer.client.create("Product", ["name": "Mine"]).code == 119)
    }
}
