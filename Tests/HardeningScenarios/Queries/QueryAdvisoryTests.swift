import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Attacks on queries that other servers of this protocol fell to, each named after its advisory, made from outside
/// over HTTP.
@Suite struct QueryAdvisoryTests {
    /// A class with a field that clients may not see, a relation that they may not follow, and one object that ann
    /// owns.
    private struct Guarded {
        let name: String
        let objectId: String
        let members: [String]

        static let secret = "s3cret-value"

        init(_ suite: Suite) async throws {
            let master = ParseClient.master(suite)
            name = "Guarded\(Names.random(6))"
            let everybody: JSON = ["*": true]
            var permissions: [String: JSON] = ["protectedFields": ["*": ["secret", "vault", "links"]]]
            for action in ["find", "count", "get", "create", "update", "delete", "addField"] {
                permissions[action] = everybody
            }
            let fields: JSON = [
                "secret": ["type": "String"], "vault": ["type": "Object"], "name": ["type": "String"],
                "links": ["type": "Relation", "targetClass": .string("\(name)Member")],
                "open": ["type": "Relation", "targetClass": .string("\(name)Member")],
            ]
            let made = try await master.call(
                .POST, "/schemas/\(name)",
                ["className": .string(name), "fields": fields, "classLevelPermissions": .object(permissions)])
            guard made.status == 200 else { throw Unexpected("POST schemas", made) }
            var members: [String] = []
            for index in 0..<3 {
                members.append(try await master.create("\(name)Member", ["n": .int(Int64(index))]).objectId)
            }
            let all = JSON.array(members.map { .pointer("\(made.json.text("className"))Member", $0) })
            self.members = members
            let created = try await master.create(
                name,
                [
                    "name": "one", "secret": .string(Self.secret), "vault": ["code": .string(Self.secret)],
                    "links": ["__op": "AddRelation", "objects": all], "open": ["__op": "AddRelation", "objects": all],
                ])
            guard created.status == 201 else { throw Unexpected("POST", created) }
            objectId = created.objectId
        }
    }

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
            // Pointers, protected relations and what is no field lead nowhere.
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

    // MARK: Protected fields and relations

    @Test("2026-53726: $relatedTo keeps to the relation's field protection and the owner's ACL")
    func advisory2026_53726_relatedToKeepsToProtection() async throws {
        let suite = try await Suite.shared
        let guarded = try await Guarded(suite)
        let owner = JSON.pointer(guarded.name, guarded.objectId)
        let (hidden, open): (JSON, JSON) = (
            ["$relatedTo": ["object": owner, "key": "links"]], ["$relatedTo": ["object": owner, "key": "open"]]
        )
        for client in try await ParseClient.attackers(suite) {
            #expect(try await client.find("\(guarded.name)Member", hidden).code == 119)
            #expect(try await client.find("\(guarded.name)Member", open).results.count == 3)
        }
        let master = ParseClient.master(suite)
        #expect(try await master.find("\(guarded.name)Member", hidden).results.count == 3)
        _ = try await master.call(.PUT, "/classes/\(guarded.name)/\(guarded.objectId)", ["ACL": [:]])
        for client in try await ParseClient.attackers(suite) {
            #expect(
                try await client.find("\(guarded.name)Member", open).json == ["results": []],
                "The owner cannot be read.")
        }
        // The same for members at another service.
        let customer = try await Customer.signUp(suite)
        let club = "Club\(Names.random(6))"
        let closed = try await master.create(
            club, ["fans": ["__op": "AddRelation", "objects": [customer.pointer]], "ACL": [:]])
        let fans: JSON = ["$relatedTo": ["object": .pointer(club, closed.objectId), "key": "fans"]]
        #expect(try await customer.client.find("_User", fans).json == ["results": []])
        let permissions: JSON = [
            "find": ["*": true], "get": ["*": true], "count": ["*": true], "protectedFields": ["*": ["fans"]],
        ]
        _ = try await master.call(.PUT, "/schemas/\(club)", ["classLevelPermissions": permissions])
        #expect(try await customer.client.find("_User", fans).code == 119)
        _ = try await master.call(.PUT, "/schemas/\(club)", ["classLevelPermissions": ["find": ["*": true]]])
        #expect(try await customer.client.find("_User", fans).code == 119, "Nobody may get an object of the class.")
    }

    @Test("2026-109303: a count with $relatedTo tells nothing about a protected relation")
    func advisory2026_109303_countsKeepToProtection() async throws {
        let suite = try await Suite.shared
        let guarded = try await Guarded(suite)
        let master = ParseClient.master(suite)
        let owner = JSON.pointer(guarded.name, guarded.objectId)
        let counting: [String: JSON] = ["count": 1, "limit": 0]
        let (hidden, open): (JSON, JSON) = (
            ["$relatedTo": ["object": owner, "key": "links"]], ["$relatedTo": ["object": owner, "key": "open"]]
        )
        let known = hidden.objectValue?.merging(["objectId": .string(guarded.members[0])]) { $1 } ?? [:]
        for client in try await ParseClient.attackers(suite) {
            for condition in [hidden, .object(known)] {
                let answer = try await client.find("\(guarded.name)Member", condition, counting)
                #expect(answer.code == 119, "\(answer.text)")
                #expect(answer["count"] == nil, "\(answer.text)")
            }
            #expect(try await client.find("\(guarded.name)Member", open, counting)["count"] == 3)
        }
        _ = try await master.call(.PUT, "/classes/\(guarded.name)/\(guarded.objectId)", ["ACL": [:]])
        for client in try await ParseClient.attackers(suite) {
            #expect(try await client.find("\(guarded.name)Member", open, counting)["count"] == 0)
        }
        let customer = try await Customer.signUp(suite)
        let club = "Club\(Names.random(6))"
        let closed = try await master.create(
            club, ["fans": ["__op": "AddRelation", "objects": [customer.pointer]], "ACL": [:]])
        let fans: JSON = ["$relatedTo": ["object": .pointer(club, closed.objectId), "key": "fans"]]
        #expect(try await customer.client.find("_User", fans, counting)["count"] == 0)
        #expect(try await master.find("_User", fans, counting)["count"] == 1)
    }

    @Test("2026-30962: a protected field is refused however deep it stands under $or, $and and $nor")
    func advisory2026_30962_nestingDoesNotHideAProtectedField() async throws {
        let suite = try await Suite.shared
        let guarded = try await Guarded(suite)
        let plain: JSON = ["secret": ["$regex": "^s"]]
        var conditions: [JSON] = [
            plain, ["$or": [plain]], ["$and": [plain]], ["$nor": [plain]],
            ["$or": [["name": "one"], ["$and": [["$nor": [plain]]]]]],
        ]
        var deep = plain
        for index in 0..<14 { deep = .object([["$or", "$and", "$nor"][index % 3]: [["name": "x"], deep]]) }
        conditions.append(deep)
        let inside: JSON = ["links": ["$inQuery": ["className": .string(guarded.name), "where": ["$or": [plain]]]]]
        for client in try await ParseClient.attackers(suite) {
            for condition in conditions {
                for options: [String: JSON] in [[:], ["count": 1, "limit": 0]] {
                    let answer = try await client.find(guarded.name, condition, options)
                    #expect(answer.code == 119, "\(condition.serializedText): \(answer.text)")
                    #expect(answer["count"] == nil, "\(condition.serializedText): \(answer.text)")
                }
            }
            #expect(try await client.find("\(guarded.name)Holder", inside).code == 119, "In a sub-query, too.")
        }
    }

    @Test("2026-31872: a dotted name does not reach into a protected field, in conditions and orders")
    func advisory2026_31872_dotsDoNotReachIntoAProtectedField() async throws {
        let suite = try await Suite.shared
        let guarded = try await Guarded(suite)
        let holder = "\(guarded.name)Holder"
        _ = try await ParseClient.master(suite).create(holder, ["target": .pointer(guarded.name, guarded.objectId)])
        for client in try await ParseClient.attackers(suite) {
            for name in ["vault.code", "vault.code.x", "secret.x", "secret"] {
                #expect(try await client.find(guarded.name, .object([name: ["$exists": true]])).code == 119, "\(name)")
                for order in [name, "-\(name)", "name,\(name)"] {
                    #expect(try await client.find(guarded.name, [:], ["order": .string(order)]).code == 119, "\(order)")
                    #expect(
                        try await client.find(guarded.name, [:], ["order": .string(order), "after": ""]).code == 119,
                        "\(order)")
                }
                // Through a pointer of another class.
                #expect(try await client.find(holder, .object(["target.\(name)": ["$exists": true]])).code == 119)
                #expect(try await client.find(holder, [:], ["order": .string("-target.\(name)")]).code == 119)
            }
            let selected: JSON = [
                "name": [
                    "$select": ["query": ["className": .string(guarded.name), "where": [:]], "key": "vault.code"]
                ]
            ]
            let answer = try await client.find(guarded.name, selected)
            #expect(answer.results.isEmpty, "What a sub-query may not see it does not bring: \(answer.text)")
        }
    }

    // MARK: Bounds

    @Test("2026-30946: includes and sub-queries have bounds in depth and number")
    func advisory2026_30946_complexityIsBounded() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        func include(_ depth: Int) -> JSON { .string(Array(repeating: "brand", count: depth).joined(separator: ".")) }
        #expect(try await client.find("Product", [:], ["include": include(10), "limit": 1]).status == 200)
        #expect(try await client.find("Product", [:], ["include": include(11), "limit": 1]).code == 102)
        let many = JSON.string((0..<101).map { "f\($0)" }.joined(separator: ","))
        #expect(try await client.find("Product", [:], ["include": many]).code == 102)
        func nested(_ depth: Int) -> JSON {
            (0..<depth).reduce(["title": "x"] as JSON) { inner, _ in
                ["brand": ["$inQuery": ["className": "Product", "where": inner]]]
            }
        }
        #expect(try await client.find("Product", nested(5)).status == 200)
        #expect(try await client.find("Product", nested(6)).code == 102)
        func wide(_ count: Int) -> JSON {
            [
                "$or": .array(
                    (0..<count).map { _ in ["brand": ["$inQuery": ["className": "Category", "where": ["title": "x"]]]] }
                )
            ]
        }
        #expect(try await client.find("Product", wide(20)).status == 200)
        #expect(try await client.find("Product", wide(21)).code == 102)
        let pointers = (0..<9).map { "p\($0).x" }.joined(separator: ",")
        #expect([200, 400].contains(try await client.find("Product", [:], ["order": .string(pointers)]).status))
    }

    @Test("2026-32944: deeply nested operators are refused and overflow nothing", arguments: ["$or", "$and", "$nor"])
    func advisory2026_32944_deepNestingIsRefused(_ name: String) async throws {
        let suite = try await Suite.shared
        for depth in [17, 60, 1_000, 100_000] {
            let open = String(repeating: "{\"\(name)\":[", count: depth)
            let text = open + "{\"name\":\"x\"}" + String(repeating: "]}", count: depth)
            let body = Array(#"{"_method":"GET","_ApplicationId":"satchel","where":\#(text)}"#.utf8)
            let answer = try await ParseClient(suite).send(
                .POST, "/classes/Product", headers: [("Content-Type", "text/plain")], body: body)
            #expect([102, 107].contains(answer.code ?? 0), "\(depth): \(answer.text.prefix(200))")
            let quoted = JSON.object(["_method": "GET", "_ApplicationId": "satchel", "where": .string(text)]).serialized
            let asText = try await ParseClient(suite).send(
                .POST, "/classes/Product", headers: [("Content-Type", "text/plain")], body: quoted)
            #expect([102, 107].contains(asText.code ?? 0), "\(depth): \(asText.text.prefix(200))")
        }
        try await suite.untilHealthy()
    }

    @Test("2026-33498: the depth is that of the filter as it runs, in whatever form it came")
    func advisory2026_33498_noFormEvadesTheDepth() async throws {
        let suite = try await Suite.shared
        func deep(_ depth: Int) -> JSON {
            (0..<depth).reduce(["name": "x"] as JSON) { inner, index in
                .object([["$or", "$nor", "$and"][index % 3]: [inner]])
            }
        }
        let tooDeep = deep(17)
        for client in try await ParseClient.attackers(suite) {
            #expect(try await client.find("Product", deep(15)).status == 200)
            for condition in [
                tooDeep, .string(tooDeep.serializedText), ["name": "x", "$or": [["price": 1], tooDeep]],
                ["brand": ["$inQuery": ["className": "Category", "where": tooDeep]]],
                [
                    "brand": ["$notInQuery": ["className": "Category", "where": tooDeep], "$exists": true], "name": "x",
                ],
                ["name": ["$select": ["query": ["className": "Category", "where": tooDeep], "key": "title"]]],
            ] as [JSON] {
                #expect(
                    try await client.find("Product", condition).code == 102, "\(condition.serializedText.prefix(120))")
            }
            // What a sub-query adds to a filter is measured as well.
            var around: JSON = [
                "brand": ["$inQuery": ["className": "Category", "where": ["title": "x"]], "$exists": true]
            ]
            for _ in 0..<16 { around = ["$and": [around]] }
            #expect(try await client.find("Product", around).code == 102)
        }
    }

    @Test("2026-57480: a walk over nested operators takes time in proportion to their number")
    func advisory2026_57480_nestingIsWalkedOnce() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        for leaf in [
            ["name": "x"], ["brand": ["$inQuery": ["className": "Category", "where": ["title": "x"]]]],
            ["brand.title": "x"],
        ] as [JSON] {
            var condition = leaf
            for index in 0..<14 {
                condition = .object([
                    ["$or", "$and", "$nor"][index % 3]: [
                        ["name": "a"], condition, ["$or": [["name": "b"], ["name": "c"]]],
                    ]
                ])
            }
            let start = ContinuousClock.now
            let answer = try await client.find("Product", condition, ["limit": 1])
            #expect(answer.status == 200, "\(answer.text.prefix(200))")
            #expect(ContinuousClock.now - start < .seconds(8), "2^14 walks would take far longer than one.")
        }
        let wide: JSON = ["$or": .array((0..<1001).map { ["n": .int(Int64($0))] })]
        #expect(try await client.find("Product", wide).code == 102)
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
                // The caller's own, and who let everybody read them.
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
        // Nothing under these names can be compared: the answer is the same for every guess.
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
        // The protected ones of a class.
        let stranger = try await Customer.signUp(suite)
        for name in ["authData", "authData.facebook.id"] {
            #expect(try await stranger.client.find("_User", .object([name: ["$exists": true]])).code == 119, "\(name)")
        }
    }
}
