import ObjectStore
import ParseProtocol
import Testing

@Suite struct AccessTests {
    /// One object per ACL, with its expected readers and writers.
    static let cases: [(JSON, readers: Set<String>, writers: Set<String>)] = [
        (.null, ["anonymous", "ann", "bob", "admin"], ["anonymous", "ann", "bob", "admin"]),
        ([:], [], []),
        (["*": ["read": true]], ["anonymous", "ann", "bob", "admin"], []),
        (["*": ["write": true]], [], ["anonymous", "ann", "bob", "admin"]),
        (["annannanna": ["read": true, "write": true]], ["ann"], ["ann"]),
        (["annannanna": ["write": true], "bobbobbobb": ["read": true]], ["bob"], ["ann"]),
        (["role:admins": ["read": true, "write": true]], ["admin"], ["admin"]),
        (["role:admins": ["read": false]], [], []),
        (["*": ["read": true], "adminadmin": ["write": true]], ["anonymous", "ann", "bob", "admin"], ["admin"]),
    ]
    static let callers: [(String, Caller)] = [("anonymous", .anonymous), ("ann", ann), ("bob", bob), ("admin", admin)]

    @Test func anACLDecidesEveryWayIn() async throws {
        let test = try await TestStore()
        for (access, readers, writers) in Self.cases {
            let id = try await test.create("T", ["name": "x", "ACL": access])
            let byId: JSON = ["objectId": .string(id)]
            for (name, caller) in Self.callers {
                let comment = Comment(rawValue: "\(name) \(access.serializedText)")
                let isReader = readers.contains(name)
                let isWriter = writers.contains(name)
                #expect(await code { _ = try await test.get("T", id, as: caller) } == (isReader ? nil : 101), comment)
                #expect(try await test.names("T", byId, as: caller).count == (isReader ? 1 : 0), comment)
                let counts = try await test.store.read { reader in
                    (
                        try reader.count(Query(className: "T", where: byId), caller: caller),
                        try reader.fetch("T", ids: [id], keys: [], caller: caller).count
                    )
                }
                #expect(counts == (isReader ? (1, 1) : (0, 0)), comment)
                for action in [ClassPermissions.Action.update, .delete] {
                    let right = await code {
                        _ = try await test.store.read {
                            try $0.right(to: action, "T", id, fields: ["name"], caller: caller)
                        }
                    }
                    #expect(right == (isWriter ? nil : 101), comment)
                }
                let answer = await error {
                    try await test.update("T", id, ["n": ["__op": "Increment", "amount": 1]], as: caller)
                }
                #expect(answer == (isWriter ? nil : .objectNotFound), comment)
                if isWriter {
                    let echoed = try await test.update("T", id, ["n": ["__op": "Increment", "amount": 1]], as: caller)
                        .answer["n"]
                    #expect((echoed != nil) == isReader, comment)
                } else {
                    #expect(await code { try await test.delete("T", id, as: caller) } == 101, comment)
                }
            }
            #expect(try await test.get("T", id)["name"] == "x")
        }
    }

    /// A reader decides the right, without the writer, if the change adds neither a class nor a field.
    @Test func theRightToAChangeIsRead() async throws {
        let closed = ClassDefinition("Closed", fields: ["name": .string], permissions: .adminWritten())
        let test = try await TestStore([closed])
        let id = try await test.create("T", ["name": "x"])
        func right(
            to action: ClassPermissions.Action, _ className: String, _ fields: [String], of id: String? = nil,
            as caller: Caller = .anonymous
        ) async throws -> ChangeRight {
            try await test.store.read {
                try $0.right(to: action, className, id, fields: fields, caller: caller)
            }
        }
        let granted = ChangeRight.granted(before: nil, everybody: true)
        #expect(try await right(to: .create, "T", ["name", "ACL"]) == granted)
        for fields in [["name", "other"], ["objectId"], ["name.first"]] {
            #expect(try await right(to: .create, "T", fields) == .undecided)
        }
        #expect(try await right(to: .create, "New", []) == .undecided)
        #expect(await code { _ = try await right(to: .create, "Closed", ["name"]) } == 119)
        #expect(
            try await right(to: .create, "Closed", ["name"], as: admin) == .granted(before: nil, everybody: false))
        guard
            case .granted(let before?, false) = try await right(
                to: .update, "T", ["name.first", "createdAt"], of: id)
        else { throw ParseError.internalError }
        #expect(try JSON(parsing: before)["name"] == "x")
        #expect(try await right(to: .update, "T", ["other"], of: id) == .undecided)
        #expect(await code { _ = try await right(to: .update, "T", [], of: "nobodysone") } == 101)
        #expect(await code { _ = try await right(to: .delete, "New", [], of: id) } == 101)
    }

    @Test func aChangedACLTakesEffectAtOnce() async throws {
        let test = try await TestStore()
        let id = try await test.create("T", ["ACL": ["annannanna": ["read": true, "write": true]]])
        try await test.update("T", id, ["ACL": ["bobbobbobb": ["read": true]]], as: ann)
        #expect(await code { _ = try await test.get("T", id, as: ann) } == 101)
        _ = try await test.get("T", id, as: bob)
        try await test.update("T", id, ["ACL": ["__op": "Delete"]])
        #expect(try await test.get("T", id, as: .anonymous)["ACL"] == nil)
    }

    @Test func classPermissionsDecideEveryAction() async throws {
        let test = try await TestStore([
            ClassDefinition("Closed", permissions: .masterOnly), ClassDefinition("Shop", permissions: .adminWritten()),
            ClassDefinition(
                "Member",
                permissions: ClassPermissions(
                    find: .signedIn, count: .nobody, get: .signedIn, create: .everybody, update: .signedIn)),
        ])
        for (name, id) in [("Closed", "c"), ("Shop", "s"), ("Member", "m")] {
            try await test.create(name, ["name": "x"], id: id)
        }
        for caller in [Caller.anonymous, ann, admin] {
            #expect(
                await error { _ = try await test.get("Closed", "c", as: caller) }?.message
                    == "Permission denied for action get on class Closed.")
            #expect(await code { _ = try await test.names("Closed", [:], as: caller) } == 119)
            #expect(await code { try await test.create("Closed", [:], as: caller) } == 119)
            #expect(await code { try await test.update("Closed", "c", [:], as: caller) } == 119)
            #expect(await code { try await test.delete("Closed", "c", as: caller) } == 119)
            #expect(
                try await test.store.read { try $0.fetch("Closed", ids: ["c"], keys: [], caller: caller).count } == 0)
            #expect(try await test.names("Shop", [:], as: caller) == ["x"])
            let expected = caller.roles.isEmpty ? 119 : nil
            #expect(await code { try await test.update("Shop", "s", ["name": "x"], as: caller) } == expected)
            #expect(await code { try await test.create("Shop", ["fresh": 1], as: caller) } == expected)
        }
        #expect(
            await error { _ = try await test.get("Member", "m", as: .anonymous) }
                == ParseError(.objectNotFound, "Permission denied, user needs to be authenticated."))
        _ = try await test.get("Member", "m", as: ann)
        #expect(
            await code { _ = try await test.store.read { try $0.count(Query(className: "Member"), caller: ann) } }
                == 119)
        #expect(
            await code {
                _ = try await test.store.read {
                    try $0.find(Query(className: "Member", limit: 0, wantsCount: true), caller: ann)
                }
            } == 119)
        try await test.create("Member", ["name": "y"], as: .anonymous)
        #expect(
            await error { try await test.create("Member", ["fresh": 1], as: ann) }?.message
                == "Permission denied for action addField on class Member.")
    }

    @Test func pointerFieldsAdmitTheUserTheyName() async throws {
        let test = try await TestStore([
            ClassDefinition(
                "Note", fields: ["owner": .pointer("_User"), "team": .array],
                permissions: ClassPermissions(
                    find: .init(pointerFields: ["owner"]), count: .init(pointerFields: ["owner"]), create: .signedIn,
                    readUserFields: ["team"], writeUserFields: ["owner"]))
        ])
        try await test.create(
            "Note",
            [
                "name": "ann's", "owner": .pointer("_User", "annannanna"),
                "team": ["text", .pointer("_User", "bobbobbobb")],
            ], id: "n1")
        try await test.create("Note", ["name": "bob's", "owner": .pointer("_User", "bobbobbobb")], id: "n2")
        #expect(try await test.names("Note", [:], as: ann) == ["ann's"])
        #expect(try await test.names("Note", [:], as: bob) == ["ann's", "bob's"])
        #expect(try await test.names("Note", [:], as: .anonymous).isEmpty)
        _ = try await test.get("Note", "n1", as: bob)
        #expect(await code { _ = try await test.get("Note", "n2", as: ann) } == 101)
        #expect(await code { try await test.update("Note", "n1", ["name": "x"], as: bob) } == 101)
        try await test.update("Note", "n1", ["name": "ann's"], as: ann)
        #expect(await code { try await test.delete("Note", "n1", as: bob) } == 101)
        try await test.delete("Note", "n1", as: ann)
        #expect(
            await code { try await test.create("Note", ["owner": .pointer("_User", "annannanna")], as: .anonymous) }
                == 101)
    }

    @Test func protectedFieldsNeitherLeaveNorAnswer() async throws {
        let test = try await TestStore([
            ClassDefinition(
                "_User", fields: ["email": .string, "name": .string, "visits": .number],
                permissions: ClassPermissions.open.protecting([
                    "*": ["email", "visits"], "authenticated": ["email", "visits"], "role:admins": ["visits"],
                ]))
        ])
        try await test.create("_User", ["name": "Ann", "email": "ann@example.com", "visits": 1], id: "annannanna")
        for caller in [Caller.anonymous, bob] {
            let object = try await test.get("_User", "annannanna", as: caller)
            #expect(object["email"] == nil)
            #expect(object["visits"] == nil)
            #expect(object["name"] == "Ann")
            let page = try await test.store.read {
                try $0.find(Query(className: "_User", keys: ["email", "name"]), caller: caller)
            }
            #expect(!String(decoding: page.body, as: UTF8.self).contains("example.com"))
            let conditions: [JSON] = [
                ["email": "x"], ["email": ["$regex": "^a"]], ["email.x": 1],
                ["$or": [["name": "x"], ["$nor": [["email": "x"]]]]], ["email": ["$exists": true]],
            ]
            for condition in conditions {
                #expect(
                    await error { _ = try await test.names("_User", condition, as: caller) }
                        == ParseError(.operationForbidden, "This user is not allowed to query email on class _User"))
                #expect(
                    await code {
                        _ = try await test.store.read {
                            try $0.count(Query(className: "_User", where: condition), caller: caller)
                        }
                    } == 119)
            }
            for order in ["email", "-email", "email.x"] {
                #expect(await code { _ = try await test.names("_User", [:], order: [order], as: caller) } == 119)
            }
            let fetched = try await test.store.read {
                try $0.fetch("_User", ids: ["annannanna"], keys: [], caller: caller)
            }
            let document = try #require(fetched.first?.document)
            #expect(!String(decoding: document, as: UTF8.self).contains("example.com"))
            let answer = try await test.update(
                "_User", "annannanna", ["visits": ["__op": "Increment", "amount": 1]], as: caller
            ).answer
            #expect(answer["visits"] == nil)
        }
        let seenByAdmin = try await test.get("_User", "annannanna", as: admin)
        #expect(seenByAdmin["email"] == "ann@example.com")
        #expect(seenByAdmin["visits"] == nil)
        #expect(try await test.get("_User", "annannanna", as: ann)["email"] == "ann@example.com")
        #expect(try await test.get("_User", "annannanna")["visits"] == 3)
    }
}
