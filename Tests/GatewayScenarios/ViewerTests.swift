import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// An operator views objects as another user would see them (`X-Satchel-As-User`): for operators only, reads only, and
/// never more than the operator may see.
@Suite struct ViewerTests {
    /// A class with a protected field. Its rows are readable by ann, bob, one of ann's roles, or the operators.
    private struct Shelf {
        let suite: Suite
        let name = "Viewed\(Names.random(6))"
        let ann: Customer
        let bob: Customer
        let admin: ParseClient
        var ids: [String: String] = [:]

        init(_ suite: Suite) async throws {
            self.suite = suite
            ann = try await Customer.signUp(suite)
            bob = try await Customer.signUp(suite)
            admin = try await Customer.admin(suite)
            let master = ParseClient.master(suite)
            let everybody: JSON = ["*": true]
            var permissions: [String: JSON] = ["protectedFields": ["*": ["secret"], "role:admins": []]]
            for action in ["find", "count", "get", "create", "update", "delete", "addField"] {
                permissions[action] = everybody
            }
            let made = try await master.call(
                .POST, "/schemas/\(name)",
                ["fields": ["secret": ["type": "String"]], "classLevelPermissions": .object(permissions)])
            guard made.status == 200 else { throw Unexpected("POST schemas", made) }
            let staff = "staff\(Names.random(6))"
            let role = try await master.call(
                .POST, "/roles",
                [
                    "name": .string(staff), "ACL": ["*": ["read": true]],
                    "users": ["__op": "AddRelation", "objects": [ann.pointer]],
                ])
            guard role.status == 201 else { throw Unexpected("POST roles", role) }
            let read: JSON = ["read": true]
            let rights: [(String, [String: JSON])] = [
                ("open", ["*": read]), ("anns", [ann.userId: read]), ("bobs", [bob.userId: read]),
                ("annsAndOperators", [ann.userId: read, "role:admins": read]), ("operators", ["role:admins": read]),
                ("staffs", ["role:\(staff)": read, "role:admins": read]),
            ]
            for (row, acl) in rights {
                let created = try await master.create(
                    name, ["row": .string(row), "secret": .string("of \(row)"), "ACL": .object(acl)])
                guard created.status == 201 else { throw Unexpected("POST", created) }
                ids[row] = created.objectId
            }
        }

        /// A request with the header.
        func look(
            _ viewer: String, as client: ParseClient? = nil, _ method: HTTPMethod = .GET, _ path: String? = nil,
            _ options: [String: JSON] = [:], body: JSON? = nil
        ) async throws -> ParseClient.Answer {
            let client = client ?? admin
            let query = options.isEmpty ? "" : "?" + ParseClient.queryText(options)
            return try await client.send(
                method, (path ?? "/classes/\(name)") + query,
                headers: client.credentials + [("X-Satchel-As-User", viewer)], body: body?.serialized)
        }

        /// The names of the rows that a find with the header returns.
        func rows(_ viewer: String, as client: ParseClient? = nil) async throws -> Set<String> {
            let found = try await look(viewer, as: client)
            guard found.status == 200 else { throw Unexpected("GET", found) }
            return Set(found.results.map { $0.text("row") })
        }

        func path(_ row: String) -> String { "/classes/\(name)/\(ids[row] ?? "")" }
    }

    @Test func theOperatorSeesOfHisOwnRowsThoseOfTheViewer() async throws {
        let shelf = try await Shelf(Suite.shared)
        let own = try await shelf.admin.find(shelf.name).results
        #expect(Set(own.map { $0.text("row") }) == ["open", "annsAndOperators", "operators", "staffs"])
        #expect(own.allSatisfy { $0["secret"] != nil })
        #expect(try await shelf.rows(shelf.ann.userId) == ["open", "annsAndOperators", "staffs"])
        #expect(try await shelf.rows(shelf.bob.userId) == ["open"])
        #expect(try await shelf.rows("*") == ["open"])
        let shown = try await shelf.look(shelf.ann.userId).results
        #expect(shown.allSatisfy { $0["secret"] == nil && $0["row"] != nil }, "A protected field is the operator's.")
        // The master key sees everything, including all rows of the viewer.
        let master = ParseClient.master(shelf.suite)
        #expect(try await shelf.rows(shelf.ann.userId, as: master) == ["open", "anns", "annsAndOperators", "staffs"])
        // The rows that the viewer gets in reality.
        let anns = try await shelf.ann.client.find(shelf.name).results
        #expect(Set(anns.map { $0.text("row") }) == ["open", "anns", "annsAndOperators", "staffs"])
    }

    @Test func oneObjectCountsAndPagesAreNarrowedAlike() async throws {
        let shelf = try await Shelf(Suite.shared)
        let ann = shelf.ann.userId
        let seen = try await shelf.look(ann, .GET, shelf.path("annsAndOperators"))
        #expect(seen.status == 200)
        #expect(seen["row"] == "annsAndOperators")
        #expect(seen["secret"] == nil)
        for row in ["operators", "anns", "bobs"] {
            #expect(try await shelf.look(ann, .GET, shelf.path(row)).code == 101, "\(row)")
        }
        let counted = try await shelf.look(ann, .GET, nil, ["count": 1, "limit": 0])
        #expect(counted["count"] == 3, "\(counted.text)")
        #expect(counted.results.isEmpty)
        // The query's condition is evaluated with the operator's rights.
        let chosen = try await shelf.look(ann, .GET, nil, ["where": ["secret": ["$in": ["of open", "of operators"]]]])
        #expect(chosen.results.map { $0.text("row") } == ["open"])
        var (names, after): (Set<String>, String) = ([], "")
        for _ in 0..<3 {
            let page = try await shelf.look(
                ann, .GET, nil, ["order": "row", "limit": 2, "after": .string(after)])
            names.formUnion(page.results.map { $0.text("row") })
            after = page["cursor"]?.stringValue ?? ""
        }
        #expect(names == ["open", "annsAndOperators", "staffs"])
    }

    /// The class's permissions apply to the viewer and to the operator.
    @Test func permissionsOfTheClassHoldForBoth() async throws {
        let shelf = try await Shelf(Suite.shared)
        let master = ParseClient.master(shelf.suite)
        func permit(_ find: JSON) async throws {
            var permissions: [String: JSON] = [:]
            for action in ["count", "get", "create", "update", "delete", "addField"] {
                permissions[action] = ["*": true]
            }
            permissions["find"] = find
            let changed = try await master.call(
                .PUT, "/schemas/\(shelf.name)", ["classLevelPermissions": .object(permissions)])
            try #require(changed.status == 200, "\(changed.text)")
        }
        try await permit(["role:admins": true])
        #expect(try await shelf.admin.find(shelf.name).status == 200)
        #expect(try await shelf.look(shelf.ann.userId).code == 119)
        try await permit([shelf.ann.userId: true])
        #expect(try await shelf.ann.client.find(shelf.name).status == 200)
        #expect(try await shelf.look(shelf.ann.userId).code == 119)
        try await permit(["requiresAuthentication": true])
        #expect(try await shelf.look(shelf.ann.userId).status == 200)
        #expect(try await shelf.look("*").code == 101)
        #expect(try await shelf.look("*", .GET, shelf.path("open")).status == 200)
    }

    @Test func onlyOperatorsViewAsAnotherUser() async throws {
        let shelf = try await Shelf(Suite.shared)
        let own = try await shelf.admin.call(.POST, "/sessions", ["device": "till"])
        var till = shelf.admin
        till.sessionToken = own["sessionToken"]?.stringValue
        for client in [shelf.bob.client, ParseClient(shelf.suite), till] {
            for viewer in [shelf.ann.userId, shelf.bob.userId, "*", ""] {
                #expect(try await shelf.look(viewer, as: client).code == 119, "\(viewer)")
            }
        }
    }

    @Test func onlyReadsOfObjectsAreMadeAsSomebody() async throws {
        let shelf = try await Shelf(Suite.shared)
        let (ann, find) = (shelf.ann.userId, "/classes/\(shelf.name)")
        let item: JSON = ["method": "GET", "path": .string("/parse\(find)")]
        let requests: [(HTTPMethod, String, JSON?)] = [
            (.POST, find, ["row": "new"]), (.PUT, shelf.path("open"), ["row": "other"]),
            (.DELETE, shelf.path("open"), nil), (.POST, "/batch", ["requests": [item]]),
            (.POST, "/functions/orders", [:]), (.GET, "/users", nil), (.GET, "/users/me", nil), (.GET, "/roles", nil),
            (.GET, "/sessions", nil), (.GET, "/classes/_User", nil), (.GET, "/classes/_User/\(ann)", nil),
            (.GET, "/live/\(shelf.name)", nil), (.GET, "/export/\(shelf.name)", nil), (.GET, "/config", nil),
            (.GET, "\(find)?include=owner", nil), (.GET, "\(find)?keys=owner.name", nil),
            (.GET, "\(find)?explain=true", nil), (.GET, "\(find)?redirectClassNameForKey=owner", nil),
        ]
        for client in [shelf.admin, ParseClient.master(shelf.suite)] {
            for (method, path, body) in requests {
                let refused = try await shelf.look(ann, as: client, method, path, body: body)
                #expect(refused.code == 119, "\(method) \(path): \(refused.text.prefix(200))")
            }
        }
        #expect(try await shelf.admin.find(shelf.name).results.count == 4)
        #expect(try await shelf.admin.get(shelf.path("open"))["row"] == "open")
        #expect(try await shelf.look("nobody1234").code == 101)
        for name in ["", "a b", "role:admins", String(repeating: "a", count: 65)] {
            #expect(try await shelf.look(name).code == 104, "\(name)")
        }
        let twice = try await shelf.admin.send(
            .GET, find,
            headers: shelf.admin.credentials + [("X-Satchel-As-User", ann), ("X-Satchel-As-User", "*")])
        #expect(twice.code == 104)
    }

    @Test func theLogSaysWhoLookedAsWhom() async throws {
        let shelf = try await Shelf(Suite.shared)
        _ = try await shelf.look(shelf.ann.userId)
        let master = ParseClient.master(shelf.suite)
        try await eventually("the look is in the log") {
            let lines = try await master.get("/scriptlog", ["size": 1000]).json.arrayValue ?? []
            return lines.contains { line in
                let text = line.serializedText
                return text.contains("as another user") && text.contains(shelf.ann.userId)
                    && text.contains(shelf.name)
            }
        }
    }

    /// A plan describes indexes, not objects.
    @Test func anOperatorHasAQueryExplained() async throws {
        let shelf = try await Shelf(Suite.shared)
        let plan = try await shelf.admin.find(shelf.name, ["row": "open"], ["explain": true])
        #expect(plan.status == 200)
        #expect(!plan.text.contains("of open"))
        #expect(plan.json.at("results", 0, "detail") != nil, "\(plan.text)")
        #expect(try await shelf.ann.client.find(shelf.name, [:], ["explain": true]).code == 119)
    }
}
