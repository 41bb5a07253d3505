import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Attacks with query options and on users' secrets over HTTP, each named after its advisory. Other servers of this
/// protocol had these faults.
@Suite struct QueryAdvisoryTests {
    // MARK: Options for the master key

    @Test("2025-64502: explain tells nothing to anybody but the master key")
    func advisory2025_64502_explainIsForTheMasterKey() async throws {
        let suite = try await Suite.shared
        for client in try await ParseClient.attackers(suite) {
            for value in [true, "queryPlanner", "executionStats", false, 1, "nonsense"] as [JSON] {
                let answer = try await client.find("Product", ["name": "x"], ["explain": value])
                #expect(answer.code == 119, "\(answer.text)")
                #expect(answer["results"] == nil, "\(answer.text)")
            }
            let batch: JSON = ["requests": [["method": "GET", "path": "/parse/classes/Product?explain=true"]]]
            let inside = try await client.call(.POST, "/batch", batch)
            #expect(inside.json.at(0, "error", "code") == 119, "\(inside.text)")
        }
        let sub: JSON = ["brand": ["$inQuery": ["className": "Category", "where": [:], "explain": true]]]
        #expect(try await ParseClient(suite).find("Product", sub).code == 102)
    }

    @Test("2021-39187: a bad explain value is an error and not the end of anything")
    func advisory2021_39187_badExplainValuesAreRefused() async throws {
        let suite = try await Suite.shared
        for style in [ParseClient.Style.headers, .tunnelled] {
            var master = ParseClient.master(suite)
            master.style = style
            for value in [
                "nonsense", 2, -1, [:], [], ["queryPlanner": true], .string(String(repeating: "x", count: 5000)),
                "'; DROP TABLE o1",
            ] as [JSON] {
                let answer = try await master.find("Product", [:], ["explain": value])
                #expect(answer.code == 102, "\(answer.text)")
                #expect(answer["error"] == "Invalid value for explain", "\(answer.text)")
            }
        }
        try await suite.untilHealthy()
    }

    @Test("2026-30965: redirectClassNameForKey shows nobody more than the target class does by its name")
    func advisory2026_30965_redirectionKeepsTheRightsOfItsTarget() async throws {
        let suite = try await Suite.shared
        let user = try await Customer.signUp(suite)
        let holder = "Holder\(Names.random(6))"
        let related: JSON = ["__op": "AddRelation", "objects": [user.pointer]]
        let made = try await ParseClient.master(suite).create(
            holder, ["people": related, "secret": related, "one": user.pointer])
        #expect(made.status == 201, "\(made.text)")
        let hidden = try await ParseClient.master(suite).call(
            .PUT, "/schemas/\(holder)",
            [
                "classLevelPermissions": [
                    "find": ["*": true], "get": ["*": true], "protectedFields": ["*": ["secret"]],
                ]
            ])
        #expect(hidden.status == 200, "\(hidden.text)")
        func find(_ client: ParseClient, _ className: String, _ key: String) async throws -> ParseClient.Answer {
            try await client.find(className, [:], ["redirectClassNameForKey": .string(key)])
        }
        for client in try await ParseClient.attackers(suite) {
            // Pointers, protected relations and names that are no fields are refused.
            for (className, key) in [(holder, "one"), (holder, "secret"), (holder, "none"), ("Product", "brand")] {
                let answer = try await find(client, className, key)
                #expect(answer.status == 200, "\(key): \(answer.text)")
                #expect(answer["className"] == .string(className), "\(key): \(answer.text)")
            }
            let plain = try await client.find("_User")
            let redirected = try await find(client, holder, "people")
            #expect(redirected.status == plain.status, "\(redirected.text)")
            #expect(redirected.code == plain.code, "\(redirected.text)")
            #expect(redirected.results.map(\.objectId) == plain.results.map(\.objectId))
            #expect(!redirected.text.contains("r:"), "\(redirected.text)")
            #expect(!redirected.text.contains(user.email), "\(redirected.text)")
            let session = try await find(client, "_Session", "user")
            #expect(!session.text.contains(user.client.sessionToken ?? "r:"), "\(session.text)")
        }
    }

    // MARK: Users' secrets

    @Test("2020-5251: patterns bring no rows of users to somebody who may not read them")
    func advisory2020_5251_patternsBringNoUsers() async throws {
        let suite = try await Suite.shared
        let victim = try await Customer.signUp(suite)
        let stranger = try await Customer.signUp(suite)
        for client in [ParseClient(suite), stranger.client] {
            for condition in [
                ["objectId": ["$regex": "."]], ["username": ["$regex": .string("^\(victim.email.prefix(4))")]],
                ["$or": [["username": ["$regex": ".*"]]]],
                ["createdAt": ["$gt": "2000-01-01T00:00:00.000Z"]],
            ] as [JSON] {
                let answer = try await client.find("_User", condition, ["count": 1])
                #expect(!answer.text.contains(victim.userId))
                #expect(!answer.text.contains(victim.email))
                // Only the caller's own user, and users that are publicly readable.
                let readable = answer.results.filter {
                    $0.objectId == stranger.userId || $0.at("ACL", "*", "read") == true
                }
                #expect(readable.count == answer.results.count, "\(answer.text)")
                #expect(answer["count"]?.intValue ?? 0 == Int64(answer.results.count), "\(answer.text)")
            }
            let pattern: JSON = ["$regex": "."]
            for (path, body) in [
                ("/login", ["username": pattern, "password": "x"]),
                ("/login", ["username": .string(victim.email), "password": pattern]),
                ("/requestPasswordReset", ["email": pattern]), ("/verificationEmailRequest", ["email": pattern]),
            ] as [(String, JSON)] {
                let answer = try await client.call(.POST, path, body)
                #expect(answer.status >= 400, "\(path): \(answer.text)")
                #expect(!answer.text.contains("r:"), "\(path): \(answer.text)")
            }
            #expect(try await client.get("/users/%7B%22$regex%22%3A%22.%22%7D").status >= 400)
        }
        let sub: JSON = ["user": ["$inQuery": ["className": "_User", "where": ["username": ["$regex": "."]]]]]
        #expect(try await ParseClient(suite).find("ProductReview", sub).results.isEmpty)
    }

    @Test("2022-36079: internal and protected columns are no constraints")
    func advisory2022_36079_internalColumnsAreNoConstraints() async throws {
        let suite = try await Suite.shared
        let victim = try await Customer.signUp(suite)
        let me: JSON = .string(victim.userId)
        for name in [
            "_hashed_password", "_email_verify_token", "_perishable_token", "_session_token", "_rperm", "_wperm",
            "_acl", "_password_history",
            "_failed_login_count", "_account_lockout_expires_at", "_auth_data_facebook", "_tombstone", "_p_user", "_id",
            "_rperm.0",
        ] {
            for client in try await ParseClient.attackers(suite) + [victim.client, ParseClient.master(suite)] {
                for condition in [
                    .object([name: ["$regex": "^a"]]), ["$or": [.object([name: ["$exists": true]])]],
                ] as [JSON] {
                    let answer = try await client.find("_User", condition)
                    #expect([105, 119].contains(answer.code ?? 0), "\(name): \(answer.text)")
                }
                #expect(
                    [102, 105, 119].contains(try await client.find("_User", [:], ["order": .string(name)]).code ?? 0),
                    "\(name)")
            }
        }
        // No value under these names can be compared: the answer is the same for every guess.
        for name in ["password", "sessionToken", "hash"] {
            var answers: Set<String> = []
            for guess in [
                ["$exists": true], ["$regex": "^a"], ["$regex": "^r:"], ["$gt": ""], .string(victim.password),
            ] as [JSON] {
                let answer = try await ParseClient.master(suite).find("_User", ["objectId": me, name: guess])
                answers.insert(answer.text)
            }
            #expect(answers.count == 1, "\(name): \(answers)")
        }
        // The protected fields of a class.
        let stranger = try await Customer.signUp(suite)
        for name in ["authData", "authData.facebook.id"] {
            #expect(try await stranger.client.find("_User", .object([name: ["$exists": true]])).code == 119, "\(name)")
        }
    }
}
