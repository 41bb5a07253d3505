import ParseProtocol
import TestSupport
import Testing

/// Parse Server's advisories about sessions, over HTTP, and the limits of a restricted session. `SessionRightsTests`
/// checks that clients cannot write server fields (2026-32742, 2026-33527, 2026-34574).
@Suite struct SessionAdvisoryTests {
    /// 2022-39225
    @Test func advisory2022_39225_aSessionIsItsUsersAlone() async throws {
        let suite = try await Suite.shared
        let (ann, ben) = (try await Customer.signUp(suite), try await Customer.signUp(suite))
        let session = try await ann.client.get("/sessions/me")
        for path in ["/sessions/\(session.objectId)", "/classes/_Session/\(session.objectId)"] {
            for method in ["GET", "PUT", "DELETE"] {
                let answer = try await ben.client.call(
                    .init(rawValue: method), path, method == "PUT" ? ["device": "mine"] : nil)
                #expect(answer.status == 404, "\(method) \(path): \(answer.text)")
                #expect(answer.code == 101, "\(method) \(path): \(answer.text)")
            }
        }
        let batch = try await ben.client.call(
            .POST, "/batch",
            [
                "requests": [
                    [
                        "method": "PUT", "path": .string("/parse/sessions/\(session.objectId)"),
                        "body": ["device": "x"],
                    ]
                ]
            ])
        #expect(batch.json.at(0, "error", "code") == 101, "\(batch.text)")
        #expect(try await ben.client.find("_Session", ["user": ann.pointer]).results.isEmpty)
        #expect(try await ann.client.get("/sessions/me")["device"] == nil)
        let own = try await ann.client.call(.PUT, "/sessions/\(session.objectId)", ["device": "phone"])
        #expect(own.status == 200, "\(own.text)")
        #expect(try await ann.client.get("/sessions/me")["device"] == "phone")
    }

    /// #10194
    @Test func advisory10194_aSessionThatIsKnownEndsInTime() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let session = try await customer.client.get("/sessions/me")
        let end = Timestamp(milliseconds: Timestamp.now.milliseconds + 3000)
        let changed = try await ParseClient.master(suite).call(
            .PUT, "/sessions/\(session.objectId)", ["expiresAt": ["__type": "Date", "iso": .string(end.iso)]])
        try #require(changed.status == 200, "\(changed.text)")
        // Repeated, so that every cache contains it.
        try await eventually("the session is over", within: .seconds(20)) {
            let answer = try await customer.client.get("/users/me")
            #expect(answer.status == 200 || (answer.code == 209 && Timestamp.now >= end), "\(answer.text)")
            return answer.code == 209
        }
        #expect(try await customer.client.find("Product").code == 209)
    }

    /// #10213
    @Test(arguments: ["GET", "POST", "PUT", "DELETE"])
    func advisory10213_aVoidSessionIsRefusedWithEveryMethod(_ method: String) async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        var client = ParseClient(suite)
        client.sessionToken = "r:00000000000000000000000000000000"
        let session = try await customer.client.get("/sessions/me")
        for path in ["/sessions/me", "/sessions/\(session.objectId)", "/sessions", "/users/me", "/logout"] {
            for style in [ParseClient.Style.headers, .tunnelled] {
                client.style = style
                let answer = try await client.call(.init(rawValue: method), path, method == "GET" ? nil : [:])
                #expect(answer.status == 400, "\(method) \(path): \(answer.text)")
                #expect(answer.code == 209, "\(method) \(path): \(answer.text)")
            }
        }
        #expect(try await customer.client.get("/sessions/me").status == 200)
        let master = try await ParseClient.master(suite).get("/sessions/me")
        #expect(master.code == 209, "The master key has no session: \(master.text)")
    }

    // MARK: Restricted sessions

    @Test func anAdminsRestrictedSessionIsNoAdmins() async throws {
        let suite = try await Suite.shared
        let (admin, customer) = (try await Customer.admin(suite), try await Customer.signUp(suite))
        let made = try await admin.call(.POST, "/sessions", ["device": "till"])
        try #require(made.status == 201, "\(made.text)")
        var till = admin
        till.sessionToken = made["sessionToken"]?.stringValue
        let user: JSON = ["userId": .string(customer.userId)]
        for (function, parameters) in [
            ("sessionsOf", user), ("revokeSessions", user), ("charges", [:]), ("mails", [:]), ("crashProjects", [:]),
            ("reviewsToModerate", [:]), ("analyticsEvents", ["name": "AppOpened"]), ("shipOrder", ["orderId": "x"]),
            ("orders", ["customerId": .string(customer.userId)]),
        ] as [(String, JSON)] {
            let answer = try await till.run(function, parameters)
            #expect(answer.status == 400, "\(function): \(answer.text)")
            #expect(answer.code == 119, "\(function): \(answer.text)")
        }
        #expect(try await admin.run("sessionsOf", user).result.arrayValue?.count == 1)
        #expect(try await till.call(.POST, "/logout", [:]).status == 200)
    }

    // MARK: Unverified addresses

    /// A user that may not sign in gets no session by any other means.
    @Test func withoutAVerifiedAddressNoPathMakesASession() async throws {
        try await Suite.with(settings: ["SATCHEL_PREVENT_LOGIN_UNVERIFIED": "true"]) { suite in
            let name = Names.random(9)
            var client = ParseClient(suite)
            let made = try await client.call(
                .POST, "/users", ["username": .string(name), "password": "secret1"])
            client.sessionToken = made["sessionToken"]?.stringValue
            let path = "/users/\(made.objectId)"
            let email = "\(name.lowercased())@customers.example"
            #expect(try await client.call(.PUT, path, ["email": .string(email)]).status == 200)
            #expect(try await client.call(.POST, "/sessions", [:]).code == 205)
            let changed = try await client.call(.PUT, path, ["password": "secret2"])
            #expect(changed.status == 200, "\(changed.text)")
            #expect(changed["sessionToken"] == nil, "\(changed.text)")
            #expect(try await client.get("/users/me").code == 209)
            let pair: JSON = ["username": .string(name), "password": "secret2"]
            #expect(try await ParseClient(suite).call(.POST, "/login", pair).code == 205)
            // The master key may override this, in the body and in a query.
            let master = ParseClient.master(suite)
            #expect(try await master.call(.POST, "/verifyPassword", pair).code == 205)
            var ignoring = pair
            ignoring["ignoreEmailVerification"] = true
            #expect(try await master.call(.POST, "/verifyPassword", ignoring).status == 200)
            #expect(try await master.get("/verifyPassword", ignoring.objectValue ?? [:]).status == 200)
            #expect(try await ParseClient(suite).call(.POST, "/verifyPassword", ignoring).code == 205)
            #expect(try await MailedLink.newest("verify_email", to: email, in: suite).open().status == 200)
            let signedIn = try await ParseClient(suite).call(.POST, "/login", pair)
            client.sessionToken = signedIn["sessionToken"]?.stringValue
            #expect(try await client.call(.PUT, path, ["password": "secret3"])["sessionToken"] != nil)
        }
    }

    @Test func loginAsNamesWhatIsMissing() async throws {
        let master = ParseClient.master(try await Suite.shared)
        for body in [[:], ["userId": ""], ["userId": .null], ["userId": 5]] as [JSON] {
            let answer = try await master.call(.POST, "/loginAs", body)
            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.code == 162, "\(answer.text)")
            #expect(answer["error"] == "userId must not be empty, null, or undefined")
        }
    }
}
