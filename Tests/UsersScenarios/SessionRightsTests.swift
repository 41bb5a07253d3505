import ParseProtocol
import TestSupport
import Testing

/// The rights of sessions: restricted sessions, operators' sessions, and the limit on their number.
@Suite struct SessionRightsTests {
    /// A session for a device that must not be able to take over the account.
    private func restricted(_ customer: Customer) async throws -> ParseClient {
        let made = try await customer.client.call(.POST, "/sessions", ["device": "printer"])
        guard made.status == 201, let token = made["sessionToken"]?.stringValue, made["restricted"] == true else {
            throw Unexpected("POST sessions", made)
        }
        var client = customer.client
        client.sessionToken = token
        return client
    }

    @Test func aRestrictedSessionActsForItsUserButCannotTakeTheAccountOver() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let device = try await restricted(customer)
        let mine = try await device.get("/sessions/me")
        #expect(mine["createdWith"] == ["action": "create"], "\(mine.text)")
        #expect(mine["restricted"] == true, "\(mine.text)")
        #expect(try await device.get("/users/me").objectId == customer.userId)
        #expect(try await device.run("bag").status == 200)
        #expect(try await device.create("Note\(Names.random(5))", ["text": "hello"]).status == 201)
        let user = "/users/\(customer.userId)"
        let refused = [
            try await device.call(.PUT, user, ["password": "taken over"]),
            try await device.call(.PUT, user, ["email": "evil@customers.example"]),
            try await device.call(.DELETE, user),
            try await device.call(.POST, "/users", ["username": .string(Names.random(8)), "password": "secret1"]),
            try await device.call(.POST, "/sessions", [:]),
            try await device.call(.PUT, "/sessions/\(mine.objectId)", ["device": "x"]),
            try await device.call(.DELETE, "/sessions/\(mine.objectId)"),
            try await device.call(.POST, "/roles", ["name": .string("r\(Names.random(6))"), "ACL": [:]]),
        ]
        for answer in refused {
            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.code == 119, "\(answer.text)")
        }
        // The device cannot obtain the token of a session with more rights.
        #expect(try await device.get("/sessions").results.isEmpty)
        #expect(try await device.get(user).status == 404)
        let full = try await customer.client.get("/sessions/me")
        #expect(try await device.get("/sessions/\(full.objectId)").status == 404)
        let guess: JSON = [
            "$inQuery": ["className": "_Session", "where": ["sessionToken": ["$regex": "^r:"]]]
        ]
        #expect(try await device.find("_Role", ["owner": guess]).results.isEmpty)
        #expect(try await device.call(.POST, "/logout", [:]).status == 200)
        #expect(try await device.get("/users/me").code == 209)
        #expect(try await customer.client.get("/users/me").status == 200)
    }

    /// 2026-32742, 2026-33527, 2026-34574
    @Test func clientsCannotChooseWhatIsTheServersInASession() async throws {
        let customer = try await Customer.signUp(try await Suite.shared)
        let mine = try await customer.client.get("/sessions/me")
        for field in ["user", "sessionToken", "expiresAt", "createdWith", "restricted", "installationId", "ACL"] {
            for value in [.null, 0, "", false, ["__op": "Delete"]] as [JSON] {
                let created = try await customer.client.call(.POST, "/sessions", .object([field: value]))
                #expect(created.code == 105, "\(field) \(value.serializedText): \(created.text)")
                let changed = try await customer.client.call(
                    .PUT, "/sessions/\(mine.objectId)", .object([field: value]))
                #expect(changed.code == 105, "\(field) \(value.serializedText): \(changed.text)")
            }
        }
    }

    @Test func theMasterKeySignsInAsAnybodyAndNobodyElseDoes() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let wanted: JSON = ["userId": .string(customer.userId)]
        for client in [ParseClient(suite), customer.client] {
            let refused = try await client.call(.POST, "/loginAs", wanted)
            #expect(refused.status == 400 && refused.code == 119, "\(refused.text)")
        }
        let batch = try await customer.client.call(
            .POST, "/batch", ["requests": [["method": "POST", "path": "/parse/loginAs", "body": wanted]]])
        #expect(!batch.text.contains("sessionToken"), "\(batch.text)")
        let answer = try await ParseClient.master(suite).call(.POST, "/loginAs", wanted)
        try #require(answer.status == 200, "\(answer.text)")
        var client = ParseClient(suite)
        client.sessionToken = answer["sessionToken"]?.stringValue
        #expect(try await client.get("/users/me").objectId == customer.userId)
        #expect(
            try await client.get("/sessions/me")["createdWith"] == ["action": "login", "authProvider": "masterkey"])
        #expect(try await ParseClient.master(suite).call(.POST, "/loginAs", ["userId": "nobody"]).code == 101)
        #expect(try await ParseClient.master(suite).call(.POST, "/loginAs", ["userId": ["$ne": ""]]).code == 162)
    }

    /// 2026-34215 (GHSA-wp76-gg32-8258), 2026-53725 (GHSA-75v4-m273-5j49)
    @Test func aPasswordIsVerifiedWithoutASessionAndWrongOnesCount() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let pair: JSON = ["username": .string(customer.email), "password": .string(customer.password)]
        let right = try await ParseClient(suite).call(.POST, "/verifyPassword", pair)
        #expect(right.status == 200, "\(right.text)")
        #expect(right.objectId == customer.userId, "\(right.text)")
        #expect(right["sessionToken"] == nil)
        #expect(!right.text.contains("scrypt"))
        #expect(!right.text.contains("token"))
        let query = ["username": .string(customer.email), "password": .string(customer.password)] as [String: JSON]
        #expect(try await ParseClient(suite).get("/verifyPassword", query).status == 200)
        #expect(try await suite.rows("users", "SELECT count(*) FROM credentials WHERE hash LIKE '$scrypt$%'") != [[0]])
        for _ in 0..<5 {
            let wrong = try await ParseClient(suite).call(
                .POST, "/verifyPassword", ["username": .string(customer.email), "password": "wrong!"])
            #expect(wrong.status == 404)
            #expect(wrong.code == 101)
        }
        let locked = try await ParseClient(suite).call(.POST, "/login", pair)
        #expect(locked.text.contains("locked"), "\(locked.text)")
        #expect(try await ParseClient(suite).call(.POST, "/verifyPassword", pair).text.contains("locked"))
    }

    @Test func anAppWithAnOldSessionIsToldThatItsSessionIsRevocable() async throws {
        let customer = try await Customer.signUp(try await Suite.shared)
        let answer = try await customer.client.call(.POST, "/upgradeToRevocableSession", [:])
        #expect(answer.status == 200)
        #expect(answer["sessionToken"]?.stringValue == customer.client.sessionToken)
    }

    @Test func anAdminSeesAndEndsSomebodysSessions() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let device = try await customer.signInAgain()
        let wanted: JSON = ["userId": .string(customer.userId)]
        for function in ["sessionsOf", "revokeSessions"] {
            #expect(try await customer.client.run(function, wanted).code == 119)
        }
        let admin = try await Customer.admin(suite)
        let listed = try await admin.run("sessionsOf", wanted)
        #expect(listed.result.arrayValue?.count == 2, "\(listed.text)")
        #expect(!listed.text.contains("r:"), "\(listed.text)")
        for client in [customer.client, device] { #expect(try await client.get("/users/me").status == 200) }
        let revoked = try await admin.run("revokeSessions", wanted)
        #expect(revoked.result == ["revoked": 2], "\(revoked.text)")
        for client in [customer.client, device] { #expect(try await client.get("/users/me").code == 209) }
        #expect(try await admin.run("revokeSessions", ["userId": ["$ne": ""]]).code == 142)
        #expect(try await admin.get("/users/me").status == 200)
    }

    @Test func theOldestExcessSessionsEnd() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let master = ParseClient.master(suite)
        for _ in 0..<100 {
            let made = try await master.call(.POST, "/loginAs", ["userId": .string(customer.userId)])
            try #require(made.status == 200, "\(made.text)")
        }
        #expect(try await customer.client.get("/users/me").code == 209, "The first of 101 is gone.")
        let count = try await master.find("_Session", ["user": customer.pointer], ["count": 1, "limit": 0])
        #expect(count["count"] == 100)
    }
}
