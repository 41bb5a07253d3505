import ParseProtocol
import TestSupport
import Testing

/// Parse Server's advisories about identity providers, over HTTP. `IdentityProviderTests` covers invalid proofs.
@Suite(.serialized) struct ProviderAdvisoryTests {
    /// Adapters that Satchel lacks have no route: 2020-26288 and 2026-87806 (LDAP), 2022-24901 and 2022-31083 (Game
    /// Center), 2025-68150 (Instagram), 2026-30949 (Keycloak), 2026-32269 (OAuth 2 introspection), 2026-116163 (custom
    /// adapters).
    @Test(arguments: [
        "ldap", "gcenter", "instagram", "keycloak", "oauth2", "github", "custom", "constructor", "__proto__",
    ])
    func aProviderThatIsNotBuiltIsUnsupported(_ provider: String) async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let authData: JSON = .object([
            provider: [
                "id": "1", "password": "", "access_token": "x", "publicKeyUrl": "https://static.gc.apple.com/x",
                "apiURL": "http://127.0.0.1:1/",
            ]
        ])
        let answers = [
            try await ParseClient(suite).call(.POST, "/users", ["authData": authData]),
            try await customer.client.call(.PUT, "/users/\(customer.userId)", ["authData": authData]),
            try await ParseClient(suite).call(
                .POST, "/login",
                [
                    "username": .string(customer.email), "password": .string(customer.password), "authData": authData,
                ]),
            try await ParseClient(suite).call(.POST, "/login", ["authData": authData]),
        ]
        for answer in answers.prefix(3) {
            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.code == 252, "\(answer.text)")
        }
        #expect(answers[3].code == 200, "2026-33538: no account is looked for: \(answers[3].text)")
        #expect(try await customer.client.get("/users/me")["authData"] == nil)
    }

    /// 2021-39138
    @Test func advisory2021_39138_anAnonymousSessionSaysThatItIsAnonymous() async throws {
        let suite = try await Suite.shared
        let (client, _) = try await Customer.anonymous(suite)
        #expect(
            try await client.get("/sessions/me")["createdWith"] == ["action": "signup", "authProvider": "anonymous"])
        let customer = try await Customer.signUp(suite)
        #expect(
            try await customer.client.get("/sessions/me")["createdWith"]
                == ["action": "signup", "authProvider": "password"])
    }

    /// 2026-32242
    @Test func advisory2026_32242_proofsOfSeveralProvidersAtOnceAreNotMixedUp() async throws {
        try await ProviderSuite.with { suite, _ in
            let wrong = try await withThrowingTaskGroup(of: String?.self) { group in
                for number in 0..<16 {
                    group.addTask {
                        let id = "\(700 + number)"
                        let isFacebook = number % 2 == 0
                        let isRight = number % 4 < 2
                        let proof =
                            isFacebook
                            ? ProviderSuite.facebook(id, token: isRight ? nil : "fb-app:1")
                            : ProviderSuite.twitter(id, token: isRight ? nil : "1-token")
                        let name = isFacebook ? "facebook" : "twitter"
                        let answer = try await ParseClient(suite).call(
                            .POST, "/users", ["authData": .object([name: proof])])
                        let isExpected = isRight ? answer.status == 201 : answer.code == 101
                        return isExpected ? nil : "\(name) \(id): \(answer.text)"
                    }
                }
                return try await group.reduce(into: [String]()) { if let text = $1 { $0.append(text) } }
            }
            #expect(wrong.isEmpty, "\(wrong)")
            let stored = try await suite.rows("users", "SELECT value FROM identities WHERE kind LIKE 'auth:%'")
            #expect(stored.count == 8)
        }
    }

    /// 2019-1020013. Also, a signed-in user's wrong proofs count like wrong passwords.
    @Test func advisory2019_1020013_linkingDoesNotTellWhoIsLinkedAndGuessesCount() async throws {
        try await ProviderSuite.with { suite, _ in
            let made = try await ParseClient(suite).call(
                .POST, "/users", ["authData": ["facebook": ProviderSuite.facebook("81")]])
            try #require(made.status == 201)
            let customer = try await Customer.signUp(suite)
            let path = "/users/\(customer.userId)"
            var answers: [ParseClient.Answer] = []
            for id in ["81", "82", "81", "82", "81"] {
                let proof = ProviderSuite.facebook(id, token: "fb-app:1")
                answers.append(try await customer.client.call(.PUT, path, ["authData": ["facebook": proof]]))
            }
            try #require(Set(answers.map(\.text)).count == 1, "\(answers.map(\.text))")
            #expect(answers[0].code == 101, "\(answers.map(\.text))")
            let late = try await customer.client.call(
                .PUT, path, ["authData": ["facebook": ProviderSuite.facebook("82")]])
            #expect(late.code == 101, "\(late.text)")
            #expect(late.text.contains("locked"), "\(late.text)")
            #expect(try await customer.client.call(.PUT, path, ["city": "Ulm"]).status == 200)
        }
    }

    /// The second factor applies to every kind of sign-in, and wrong codes count there too.
    @Test func aProviderDoesNotReplaceTheSecondFactor() async throws {
        try await ProviderSuite.with(["SATCHEL_MFA": "totp"]) { suite, _ in
            let app = Authenticator()
            var client = ParseClient(suite)
            let facebook = ProviderSuite.facebook("91")
            let made = try await client.call(.POST, "/users", ["authData": ["facebook": facebook]])
            client.sessionToken = made["sessionToken"]?.stringValue
            let mfa: JSON = ["secret": .string(app.secret), "token": .string(try await app.next())]
            let enrolled = try await client.call(.PUT, "/users/\(made.objectId)", ["authData": ["mfa": mfa]])
            try #require(enrolled.status == 200, "\(enrolled.text)")
            func signIn(_ token: String?) async throws -> ParseClient.Answer {
                var authData: JSON = ["facebook": facebook]
                if let token { authData["mfa"] = ["token": .string(token)] }
                return try await ParseClient(suite).call(.POST, "/users", ["authData": authData])
            }
            #expect(try await signIn(nil).code == 211)
            let code = try await app.next()
            let right = try await signIn(code)
            #expect(right.status == 200, "\(right.text)")
            #expect(right.objectId == made.objectId, "\(right.text)")
            #expect(right["authData"] == ["facebook": facebook, "mfa": ["status": "enabled"]])
            for _ in 0..<5 { #expect(try await signIn(code).code == 141) }
            #expect(try await signIn(code).text.contains("locked"))
            let stranger = try await ParseClient(suite).call(
                .POST, "/users", ["authData": ["facebook": ProviderSuite.facebook("92"), "mfa": ["token": "123456"]]])
            #expect(stranger.code == 141, "Nobody new has a code: \(stranger.text)")
        }
    }
}
