import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Sign-in with Facebook, X, Apple and Google, against servers that check signatures and issue tokens like the real
/// ones, including their faults. No user is ever signed in without the provider's confirmation.
@Suite(.serialized) struct IdentityProviderTests {
    /// A suite with the four providers, all simulated by one peer.
    private func withProviders(_ body: (Suite, Peer) async throws -> Void) async throws {
        try await Peer.with("identity.py") { peer in
            let settings = [
                "SATCHEL_FACEBOOK_APP_IDS": "fb-app, fb-other", "SATCHEL_FACEBOOK_APP_SECRET": "fb-secret",
                "SATCHEL_FACEBOOK_URL": "\(peer.url)/facebook", "SATCHEL_TWITTER_CONSUMER_KEY": "tw-key",
                "SATCHEL_TWITTER_CONSUMER_SECRET": "tw-secret", "SATCHEL_TWITTER_URL": "\(peer.url)/twitter",
                "SATCHEL_APPLE_CLIENT_IDS": "com.shop.app", "SATCHEL_APPLE_KEYS_URL": "\(peer.url)/keys",
                "SATCHEL_GOOGLE_CLIENT_IDS": "google-client", "SATCHEL_GOOGLE_KEYS_URL": "\(peer.url)/keys",
            ]
            try await Suite.with(settings: settings) { try await body($0, peer) }
        }
    }

    private static func facebook(_ id: String, token: String? = nil) -> JSON {
        [
            "facebook": [
                "id": .string(id), "access_token": .string(token ?? "fb-app:\(id)"),
                "expiration_date": "2030-01-01T00:00:00.000Z",
            ]
        ]
    }

    private static func twitter(_ id: String, _ more: [String: JSON] = [:]) -> JSON {
        let proof: [String: JSON] = [
            "id": .string(id), "screen_name": "x", "auth_token": .string("\(id)-token"),
            "auth_token_secret": "token-secret",
            "consumer_key": "tw-key",
        ]
        return ["twitter": .object(proof.merging(more) { $1 })]
    }

    private func post(_ path: String, _ body: JSON, to peer: Peer) async throws -> JSON {
        var client = ParseClient(try await Suite.shared)
        client.url = peer.url
        return try await client.send(.POST, path, body: body.serialized).json
    }

    private static let hour: Int64 = 3600

    private func token(
        _ peer: Peer, sub: String = "user-1", iss: JSON = "https://appleid.apple.com", aud: JSON = "com.shop.app",
        expiresIn: Int64 = hour, key: JSON = "current", header: JSON = [:]
    ) async throws -> JSON {
        let claims: JSON = [
            "sub": .string(sub), "iss": iss, "aud": aud, "exp": .int(Timestamp.now.milliseconds / 1000 + expiresIn),
        ]
        return try await post("/token", ["claims": claims, "key": key, "header": header], to: peer)["token"] ?? .null
    }

    private func signUp(_ suite: Suite, _ authData: JSON) async throws -> ParseClient.Answer {
        try await ParseClient(suite).call(.POST, "/users", ["authData": authData])
    }

    /// 2026-33627: the provider's data is stored nowhere, and only the answer to its own request contains it.
    @Test func theFirstSignInMakesAnAccountAndTheNextOnesFindIt() async throws {
        try await withProviders { suite, peer in
            let google = try await token(peer, sub: "g1", iss: "accounts.google.com", aud: "google-client")
            let proofs: [(String, JSON)] = [
                ("facebook", Self.facebook("10001")), ("twitter", Self.twitter("20001")),
                ("apple", ["apple": ["id": "user-1", "token": try await token(peer)]]),
                ("google", ["google": ["id": "g1", "id_token": google]]),
            ]
            for (provider, authData) in proofs {
                let made = try await signUp(suite, authData)
                try #require(made.status == 201, "\(provider): \(made.text)")
                #expect((made["username"]?.stringValue ?? "").count > 10)
                let found = try await signUp(suite, authData)
                #expect(found.status == 200, "\(found.text)")
                #expect(found.objectId == made.objectId, "\(found.text)")
                #expect(found["authData"] == authData, "\(found.text)")
                #expect(made["authData"] == nil, "\(found.text)")
                var client = ParseClient(suite)
                client.sessionToken = found["sessionToken"]?.stringValue
                let session = try await client.get("/sessions/me")
                #expect(session["createdWith"] == ["action": "login", "authProvider": .string(provider)])
                // Only the id is stored, and only the master key sees it: SDKs would treat a partial entry as an ended
                // link.
                #expect(try await client.get("/users/me")["authData"] == nil)
                let kept = try await ParseClient.master(suite).get("/users/\(made.objectId)")
                #expect(
                    kept["authData"] == .object([provider: ["id": authData[provider]?["id"] ?? .null]]), "\(kept.text)")
                let stored = try await suite.rows(
                    "users", "SELECT count(*) FROM identities WHERE kind = 'auth:\(provider)'")
                #expect(stored == [[1]])
            }
        }
    }

    @Test func authDataIsVisibleToItsOwnerOnly() async throws {
        try await withProviders { suite, _ in
            let made = try await ParseClient(suite).call(
                .POST, "/users", ["authData": Self.facebook("31"), "ACL": ["*": ["read": true]]])
            try #require(made.status == 201, "\(made.text)")
            let stranger = try await Customer.signUp(suite)
            let seen = try await stranger.client.get("/users/\(made.objectId)")
            #expect(seen.status == 200, "\(seen.text)")
            #expect(seen["authData"] == nil, "\(seen.text)")
            let asked = try await stranger.client.find("_User", ["authData.facebook.id": "31"])
            #expect(asked.code == 119, "\(asked.text)")
        }
    }

    @Test func aLinkIsAddedUsedAndRemoved() async throws {
        try await withProviders { suite, _ in
            let customer = try await Customer.signUp(suite)
            let path = "/users/\(customer.userId)"
            let linked = try await customer.client.call(.PUT, path, ["authData": Self.facebook("7")])
            try #require(linked.status == 200, "\(linked.text)")
            #expect(try await signUp(suite, Self.facebook("7")).objectId == customer.userId)
            // Apps save objects as they read them.
            let saved = try await customer.client.call(
                .PUT, path, ["authData": ["facebook": ["id": "7"]], "city": "Ulm"])
            #expect(saved.status == 200, "\(saved.text)")
            // Another account cannot have the same link, and an account cannot have two.
            let other = try await Customer.signUp(suite)
            let conflict = try await other.client.call(.PUT, "/users/\(other.userId)", ["authData": Self.facebook("7")])
            #expect(conflict.status == 400, "\(conflict.text)")
            #expect(conflict.code == 208, "\(conflict.text)")
            let stolen = try await other.client.call(
                .PUT, "/users/\(other.userId)", ["authData": ["facebook": ["id": "8"]]])
            #expect(stolen.code == 101, "A new id needs a proof: \(stolen.text)")
            let unlinked = try await customer.client.call(.PUT, path, ["authData": ["facebook": .null]])
            #expect(unlinked.status == 200, "\(unlinked.text)")
            #expect(try await customer.client.get("/users/me")["authData"] == nil)
            #expect(try await signUp(suite, Self.facebook("7")).status == 201)
        }
    }

    /// As in Parse Server: a proof never replaces the password, and a proof sent with it is linked.
    @Test func aProofBesideThePasswordIsLinked() async throws {
        try await withProviders { suite, peer in
            let customer = try await Customer.signUp(suite)
            let alone = try await ParseClient(suite).call(.POST, "/login", ["authData": Self.facebook("41")])
            #expect(alone.code == 200, "\(alone.text)")
            func logIn(_ authData: JSON, password: String? = nil) async throws -> ParseClient.Answer {
                var pair = customer.pair(authData)
                if let password { pair["password"] = .string(password) }
                return try await ParseClient(suite).call(.POST, "/login", pair)
            }
            let guessed = try await logIn(Self.facebook("41"), password: "wrong")
            #expect(guessed.code == 101, "Nobody is asked for a wrong password.")
            #expect(peer.reports().isEmpty, "Nobody is asked for a wrong password.")
            let refused = try await logIn(Self.facebook("41", token: "forged"))
            #expect(refused.code == 101, "\(refused.text)")
            #expect(refused["sessionToken"] == nil, "\(refused.text)")
            let linked = try await logIn(Self.facebook("41"))
            try #require(linked.status == 200 && linked.objectId == customer.userId, "\(linked.text)")
            #expect(linked["authData"] == Self.facebook("41"))
            #expect(linked["sessionToken"] != nil)
            #expect(try await signUp(suite, Self.facebook("41")).objectId == customer.userId)
            let other = try await Customer.signUp(suite)
            let taken = try await ParseClient(suite).call(.POST, "/login", other.pair(Self.facebook("41")))
            #expect(taken.code == 208, "\(taken.text)")
            #expect(taken["sessionToken"] == nil, "\(taken.text)")
            // An app's old anonymous id is not a link of an account with a password.
            #expect(try await logIn(["anonymous": ["id": "0123456789"]]).status == 200)
            #expect(try await logIn(["facebook": .null]).status == 200)
            #expect(try await signUp(suite, Self.facebook("41")).status == 201)
        }
    }

    @Test func anAnonymousUserBecomesAFullOneByAProvider() async throws {
        try await withProviders { suite, _ in
            let (client, userId) = try await Customer.anonymous(suite)
            let shelf = try await Shelf.fill(suite, names: ["Lip \(Names.random(4))"])
            let favourite: JSON = ["product": .pointer("Product", shelf.productIds[0])]
            #expect(try await client.create("FavoriteProduct", favourite).status != 201)
            let linked = try await client.call(.PUT, "/users/\(userId)", ["authData": Self.twitter("9")])
            try #require(linked.status == 200, "\(linked.text)")
            let linkedUser = try await ParseClient.master(suite).get("/users/\(userId)")
            #expect(linkedUser["authData"] == ["twitter": ["id": "9"]], "\(linkedUser.text)")
            let kept = try await client.create("FavoriteProduct", favourite)
            #expect(kept.status == 201, "A full user at once: \(kept.text)")
        }
    }

    /// #10149
    @Test func manyFirstSignInsAtOnceMakeOneUser() async throws {
        try await withProviders { suite, _ in
            let ids = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<12 { group.addTask { try await signUp(suite, Self.facebook("55")).objectId } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(ids.count == 1)
            #expect(ids != [""])
            #expect(try await suite.rows("users", "SELECT count(*) FROM identities WHERE value = '55'") == [[1]])
        }
    }

    /// 2026-30967 (GHSA-fr88-w35c-r596), 2025-30168 (GHSA-837q-jhwx-cmpv), 2022-39231 (GHSA-r657-33vp-gp22), 2026-27804
    /// (GHSA-4q3h-vp4r-prv2), 2026-30863 (GHSA-x6fw-778m-wr9v), 2026-33409 (GHSA-pfj7-wv7c-22pr)
    @Test func aProofOfSomethingElseIsRefused() async throws {
        try await withProviders { suite, peer in
            var proofs: [(String, JSON)] = [
                ("another user's token", Self.facebook("1", token: "fb-app:2")),
                ("a token for another app", Self.facebook("1", token: "evil-app:1")),
                ("an app whose id begins like ours", Self.facebook("1", token: "fb-app2:1")),
                ("a made-up token", Self.facebook("1", token: "x")),
                ("a token that would add a parameter", Self.facebook("1", token: "fb-app:2&access_token=fb-app:1")),
                ("no token", ["facebook": ["id": "1"]]),
                ("a token that is no text", ["facebook": ["id": "1", "access_token": ["$ne": ""]]]),
                ("another user's X token", Self.twitter("1", ["auth_token": "2-token"])),
                ("a wrong X secret", Self.twitter("1", ["auth_token_secret": "guess"])),
                (
                    "the client's own consumer key",
                    Self.twitter("1", ["consumer_key": "evil", "consumer_secret": "evil"])
                ),
                ("no X token", ["twitter": ["id": "1"]]), ("no Apple token", ["apple": ["id": "user-1"]]),
                ("an Apple token that is none", ["apple": ["id": "user-1", "token": "a.b.c"]]),
            ]
            let tokens: [(String, JSON)] = [
                ("another audience", try await token(peer, aud: "com.other.app")),
                ("no audience", try await token(peer, aud: [])),
                ("another issuer", try await token(peer, iss: "https://evil.example")),
                ("an expired token", try await token(peer, expiresIn: -5)),
                ("another user's token", try await token(peer, sub: "user-2")),
                ("no signature", try await token(peer, key: "none")),
                ("the public key as a secret", try await token(peer, key: "secret")),
                ("a stranger's key", try await token(peer, key: "stranger")),
                ("an unknown key id", try await token(peer, header: ["kid": "nobody"])),
                ("a key of an unheard-of kind", try await token(peer, header: ["kid": "other"])),
                ("no key id", try await token(peer, header: ["kid": .null])),
            ]
            proofs += tokens.map { ($0.0, ["apple": ["id": "user-1", "token": $0.1]]) }
            for (what, authData) in proofs {
                let answer = try await signUp(suite, authData)
                #expect(answer.status == 404, "\(what): \(answer.text)")
                #expect(answer.code == 101, "\(what): \(answer.text)")
                #expect(answer.json.text("error").hasSuffix("auth is invalid for this user."))
            }
            #expect(try await suite.rows("users", "SELECT count(*) FROM identities WHERE kind LIKE 'auth:%'") == [[0]])
            #expect(suite.logTails(lines: 10_000) { $0.contains("fb-app:") || $0.contains("token-secret") }.isEmpty)
        }
    }

    /// 2026-32248 (GHSA-5fw2-8jcv-xh87), 2026-33042 (GHSA-wjqw-r9x4-j59v), 2026-33538 (GHSA-g4cf-xj29-wqqr),
    /// 2026-101042 (GHSA-mr43-w6c2-mvjq)
    @Test func whatIsNoProofIsRefusedBeforeAnybodyIsAsked() async throws {
        try await withProviders { suite, peer in
            let cases: [(JSON, Int)] = [
                ([:], 200), (["facebook": [:]], 253),
                (["facebook": ["id": ["$regex": "^1"], "access_token": "x"]], 253),
                (["facebook": ["id": 10001, "access_token": "fb-app:10001"]], 253), (["facebook": []], 253),
                (["myspace": ["id": "1"]], 252), (["constructor": ["id": "1"]], 252), ("facebook", 253),
            ]
            for (authData, code) in cases {
                let answer = try await signUp(suite, authData)
                #expect(answer.status == 400, "\(authData.serializedText): \(answer.text)")
                #expect(answer.code == code, "\(authData.serializedText): \(answer.text)")
            }
            let customer = try await Customer.signUp(suite)
            let verified = try await ParseClient(suite).call(
                .POST, "/verifyPassword", customer.pair(Self.facebook("1")))
            #expect(verified.code == 252, "Nothing looks like a check that is none: \(verified.text)")
            let unknown = try await ParseClient(suite).call(
                .POST, "/login", customer.pair(["myspace": ["id": "1"]]))
            #expect(unknown.code == 252, "\(unknown.text)")
            let dotted = try await customer.client.call(
                .PUT, "/users/\(customer.userId)", ["authData.facebook.id": "10001"])
            #expect(dotted.code == 105, "\(dotted.text)")
            #expect(peer.reports().isEmpty)
        }
    }

    @Test func aProviderThatIsNotConfiguredIsUnsupported() async throws {
        let suite = try await Suite.shared
        for authData in [
            Self.facebook("1"), Self.twitter("1"), ["apple": ["id": "1", "token": "x"]], ["google": ["id": "1"]],
        ] as [JSON] {
            let answer = try await signUp(suite, authData)
            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.code == 252, "\(answer.text)")
        }
    }

    /// The table of docs/guides/identity.md. The app may retry; meanwhile no user is signed in, and the suite
    /// continues.
    @Test func aFailingProviderSignsInNoUser() async throws {
        try await withProviders { suite, peer in
            try #require(try await signUp(suite, Self.facebook("77")).status == 201)
            for mode in ["500", "429", "302", "garbage", "half", "close", "text", "slow"] {
                _ = try await post("/mode", ["mode": .string(mode)], to: peer)
                for authData in [
                    Self.facebook("77"), Self.twitter("77"),
                    ["google": ["id": "1", "id_token": try await token(peer)]],
                ] {
                    let answer = try await signUp(suite, authData)
                    #expect(answer.status == 503, "\(mode): \(answer.status) \(answer.text)")
                    #expect(answer.code == 2, "\(mode): \(answer.status) \(answer.text)")
                    #expect(answer.headers.first(name: "Retry-After") != nil)
                }
            }
            try await eventually("the log names the failure") {
                !suite.logTails(lines: 10_000) { $0.contains("could not be asked") }.isEmpty
            }
            _ = try await post("/mode", ["mode": "ok"], to: peer)
            #expect(try await signUp(suite, Self.facebook("77")).status == 200)
            await peer.stop()
            let down = try await signUp(suite, Self.facebook("77"))
            #expect(down.status == 503, "\(down.text)")
            #expect(down.code == 2, "\(down.text)")
        }
    }

    @Test func newSigningKeysAreFetchedWhenATokenNamesOne() async throws {
        try await withProviders { suite, peer in
            func fetches() -> Int { peer.reports().filter { $0["path"] == "/keys" }.count }
            let first: JSON = ["apple": ["id": "user-1", "token": try await token(peer)]]
            #expect(try await signUp(suite, first).status == 201)
            #expect(try await signUp(suite, first).status == 200)
            #expect(fetches() == 1)
            _ = try await post("/rotate", [:], to: peer)
            let second: JSON = ["apple": ["id": "user-1", "token": try await token(peer)]]
            #expect(try await signUp(suite, second).status == 200)
            // Invented key ids do not cause a key request each.
            for number in 0..<5 {
                let madeUp = try await token(peer, header: ["kid": .string("made-up-\(number)")])
                #expect(try await signUp(suite, ["apple": ["id": "user-1", "token": madeUp]]).code == 101)
            }
            #expect(fetches() == 2)
        }
    }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            (["SATCHEL_FACEBOOK_APP_IDS": "1"], "SATCHEL_FACEBOOK_APP_SECRET"),
            (["SATCHEL_TWITTER_CONSUMER_KEY": "k"], "SATCHEL_TWITTER_CONSUMER_SECRET"),
            (["SATCHEL_APPLE_CLIENT_IDS": "a", "SATCHEL_APPLE_KEYS_URL": "appleid"], "SATCHEL_APPLE_KEYS_URL"),
            (["SATCHEL_RESET_HOURS": "soon"], "SATCHEL_RESET_HOURS"),
            (["SATCHEL_SESSION_DAYS": "0"], "SATCHEL_SESSION_DAYS"),
            (["SATCHEL_PREVENT_LOGIN_UNVERIFIED": "true", "SATCHEL_VERIFY_EMAIL": "false"], "SATCHEL_VERIFY_EMAIL"),
        ] as [([String: String], String)])
    func wrongSettingsStopTheServiceWithAClearText(_ settings: [String: String], _ named: String) async throws {
        let data = ["SATCHEL_DATA": "/tmp/satchel-\(Names.random(8))"]
        let problem = await #expect(throws: Command.Failed.self) {
            _ = try await Command.run(
                ["\(checkoutDirectory)/.build/release/users"], environment: data.merging(settings) { $1 })
        }
        #expect(problem?.description.contains("The service cannot run.") == true)
        #expect(problem?.description.contains(named) == true, "\(problem?.description ?? "")")
    }
}

extension Customer {
    /// The body of a sign-in with a password and `authData`.
    fileprivate func pair(_ authData: JSON) -> JSON {
        ["username": .string(email), "password": .string(password), "authData": authData]
    }
}
