import ParseProtocol
import TestSupport
import Testing

/// Operators' class-level permissions for users and sessions apply on every route, including the special ones.
@Suite(.serialized) struct AccountPermissionTests {
    private static let open: [String: JSON] = [
        "find": ["*": true], "count": ["*": true], "get": ["*": true], "create": ["*": true], "update": ["*": true],
        "delete": ["*": true], "addField": ["*": true],
    ]

    private static func permit(_ className: String, _ changes: [String: JSON], in suite: Suite) async throws {
        let answer = try await ParseClient.master(suite).call(
            .PUT, "/schemas/\(className)", ["classLevelPermissions": .object(open.merging(changes) { $1 })])
        guard answer.status == 200 else { throw Unexpected("PUT schemas", answer) }
    }

    private static func pair(_ customer: Customer) -> JSON {
        ["username": .string(customer.email), "password": .string(customer.password)]
    }

    /// 2026-112769
    @Test func advisory2026_112769_aSessionIsCreatedAsTheClassAllows() async throws {
        try await Suite.with { suite in
            let customer = try await Customer.signUp(suite)
            try await Self.permit("_Session", ["addField": [:]], in: suite)
            for path in ["/sessions", "/classes/_Session"] {
                let refused = try await customer.client.call(.POST, path, ["gadget": "till"])
                #expect(refused.status == 400, "\(refused.text)")
                #expect(refused.code == 119, "\(refused.text)")
            }
            #expect(try await customer.client.call(.POST, "/sessions", [:]).status == 201)
            try await Self.permit("_Session", ["create": ["role:admins": true]], in: suite)
            let refused = try await customer.client.call(.POST, "/sessions", [:])
            #expect(refused.status == 400, "\(refused.text)")
            #expect(refused.code == 119, "\(refused.text)")
            let batch = try await customer.client.call(
                .POST, "/batch", ["requests": [["method": "POST", "path": "/parse/classes/_Session", "body": [:]]]])
            #expect(batch.json.at(0, "error", "code") == 119, "\(batch.text)")
            let admin = try await Customer.admin(suite)
            #expect(try await admin.call(.POST, "/sessions", [:]).status == 201)
            #expect(try await ParseClient(suite).call(.POST, "/login", Self.pair(customer)).status == 200)
        }
    }

    /// 2026-39381
    @Test func advisory2026_39381_aProtectedFieldOfASessionIsInNoAnswer() async throws {
        try await Suite.with { suite in
            let customer = try await Customer.signUp(suite)
            #expect(try await customer.client.get("/sessions/me")["createdWith"] != nil)
            try await Self.permit("_Session", ["protectedFields": ["*": ["createdWith", "expiresAt"]]], in: suite)
            let me = try await customer.client.get("/sessions/me")
            let answers = [
                me, try await customer.client.get("/sessions"),
                try await customer.client.get("/sessions/\(me.objectId)"),
                try await customer.client.call(.POST, "/upgradeToRevocableSession", [:]),
                try await customer.client.call(.POST, "/sessions", [:]),
            ]
            for answer in answers {
                #expect((200..<300).contains(answer.status), "\(answer.text)")
                #expect(!answer.text.contains("createdWith"), "\(answer.text)")
                #expect(!answer.text.contains("expiresAt"), "\(answer.text)")
                #expect(answer.text.contains("sessionToken"))
            }
            try await Self.permit("_Session", ["get": [:]], in: suite)
            #expect(try await customer.client.get("/sessions/me").code == 119)
            let made = try await customer.client.call(.POST, "/sessions", [:])
            #expect(made.status == 201, "\(made.text)")
            #expect(made["sessionToken"] != nil, "\(made.text)")
            #expect(made["user"] == nil, "\(made.text)")
        }
    }

    /// 2026-53725, 2026-34215, 2026-33627
    @Test func advisory2026_53725_signingInShowsNoMoreThanReading() async throws {
        try await Suite.with { suite in
            let customer = try await Customer.signUp(suite)
            try await Self.permit("_User", ["get": ["role:admins": true]], in: suite)
            for path in ["/login", "/verifyPassword"] {
                let answer = try await ParseClient(suite).call(.POST, path, Self.pair(customer))
                #expect(answer.status == 200, "\(answer.text)")
                #expect(answer.objectId == customer.userId, "\(answer.text)")
                let shown = Set(answer.json.objectValue.map { Array($0.keys) } ?? [])
                #expect(
                    shown.subtracting(["sessionToken"]) == ["objectId", "createdAt", "updatedAt"], "\(answer.text)")
            }
            #expect(try await customer.client.get("/users/me").code == 119)
            #expect(try await customer.client.get("/users/\(customer.userId)").code == 119)
        }
    }

    /// #10268
    @Test func advisory10268_whoMayNotSignUpLearnsNothingByTrying() async throws {
        try await Suite.with { suite in
            let customer = try await Customer.signUp(suite)
            try await Self.permit("_User", ["create": ["role:admins": true]], in: suite)
            let wishes: [JSON] = [
                ["username": .string(customer.email), "password": "secret1"], [:], ["username": "x", "password": "y"],
                ["username": "x", "password": "secret1", "email": "no address"], ["authData": ["myspace": ["id": "1"]]],
                ["authData": ["anonymous": ["id": "1"]]], ["username": "new", "password": "secret1"],
            ]
            var texts: Set<String> = []
            for path in ["/users", "/classes/_User"] {
                for wish in wishes {
                    let answer = try await ParseClient(suite).call(.POST, path, wish)
                    #expect(answer.status == 400, "\(wish.serializedText): \(answer.text)")
                    #expect(answer.code == 119, "\(wish.serializedText): \(answer.text)")
                    texts.insert(answer.text)
                }
            }
            #expect(texts.count == 1, "\(texts)")
        }
    }

    // MARK: Password policy

    @Test func aPasswordFollowsTheOperatorsRules() async throws {
        let settings = [
            "SATCHEL_PASSWORD_LENGTH_MIN": "8", "SATCHEL_PASSWORD_HISTORY": "2",
            // The first admin's password, generated by scripts/up, must match this pattern too.
            "SATCHEL_PASSWORD_PATTERN": "^(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])(?=.*[^0-9A-Za-z])",
        ]
        try await Suite.with(settings: settings) { suite in
            let client = ParseClient(suite)
            let name = JSON.string(Names.random(9))
            for password in ["short1", "No digit at all"] {
                let refused = try await client.call(.POST, "/users", ["username": name, "password": .string(password)])
                #expect(refused.status == 400, "\(refused.text)")
                #expect(refused.code == 142, "\(refused.text)")
            }
            let made = try await client.call(.POST, "/users", ["username": name, "password": "Password 1"])
            var own = client
            own.sessionToken = made["sessionToken"]?.stringValue
            func change(_ password: String) async throws -> ParseClient.Answer {
                let answer = try await own.call(.PUT, "/users/\(made.objectId)", ["password": .string(password)])
                if let token = answer["sessionToken"]?.stringValue { own.sessionToken = token }
                return answer
            }
            let repeated = try await change("Password 1")
            #expect(repeated.code == 142, "\(repeated.text)")
            #expect(repeated.text.contains("last 2 passwords"), "\(repeated.text)")
            #expect(try await change("Password 2").status == 200)
            #expect(try await change("Password 1").code == 142)
            #expect(try await change("Password 3").status == 200)
            #expect(try await change("Password 1").status == 200, "Only the last two count.")
        }
    }
}
