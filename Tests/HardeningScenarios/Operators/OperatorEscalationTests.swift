import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// No operator can give himself a right that he lacks. Ids T14c and T14d of docs/internals/hardening.md.
@Suite struct OperatorEscalationTests {
    /// T14c
    @Test func operatorsCannotAddThemselvesToRoles() async throws {
        let desk = try await Desk.shared
        let reserved = Desk.roles + ["admins"]
        for role in Desk.roles {
            let member = try desk.member(of: role)
            for name in reserved where name != role {
                let id = try await Desk.id(of: name, desk.suite)
                for change in [
                    Desk.adding(member.pointer), ["ACL": ["*": ["read": true, "write": true]]], ["name": "mine"],
                ] as [JSON] {
                    let answer = try await member.client.call(.PUT, "/roles/\(id)", change)
                    #expect(answer.code == 101 || answer.code == 119, "\(role) \(name): \(answer.text)")
                }
                #expect(try await member.client.call(.DELETE, "/roles/\(id)").status != 200)
                let made = try await member.client.create("_Role", ["name": .string(name), "ACL": [:]])
                #expect(made.code == 137, "\(role) \(name): \(made.text)")
            }
            let own = try await member.client.call(.PUT, "/users/\(member.userId)", ["isAdmin": true])
            #expect(own.code == 119, "\(own.text)")
            #expect(try await member.client.run("myAreas").result["areas"]?.arrayValue?.count == 1)
        }
    }

    /// T14c
    @Test func adminsChangeWhoIsInARoleAndNothingElseOfIt() async throws {
        let desk = try await Desk.shared
        let customer = try await Customer.signUp(desk.suite)
        let id = try await Desk.id(of: "support", desk.suite)
        #expect(try await desk.admin.call(.PUT, "/roles/\(id)", Desk.adding(customer.pointer)).status == 200)
        #expect(try await customer.client.run("myAreas").result["areas"] == ["support"])
        let removed = try await desk.admin.call(
            .PUT, "/roles/\(id)", ["users": ["__op": "RemoveRelation", "objects": [customer.pointer]]])
        #expect(removed.status == 200, "\(removed.text)")
        #expect(try await customer.client.run("myAreas").result["areas"] == [])
        let opened = try await desk.admin.call(.PUT, "/roles/\(id)", ["ACL": ["*": ["read": true, "write": true]]])
        #expect(opened.code == 119, "\(opened.text)")
        #expect(try await desk.admin.call(.DELETE, "/roles/\(id)").code == 119)
    }

    /// A role that is a member of another role has its rights, as always in Parse.
    @Test func aRoleWithinAnAreasRoleHasTheArea() async throws {
        let desk = try await Desk.shared
        let customer = try await Customer.signUp(desk.suite)
        let team = try await ParseClient.master(desk.suite).create(
            "_Role",
            [
                "name": .string("team-\(Names.random(8))"), "ACL": [:],
                "users": ["__op": "AddRelation", "objects": [customer.pointer]],
            ])
        try #require(team.status == 201, "\(team.text)")
        let id = try await Desk.id(of: "order-desk", desk.suite)
        let pointer = JSON.pointer("_Role", team.objectId)
        func change(_ operation: String) async throws -> Int {
            try await desk.admin.call(
                .PUT, "/roles/\(id)", ["roles": ["__op": .string(operation), "objects": [pointer]]]
            ).status
        }
        #expect(try await change("AddRelation") == 200)
        #expect(try await customer.client.run("charges").status == 200)
        #expect(try await change("RemoveRelation") == 200)
        #expect(try await customer.client.run("charges").code == 119)
    }

    /// T14d
    @Test func developersKeepOutOfTheRightsOfOthers() async throws {
        let desk = try await Desk.shared
        let developer = try desk.member(of: "developers").client
        let open: JSON = ["*": true]
        let everybody: JSON = ["find": open, "get": open, "create": open, "update": open, "delete": open]
        for name in ["_User", "_Role", "_Session", "_Installation", "Product", "Order", "PaymentMethod", "Promotion"] {
            for wish in [
                ["classLevelPermissions": everybody], ["classLevelPermissions": .null],
                ["fields": ["extra": ["type": "Number", "defaultValue": 1]]],
                ["indexes": ["once": ["createdAt": 1, "_unique": true]]],
            ] as [JSON] {
                let answer = try await developer.call(.PUT, "/schemas/\(name)", wish)
                #expect(answer.code == 119, "\(name): \(answer.text.prefix(200))")
            }
        }
        let price: JSON = ["fields": ["unitPrice": ["type": "Number", "defaultValue": 0]]]
        #expect(try await developer.call(.PUT, "/schemas/Product", price).code == 119)
        let trigger: JSON = [
            "className": "Order", "triggerName": "afterSave", "url": "https://hooks.example/",
        ]
        #expect(try await developer.call(.POST, "/hooks/triggers", trigger).code == 119)
        #expect(try await developer.call(.GET, "/classes/Order").results.isEmpty)

        // The shop's own classes are permitted.
        let own = "Desk\(Names.random(8))"
        let made = try await developer.call(
            .POST, "/schemas/\(own)",
            ["fields": ["text": ["type": "String"]], "classLevelPermissions": ["find": ["role:developers": true]]])
        #expect(made.status == 200, "\(made.text)")
        #expect(try await developer.find(own).status == 200)
        #expect(try await developer.call(.DELETE, "/schemas/\(own)").status == 200)
    }

    /// T14d
    @Test func hiddenParametersStayHiddenFromDevelopers() async throws {
        let desk = try await Desk.shared
        let developer = try desk.member(of: "developers").client
        let (shown, secret) = ("shown\(Names.random(8))", "secret\(Names.random(8))")
        let set = try await desk.admin.call(
            .PUT, "/config",
            ["params": .object([secret: "for servers"]), "masterKeyOnly": .object([secret: true])])
        try #require(set.status == 200, "\(set.text)")
        #expect(try await desk.admin.get("/config")["params"]?[secret] == "for servers")
        let seen = try await developer.get("/config")
        #expect(!seen.text.contains(secret))
        for change in [
            ["params": .object([secret: "mine"])], ["masterKeyOnly": .object([secret: false])],
            ["params": .object([secret: ["__op": "Delete"]])],
        ] as [JSON] {
            #expect(try await developer.call(.PUT, "/config", change).code == 119)
        }
        let own = try await developer.call(.PUT, "/config", ["params": .object([shown: 1])])
        #expect(own.status == 200, "\(own.text)")
        let gone: JSON = ["__op": "Delete"]
        let removed = try await desk.admin.call(.PUT, "/config", ["params": .object([shown: gone, secret: gone])])
        #expect(removed.status == 200, "\(removed.text)")
    }
}
