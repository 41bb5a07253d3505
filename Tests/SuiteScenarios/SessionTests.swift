import ParseProtocol
import TestSupport
import Testing

/// Sessions, sign-in and the rights that result from them.
@Suite struct SessionTests {
    @Test func aLogoutIsEffectiveBeforeItIsAnswered() async throws {
        try await Self.logoutRevokesAtOnce(in: try await Suite.shared)
    }

    /// Repeated, so that every replica and lane gets a request.
    static func logoutRevokesAtOnce(in suite: Suite) async throws {
        let customer = try await Customer.signUp(suite)
        let device = try await customer.signInAgain()
        for client in [customer.client, device] {
            for _ in 0..<4 { #expect(try await client.get("/users/me").status == 200) }
        }
        #expect(try await device.call(.POST, "/logout", [:]).json == [:])
        for _ in 0..<8 {
            let refused = try await device.get("/users/me")
            #expect(refused.status == 400, "\(refused.text)")
            #expect(refused.code == 209, "\(refused.text)")
            #expect(try await device.run("bag").code == 209)
        }
        #expect(try await customer.client.get("/users/me").status == 200, "The other device stays signed in.")
    }

    @Test func oneSessionCanBeRevokedByDeletingIt() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let device = try await customer.signInAgain()
        let mine = try await device.get("/sessions/me")
        #expect(mine.status == 200)
        #expect(try await customer.client.call(.GET, "/sessions").results.count == 2)
        #expect(try await customer.client.call(.DELETE, "/sessions/\(mine.objectId)").status == 200)
        #expect(try await device.get("/users/me").code == 209)
        #expect(try await customer.client.get("/users/me").status == 200)
    }

    @Test func anUnknownSessionIsRefusedEverywhereButAtLogin() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        var client = customer.client
        client.sessionToken = "r:00000000000000000000000000000000"
        #expect(try await client.find("Product").code == 209)
        #expect(try await client.run("bag").code == 209)
        let login = try await client.call(
            .POST, "/login", ["username": .string(customer.email), "password": .string(customer.password)])
        #expect(login.status == 200, "\(login.text)")
    }

    @Test func anExpiredSessionIsRefused() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let session = try await customer.client.get("/sessions/me")
        let past: JSON = ["expiresAt": ["__type": "Date", "iso": "2020-01-01T00:00:00.000Z"]]
        #expect(try await customer.client.call(.PUT, "/sessions/\(session.objectId)", past).status == 400)
        #expect(try await customer.client.get("/users/me").status == 200)
        let changed = try await ParseClient.master(suite).call(.PUT, "/sessions/\(session.objectId)", past)
        try #require(changed.status == 200, "\(changed.text)")
        let refused = try await customer.client.get("/users/me")
        #expect(refused.status == 400, "\(refused.text)")
        #expect(refused.code == 209, "\(refused.text)")
        #expect(try await customer.client.run("addToBag", ["productId": "x"]).code == 209)
    }

    @Test func signUpRefusesWhatIsTakenOrMalformed() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let upper = JSON.string(customer.email.uppercased())
        let cases: [(JSON, Int)] = [
            (["username": upper, "password": "secret1"], 202),
            (["username": .string(Names.random(8)), "email": upper, "password": "secret1"], 203),
            (["username": .string(Names.random(8)), "email": "not an address", "password": "secret1"], 125),
            (["username": .string(Names.random(8)), "password": "short"], 142),
            (["username": .string(Names.random(8))], 201),
            (["password": "secret1"], 200),
            (["username": ["$ne": "x"], "password": "secret1"], 200),
            (["username": .string(Names.random(8)), "password": ["$ne": "x"]], 201),
        ]
        for (body, code) in cases {
            let answer = try await ParseClient(suite).call(.POST, "/users", body)
            #expect(answer.status == 400, "\(body.serializedText): \(answer.text)")
            #expect(answer.code == code, "\(body.serializedText): \(answer.text)")
        }
        for body in [
            ["username": .string(customer.email), "password": "wrong!"], ["username": "nobody", "password": "wrong!"],
        ] as [JSON] {
            let answer = try await ParseClient(suite).call(.POST, "/login", body)
            #expect(answer.status == 404)
            #expect(answer.code == 101)
            #expect(answer.json.text("error") == "Invalid username/password.")
        }
    }

    @Test func onlyAdminsWriteProducts() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Lip \(Names.random(4))"])
        let path = "/classes/Product/\(shelf.productIds[0])"
        let customer = try await Customer.signUp(suite)
        let product: JSON = ["name": "Mine", "unitPrice": 1, "brand": shelf.pointer]
        for client in [customer.client, ParseClient(suite)] {
            #expect(try await client.create("Product", product).code == 119)
            #expect(try await client.call(.PUT, path, ["unitPrice": 0]).code == 119)
            #expect(try await client.call(.DELETE, path).code == 119)
            #expect(try await client.create("Category", ["title": "Mine"]).code == 119)
            #expect(try await client.create("Promotion", ["content": "Free"]).code == 119)
        }
        #expect(try await customer.client.call(.PUT, "/users/\(customer.userId)", ["isAdmin": true]).status >= 400)
        let admin = try await Customer.admin(suite)
        let changed = try await admin.call(.PUT, path, ["unitPrice": 4.25])
        #expect(changed.status == 200, "\(changed.text)")
        #expect(try await admin.create("Promotion", ["content": "Spring"]).status == 201)
    }

    /// A new member is an admin from the next request on; a removed one no longer is.
    @Test func aChangeOfRolesIsEffectiveAtOnce() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let customer = try await Customer.signUp(suite)
        let role = try #require(
            try await master.call(.GET, "/roles", options: ["where": ["name": "admins"]]).results.first)
        #expect(try await customer.client.run("analyticsEvents", ["name": "AppOpened"]).code == 119)
        for (operation, expected) in [("AddRelation", 200), ("RemoveRelation", 400)] {
            let change: JSON = ["users": ["__op": .string(operation), "objects": [customer.pointer]]]
            let answer = try await master.call(.PUT, "/roles/\(role.objectId)", change)
            try #require(answer.status == 200, "\(answer.text)")
            let asked = try await customer.client.run("analyticsEvents", ["name": "AppOpened"])
            #expect(asked.status == expected, "\(operation): \(asked.text)")
        }
    }
}
