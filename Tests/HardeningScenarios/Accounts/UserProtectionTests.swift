import ParseProtocol
import TestSupport
import Testing

/// T11b, T13: edits of class-level permissions expose no accounts, and read rights limit the fields of a query.
@Suite(.serialized) struct UserProtectionTests {
    private static let open: [String: JSON] = [
        "find": ["*": true], "count": ["*": true], "get": ["*": true], "create": ["*": true], "update": ["*": true],
        "delete": ["*": true], "addField": ["*": true],
    ]

    private static func permit(_ className: String, _ permissions: [String: JSON], in suite: Suite) async throws {
        let answer = try await ParseClient.master(suite).call(
            .PUT, "/schemas/\(className)", ["classLevelPermissions": .object(permissions)])
        guard answer.status == 200 else { throw Unexpected("PUT schemas", answer) }
    }

    /// T11b
    @Test func aPermissionsEditOpensNoAccounts() async throws {
        try await Suite.with { suite in
            let victim = try await Customer.signUp(suite)
            let shown = try await ParseClient.master(suite).call(
                .PUT, "/users/\(victim.userId)",
                ["ACL": ["*": ["read": true], .init(victim.userId): ["read": true, "write": true]]])
            try #require(shown.status == 200, "\(shown.text)")
            let anonymous = try await ParseClient(suite).call(
                .POST, "/users", ["authData": ["anonymous": ["id": .string(Names.random(20))]]])
            try #require(anonymous.status == 201, "\(anonymous.text)")
            _ = try await ParseClient.master(suite).call(
                .PUT, "/users/\(anonymous.objectId)", ["ACL": ["*": ["read": true]]])
            for groups in [nil, [:], ["role:admins": []], ["*": []], ["*": ["zip"]], ["authenticated": []]] as [JSON?] {
                var edit = Self.open
                edit["protectedFields"] = groups
                try await Self.permit("_User", edit, in: suite)
                for client in try await ParseClient.attackers(suite) {
                    let seen = try await client.get("/users/\(victim.userId)")
                    #expect(seen.status == 200, "\(seen.text)")
                    #expect(seen["email"] == nil, "\(seen.text)")
                    #expect(seen["authData"] == nil, "\(seen.text)")
                    #expect(try await client.get("/users/\(anonymous.objectId)")["authData"] == nil)
                    #expect(try await client.find("_User", ["email": ["$regex": "@"]]).code == 119)
                    #expect(try await client.find("_User", ["authData.anonymous.id": ["$exists": true]]).code == 119)
                    #expect(!(try await client.get("/users")).text.contains("authData"))
                }
            }
            #expect(try await victim.client.get("/users/me")["email"] != nil)
            let schema = try await ParseClient.master(suite).get("/schemas/_User")
            #expect(
                schema.json.at("classLevelPermissions", "protectedFields") == [
                    "*": ["email", "authData"], "authenticated": ["email", "authData"],
                ], "\(schema.text)")
        }
    }

    /// T13a
    @Test func aQueryForOneIdNeedsTheRightToGet() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        for (right, other) in [("get", "find"), ("find", "get")] {
            let className = "Right\(Names.random(8))"
            let object = try await master.create(className, ["n": 1])
            try await Self.permit(className, [right: ["*": true]], in: suite)
            for client in try await ParseClient.attackers(suite) {
                let one = try await client.find(className, ["objectId": .string(object.objectId)])
                let all = try await client.find(className, ["n": 1])
                #expect(right == "get" ? one.results.count == 1 : one.code == 119, "\(right): \(one.text)")
                #expect(right == "find" ? all.results.count == 1 : all.code == 119, "no \(other): \(all.text)")
            }
        }
    }

    /// T13b
    @Test func pointerPermissionsAnswerWhoIsNotSignedInWithNothing() async throws {
        let suite = try await Suite.shared
        let (owner, master) = (try await Customer.signUp(suite), ParseClient.master(suite))
        let className = "Pointed\(Names.random(8))"
        let object = try await master.create(className, ["owner": owner.pointer])
        for permissions in [
            ["readUserFields": ["owner"]],
            [
                "find": ["pointerFields": ["owner"]], "count": ["pointerFields": ["owner"]],
                "get": ["pointerFields": ["owner"]],
            ],
        ] as [[String: JSON]] {
            try await Self.permit(className, permissions, in: suite)
            for client in [ParseClient(suite), ParseClient(suite, style: .tunnelled)] {
                #expect(try await client.find(className).json == ["results": []])
                let count = try await client.find(className, [:], ["count": 1, "limit": 0])
                #expect(count["count"] == 0, "\(count.text)")
                let got = try await client.get("/classes/\(className)/\(object.objectId)")
                #expect(got.status == 404, "\(got.text)")
                #expect(got.code == 101, "\(got.text)")
            }
            #expect(try await owner.client.find(className).results.count == 1)
        }
    }
}
