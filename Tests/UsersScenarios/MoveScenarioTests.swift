import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// A shop of another server, moved in over HTTP: staged, unseen until the switch, and all there afterwards.
@Suite(.timeLimit(.minutes(15))) struct MoveScenarioTests {
    private static let old = "2021-01-02T03:04:05.678Z"
    private static let oldTime: Int64 = 1_609_556_645_678
    private static let token = "r:39f54b83c801348ee9351bf39325feeb"
    private static let (ann, bob) = ("xLmY6Eb3EC", "ot2DWCUMPM")

    private static let users: [String: JSON] = [
        ann: user(0, ann, "$2y$10$ZdWvWiqsmBM8Wjlewy1zrOzUvD7qx2T99f6S7LZKeojhPA2gqHlTK"),
        bob: user(1, bob, "$2y$10$dEs6..0L/u4eNlIkeMmSV.LCiA.EBzseWyHDTtLBuWeABXSMoa3z."),
    ]

    private static func user(_ number: Int, _ id: String, _ hash: String) -> JSON {
        row([
            "username": .string("user\(number)@example.com"), "email": .string("user\(number)@example.com"),
            "_hashed_password": .string(hash), "ACL": [id: ["read": true, "write": true]],
        ])
    }

    private static func row(_ fields: [String: JSON]) -> JSON {
        .object(["createdAt": .string(old), "updatedAt": .string(old)].merging(fields) { $1 })
    }

    /// All rows but the users', by class.
    private static let rows: [String: [String: JSON]] = [
        "_Session": [
            "nqF4jlkjGT": row([
                "user": .pointer("_User", ann), "sessionToken": .string(token),
                "expiresAt": ["__type": "Date", "iso": "2999-11-27T12:30:36.853Z"],
            ])
        ],
        "_Role": ["JQj9yWH8K3": row(["name": "staff", "ACL": ["*": ["read": true]]])],
        "_Join:users:_Role": ["JQj9yWH8K3:\(bob)": [:]],
        "Product": ["prodMoved1": row(["name": "Moved serum", "unitPrice": 3.5, "stock": 7])],
        "FavoriteProduct": [
            "favMoved01": row([
                "customer": .pointer("_User", ann), "product": .pointer("Product", "prodMoved1"),
            ])
        ],
        "Order": [
            "orderMoved": row([
                "customer": .pointer("_User", ann), "orderNo": 5_000_000, "total": 350,
                "items": [.pointer("OrderItem", "itemMoved1")], "orderStatus": 1, "orderState": "delivered",
            ])
        ],
        "OrderItem": ["itemMoved1": row(["quantity": 1, "product": .pointer("Product", "prodMoved1")])],
        "Club": ["clubMoved1": row(["name": "Readers", "ACL": ["role:staff": ["read": true]]])],
        "_Join:fans:Club": ["clubMoved1:\(ann)": [:], "clubMoved1:\(bob)": [:]],
    ]

    // MARK: Requests

    private static func stage(
        _ suite: Suite, _ className: String, _ rows: [String: JSON]
    ) async throws -> ParseClient.Answer {
        let lines = rows.sorted { $0.key < $1.key }.map { "\($0.key)\t\(oldTime)\t\($0.value.serializedText)\n" }
        return try await send(suite, className, lines.joined())
    }

    private static func send(_ suite: Suite, _ className: String, _ lines: String) async throws -> ParseClient.Answer {
        let master = ParseClient.master(suite)
        return try await master.send(
            .POST, "/moves/rows/\(className)", headers: master.credentials + [("Content-Type", "text/plain")],
            body: Array(lines.utf8))
    }

    private static func status(_ suite: Suite) async throws -> ParseClient.Answer {
        try await ParseClient.master(suite).get("/moves")
    }

    /// Runs a switch to its end.
    private static func end(_ suite: Suite, rehearses: Bool = false) async throws -> ParseClient.Answer {
        let begun = try await ParseClient.master(suite).call(.POST, "/moves/switch", ["rehearses": .bool(rehearses)])
        #expect(begun.status == 200, "\(begun.text)")
        return try await ended(suite)
    }

    private static func ended(_ suite: Suite) async throws -> ParseClient.Answer {
        try await eventually("the switch ends", within: .seconds(60)) {
            let answer = try await status(suite)
            return answer.status == 200 && answer["phase"] != "switching"
        }
        return try await status(suite)
    }

    private static func stageAll(_ suite: Suite) async throws {
        let fans: JSON = ["fields": ["fans": ["type": "Relation", "targetClass": "_User"]]]
        let answer = try await ParseClient.master(suite).call(.PUT, "/moves/classes/Club", fans)
        #expect(answer.status == 200, "\(answer.text)")
        for (className, rows) in rows.merging(["_User": users], uniquingKeysWith: { $1 }) {
            let answer = try await stage(suite, className, rows)
            #expect(answer["staged"] == .int(Int64(rows.count)), "\(className): \(answer.text)")
        }
    }

    private static func logIn(_ suite: Suite, _ number: Int) async throws -> ParseClient.Answer {
        try await ParseClient(suite).call(
            .POST, "/login",
            ["username": .string("user\(number)@example.com"), "password": .string("Secret-41-\(number)")])
    }

    // MARK: Tests

    @Test func aShopIsThereAtOnceAfterTheSwitch() async throws {
        try await Suite.with { suite in
            let master = ParseClient.master(suite)
            let mails = suite.mails().count
            try await Self.stageAll(suite)
            #expect(try await Self.logIn(suite, 0).code == 101)
            #expect(try await ParseClient(suite, sessionToken: Self.token).get("/users/me").code == 209)
            #expect(try await master.get("/classes/Product/prodMoved1").code == 101)
            let rehearsed = try await Self.end(suite, rehearses: true)
            #expect(rehearsed["phase"] == "staged", "\(rehearsed.text)")
            #expect(try await Self.logIn(suite, 0).code == 101)

            _ = try await master.call(.POST, "/moves/switch", ["rehearses": false])
            let users = try await Self.status(suite)["services"]?.arrayValue?.first
            let phase = users?["phase"]?.stringValue ?? ""
            #expect(["switching", "switched"].contains(phase), "The end of the rehearsal is not shown any more.")
            let switched = try await Self.ended(suite)
            #expect(switched["phase"] == "switched", "\(switched.text)")
            #expect(switched["classes"] == [])
            let applied = (switched["services"]?.arrayValue ?? []).compactMap { $0["applied"]?.intValue }
            #expect(applied.reduce(0, +) == 12)
            try await checkAccounts(suite)
            try await checkShop(suite)
            #expect(suite.mails().count == mails, "Nobody got a mail.")
            #expect(try await master.call(.DELETE, "/moves").code == 119)
        }
    }

    private func checkAccounts(_ suite: Suite) async throws {
        let (ann, bob) = (try await Self.logIn(suite, 0), try await Self.logIn(suite, 1))
        #expect(ann.objectId == Self.ann, "\(ann.text)")
        #expect(ann["updatedAt"] == .string(Self.old))
        #expect(bob.objectId == Self.bob, "\(bob.text)")
        #expect(try await ParseClient(suite, sessionToken: Self.token).get("/users/me").objectId == Self.ann)
        // Bob is in the role that may read the club.
        for (answer, status) in [(ann, 404), (bob, 200)] {
            let client = ParseClient(suite, sessionToken: try #require(answer["sessionToken"]?.stringValue))
            #expect(try await client.get("/classes/Club/clubMoved1").status == status)
        }
    }

    private func checkShop(_ suite: Suite) async throws {
        let master = ParseClient.master(suite)
        let product = try await ParseClient(suite).get("/classes/Product/prodMoved1")
        #expect(product["updatedAt"] == .string(Self.old), "\(product.text)")
        #expect(product["stock"] == 7)
        let moves = "SELECT pieces, reason FROM stockMoves WHERE productId = 'prodMoved1'"
        #expect(try await suite.rows("catalog", moves) == [[7, "opening"]])
        let fans: JSON = ["$relatedTo": ["object": .pointer("Club", "clubMoved1"), "key": "fans"]]
        let found = try await master.find("_User", fans, ["order": "username"])
        #expect(found.results.map(\.objectId) == [Self.ann, Self.bob], "\(found.text)")
        #expect(try await master.get("/classes/Club/clubMoved1")["updatedAt"] == .string(Self.old))
        let favorites = try await ParseClient(suite, sessionToken: Self.token).find("FavoriteProduct")
        #expect(favorites.results.map(\.objectId) == ["favMoved01"], "\(favorites.text)")
        let orders = try await ParseClient(suite, sessionToken: Self.token).find("Order")
        #expect(orders.results.compactMap { $0["orderNo"]?.intValue } == [5_000_000], "\(orders.text)")
        #expect(try await suite.rows("bag", "SELECT orderId, origin FROM orderOrigins") == [["orderMoved", "import"]])
        try await eventually("the order is in the desk's list") {
            try await suite.rows("bag", "SELECT orderId FROM orderEntries").count == 1
        }
        #expect(try await suite.rows("bag", "SELECT name FROM counters WHERE value >= 5000000").count == 1)
    }

    @Test func aRefusalStopsTheServicesThatFollow() async throws {
        try await Suite.with { suite in
            let master = ParseClient.master(suite)
            try await Self.stageAll(suite)
            _ = try await Self.stage(suite, "_Join:users:_Role", ["nobodyHere:\(Self.ann)": [:]])
            let failed = try await Self.end(suite)
            #expect(failed["phase"] == "failed", "\(failed.text)")
            let users = failed["services"]?.arrayValue?.first
            #expect(users?["service"] == "users")
            #expect(users?["failed"] == 1)
            let refusal = users?["failures"]?.arrayValue?.first
            #expect(refusal?["objectId"] == .string("nobodyHere:\(Self.ann)"))
            #expect(refusal?["code"] == 101)
            #expect(try await Self.logIn(suite, 0).code == 101)
            #expect(try await master.get("/classes/Product/prodMoved1").code == 101)

            let removed = try await master.call(
                .POST, "/moves/removals/_Join:users:_Role", ["ids": [.string("nobodyHere:\(Self.ann)"), "x"]])
            #expect(removed["removed"] == 1, "\(removed.text)")
            let dropped = try await master.call(
                .POST, "/moves/removals/Club", ["ids": ["clubMoved1"], "dropsClass": true])
            #expect(dropped["removed"] == 1, "\(dropped.text)")
            let staged = try await Self.status(suite)["classes"]?.arrayValue ?? []
            #expect(!staged.contains { $0["className"] == "Club" }, "Its schema is dropped as well.")
            let bad = try await master.call(.POST, "/moves/removals/Club", ["ids": [], "dropsClass": 1])
            #expect(bad.code == 107, "\(bad.text)")
            #expect(try await master.call(.DELETE, "/moves").status == 200)
            #expect(try await Self.status(suite)["phase"] == "empty")
            #expect(try await master.call(.POST, "/moves/switch", ["rehearses": false]).code == 119)
        }
    }

    /// Users share savepoints (`MoveSwitch`).
    @Test func aUserWithATakenNameStopsNoOther() async throws {
        try await Suite.with { suite in
            let hash = "$2y$10$ZdWvWiqsmBM8Wjlewy1zrOzUvD7qx2T99f6S7LZKeojhPA2gqHlTK"
            var users: [String: JSON] = [:]
            for number in 100..<400 { users["moved\(number)"] = Self.user(number, "moved\(number)", hash) }
            users["moved250x"] = Self.row(["username": "USER100@Example.com", "_hashed_password": .string(hash)])
            #expect(try await Self.stage(suite, "_User", users)["staged"] == 301)
            let failed = try await Self.end(suite)["services"]?.arrayValue?.first
            #expect(failed?["applied"] == 300, "\(failed?.serializedText ?? "")")
            #expect(failed?["failed"] == 1)
            #expect(failed?["failures"]?.arrayValue?.first?["objectId"] == "moved250x")
            #expect(failed?["failures"]?.arrayValue?.first?["code"] == 202)
            #expect(try await suite.rows("users", "SELECT userId FROM movedPasswords").isEmpty)

            let master = ParseClient.master(suite)
            _ = try await master.call(.POST, "/moves/removals/_User", ["ids": ["moved250x"]])
            #expect(try await Self.end(suite)["phase"] == "switched")
            #expect(try await suite.rows("users", "SELECT userId FROM movedPasswords").count == 300)
        }
    }

    /// A service that is killed during its switch has applied all of its rows or none.
    @Test func aKilledServiceHasAllRowsOrNone() async throws {
        try await Suite.with { suite in
            let (requests, rowsEach) = (6, 4000)
            let text = String(repeating: "a", count: 300)
            for request in 0..<requests {
                let lines = (0..<rowsEach).map { row in
                    "id\(request)x\(row)\t\(Self.oldTime)\t{\"n\":\(row),\"text\":\"\(text)\"}\n"
                }
                let answer = try await Self.send(suite, "Many", lines.joined())
                #expect(answer["staged"] == .int(Int64(rowsEach)), "\(answer.text)")
            }
            let master = ParseClient.master(suite)
            _ = try await master.call(.POST, "/moves/switch", ["rehearses": false])
            try await eventually("rows are applied") {
                let answer = try await Self.status(suite)
                let services = answer["services"]?.arrayValue ?? []
                return services.contains { $0["applied"]?.intValue ?? 0 > 0 }
            }
            try await suite.kill("catalog-1")
            try await suite.untilHealthy()
            try await eventually("the gateway notices the end", within: .seconds(120)) {
                let answer = try await Self.status(suite)
                return answer.status == 200 && answer["phase"] != "switching"
            }
            let count = { try await master.find("Many", [:], ["count": 1, "limit": 0])["count"]?.intValue ?? 0 }
            let phase = try await Self.status(suite)["phase"]
            #expect(phase == "staged" || phase == "switched")
            #expect(try await count() == (phase == "switched" ? Int64(requests * rowsEach) : 0))
            if phase == "staged" {
                #expect(try await Self.end(suite)["phase"] == "switched")
                #expect(try await count() == Int64(requests * rowsEach))
            }
        }
    }

    @Test func badRequestsAreRefused() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let className = "Bad\(Names.random(6))"
        for bad in ["a1\t0\n", "a:1\t0\t{}\n", "a1\tx\t{}\n", "a1\t0\t[]\n", "a1\t0\t{\"a\":\n"] {
            let answer = try await Self.send(suite, className, "ok1\t0\t{}\n" + bad)
            #expect(answer.code == 107, "\(bad): \(answer.text)")
            #expect(answer["error"]?.stringValue?.hasPrefix("Line 2 ") == true, "\(answer.text)")
        }
        let row = "\t0\t{\"a\":\"\(String(repeating: "x", count: 4000))\"}\n"
        let large = try await Self.send(suite, className, (0..<1100).map { "a\($0)\(row)" }.joined())
        #expect(large.code == 116, "\(large.text)")
        #expect(try await Self.send(suite, className, String(repeating: "a\t0\t{}\n", count: 5001)).code == 116)
        for name in ["_Idempotency", "_Hooks", "a-b", "_Join:users"] {
            #expect(try await Self.send(suite, name, "a1\t0\t{}\n").code == 103, "\(name)")
        }
        #expect(try await master.call(.PUT, "/moves/classes/\(className)", [1]).code == 107)
        #expect(try await master.call(.POST, "/moves/switch", [:]).code == 107)
        let listed = try await master.get("/moves/rows/\(className)", ["limit": 10])
        #expect(listed.status == 200)
        #expect(listed.body.isEmpty, "\(listed.text)")
    }

    @Test func onlyTheMasterKeyMoves() async throws {
        let suite = try await Suite.shared
        let clients = [
            ParseClient(suite), ParseClient(suite, masterKey: "wrong"), try await Customer.signUp(suite).client,
            try await Customer.admin(suite),
        ]
        for client in clients {
            for (method, path) in [
                (.GET, "/moves"), (.DELETE, "/moves"), (.POST, "/moves/switch"), (.PUT, "/moves/classes/Kept"),
                (.POST, "/moves/rows/Kept"), (.GET, "/moves/rows/Kept"), (.POST, "/moves/removals/Kept"),
            ] as [(HTTPMethod, String)] {
                let answer = try await client.call(method, path, method == .GET ? nil : [:])
                #expect(answer.status == 403, "\(method) \(path): \(answer.text)")
            }
        }
    }
}
