import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Clients cannot name internal classes: not in a path, a batch, a pointer, a sub-query or a relation.
@Suite struct InternalClassAdvisoryTests {
    private static let classes = [
        "_Audience", "_PushStatus", "_JobStatus", "_JobSchedule", "_Hooks", "_GlobalConfig", "_GraphQLConfig",
        "_Idempotency", "_SCHEMA", "_Join:users:_Role", "_Join:roles:_Role", "_audience", "_", "__proto__",
    ]

    /// Existing rows, and the word in them that must not leak.
    private struct Hidden {
        let word: String
        let audienceId: String
        let statusId: String

        init(_ suite: Suite) async throws {
            let master = ParseClient.master(suite)
            word = "Hidden\(Names.random(10))"
            let audience = try await master.call(
                .POST, "/push_audiences", ["name": .string(word), "query": #"{"deviceType":"ios"}"#])
            guard audience.status == 201 else { throw Unexpected("POST push_audiences", audience) }
            audienceId = audience.objectId
            statusId = try await master.push([
                "channels": [.string("c\(word)")], "data": ["alert": "x", "title": .string(word)],
            ])
        }

        /// An existing id for classes that have rows.
        func id(in className: String) -> String {
            ["_Audience": audienceId, "_PushStatus": statusId][className] ?? "abcdefghij"
        }
    }

    /// Every request that a client may try on a class by its name.
    private static func requests(
        on className: String, _ id: String
    ) -> [(HTTPMethod, String, JSON?, [String: JSON])] {
        let path = "/classes/\(className)"
        return [
            (.GET, path, nil, [:]), (.GET, path, nil, ["count": 1, "limit": 0]),
            (.GET, path, nil, ["where": ["objectId": .string(id)], "keys": "name"]),
            (.GET, "\(path)/\(id)", nil, [:]), (.POST, path, ["name": "mine"], [:]),
            (.PUT, "\(path)/\(id)", ["name": "mine", "title": "mine"], [:]), (.DELETE, "\(path)/\(id)", nil, [:]),
        ]
    }

    @Test(
        "2026-31800: internal classes are refused in every way to name them, and the master key finds what is in them")
    func advisory2026_31800_internalClassesCannotBeNamed() async throws {
        let suite = try await Suite.shared
        let hidden = try await Hidden(suite)
        let master = ParseClient.master(suite)
        let admin = try await Customer.admin(suite)
        for caller in [ParseClient(suite), try await Customer.signUp(suite).client, admin] {
            let isAdmin = caller.sessionToken == admin.sessionToken
            // An admin may schedule jobs and see their results.
            for className in Self.classes where !isAdmin || !className.hasPrefix("_Job") {
                let id = hidden.id(in: className)
                for way in ["_Audience", "_PushStatus", "_Join:users:_Role"].contains(className)
                    ? Way.allCases : [.plain]
                {
                    for (method, path, body, options) in Self.requests(on: className, id) {
                        let outcome = try await caller.go(way, method, path, body, options: options)
                        let what = "\(way) \(method) \(path): \(outcome.text)"
                        #expect(!outcome.isSuccess, "\(what)")
                        #expect(outcome.code == 119, "\(what)")
                        #expect(!outcome.text.contains(hidden.word), "\(what)")
                    }
                }
            }
        }
        for way in Way.allCases {
            let found = try await master.go(way, .GET, "/classes/_Audience/\(hidden.audienceId)")
            #expect(found.isSuccess, "\(way): \(found.text)")
            #expect(found.json.text("name") == hidden.word, "\(way): \(found.text)")
            let status = try await master.go(way, .GET, "/classes/_PushStatus/\(hidden.statusId)")
            #expect(status.isSuccess, "\(way): \(status.text)")
            #expect(status.text.contains(hidden.word), "\(way): \(status.text)")
        }
    }

    @Test("2026-31800: other spellings and routes lead to no internal class either")
    func advisory2026_31800_noOtherSpellingOrRouteLeadsThere() async throws {
        let suite = try await Suite.shared
        let hidden = try await Hidden(suite)
        let client = try await Customer.signUp(suite).client
        for path in [
            "/classes/%5FAudience", "/classes/_Audience/", "/classes//_Audience", "/classes/%5F%41udience/",
            "/classes/_Audience%00", "/classes/_Audience%20", "/classes/./_Audience", "/classes/_User/../_Audience",
            "/push_audiences", "/push_audiences/\(hidden.audienceId)", "/schemas/_Audience", "/export/_Audience",
            "/export/_PushStatus?format=csv",
        ] {
            for way in [Way.plain, .tunnelled, .batched] {
                let outcome = try await client.go(way, .GET, path)
                #expect(!outcome.isSuccess, "\(way) \(path): \(outcome.text)")
                #expect(!outcome.text.contains(hidden.word), "\(way) \(path): \(outcome.text)")
            }
        }
        #expect(try await client.go(.plain, .DELETE, "/purge/_Audience").status == 403)
        #expect(try await client.go(.plain, .POST, "/import/_Audience", ["results": []]).isSuccess == false)
        #expect(try await ParseClient.master(suite).get("/push_audiences/\(hidden.audienceId)").status == 200)
    }

    @Test("2026-31800: no pointer, include, sub-query or relation reaches an internal class")
    func advisory2026_31800_noReferenceReachesThem() async throws {
        let suite = try await Suite.shared
        let hidden = try await Hidden(suite)
        let client = try await Customer.signUp(suite).client
        let note = "Note\(Names.random(6))"
        let target = try await client.create(note, ["name": "target"])
        func object(_ className: String, _ id: String) -> JSON { .pointer(className, id) }

        for (className, id) in [("_Audience", hidden.audienceId), ("_PushStatus", hidden.statusId)] {
            let pointer = object(className, id)
            for value in [pointer, [pointer], ["deep": [["er": pointer]]], ["__op": "Add", "objects": [pointer]]]
                as [JSON]
            {
                let refused = try await client.create(note, ["to": value])
                #expect(refused.status == 400, "\(refused.text)")
                #expect(refused.code == 111, "\(refused.text)")
            }
            let relation: JSON = ["__op": "AddRelation", "objects": [pointer]]
            #expect(try await client.create(note, ["related": relation]).code == 111)
            let query: JSON = ["className": .string(className), "where": [:]]
            for condition in [
                ["to": ["$inQuery": query]], ["to": ["$notInQuery": query]],
                ["name": ["$select": ["query": query, "key": "name"]]],
                ["name": ["$dontSelect": ["query": query, "key": "name"]]],
                ["$or": [["name": "x"], ["$and": [["to": ["$inQuery": query]]]]]],
                ["to": ["$inQuery": ["className": .string(note), "where": ["to": ["$inQuery": query]]]]],
            ] as [JSON] {
                let refused = try await client.find(note, condition)
                #expect(refused.status == 400, "\(condition): \(refused.text)")
                #expect(refused.code == 102, "\(condition): \(refused.text)")
            }
            let related = try await client.find(note, ["$relatedTo": ["object": pointer, "key": "query"]])
            #expect(related.results.isEmpty, "\(related.text)")
            #expect(!related.text.contains(hidden.word), "\(related.text)")
            let redirected = try await client.find(note, [:], ["redirectClassNameForKey": "to"])
            #expect(redirected["className"] == .string(note), "\(redirected.text)")
            #expect(!redirected.text.contains(hidden.word), "\(redirected.text)")
        }
        // The same requests with a class that the client owns.
        let saved = try await client.create(
            note,
            [
                "to": object(note, target.objectId),
                "related": ["__op": "AddRelation", "objects": [object(note, target.objectId)]],
            ])
        #expect(saved.status == 201, "\(saved.text)")
        let query: JSON = ["className": .string(note), "where": ["name": "target"]]
        #expect(try await client.find(note, ["to": ["$inQuery": query]]).results.map(\.objectId) == [saved.objectId])
        let related = try await client.find(
            note, ["$relatedTo": ["object": object(note, saved.objectId), "key": "related"]])
        #expect(related.results.map(\.objectId) == [target.objectId], "\(related.text)")
    }

    /// The names of SQLite's and the services' tables are ordinary class names, of classes without objects.
    @Test(
        "2026-31800: the names of tables are no way into them",
        arguments: [
            "sqlite_master", "sqlite_schema", "files", "configParameters", "identities", "mailedTokens", "o1", "outbox",
        ])
    func advisory2026_31800_namesOfTablesAreNoWayIn(table: String) async throws {
        let client = ParseClient(try await Suite.shared)
        let found = try await client.find(table, [:], ["count": 1])
        #expect(found.status == 200, "\(found.text)")
        #expect(found.json == ["results": [], "count": 0], "\(found.text)")
        #expect(try await client.get("/classes/\(table)/1").code == 101)
    }

    @Test("2019-1020012: objects posted to internal classes are refused and end nothing")
    func advisory2019_1020012_postsToInternalClassesEndNothing() async throws {
        let suite = try await Suite.shared
        let pulse = try await suite.pulse()
        let bodies: [JSON] = [
            [:], ["params": ["a": 1]], ["name": ["$ne": 1]],
            ["status": .null, "query": 1, "ACL": ["*": ["read": true]]],
            ["className": "X", "triggerName": "beforeSave", "url": "http://127.0.0.1:1/"],
        ]
        let names = [
            "_JobStatus", "_PushStatus", "_Hooks", "_GlobalConfig", "_JobSchedule", "_Audience", "_Idempotency",
        ]
        for className in names {
            for body in bodies {
                for way in Way.allCases {
                    let outcome = try await ParseClient(suite).go(way, .POST, "/classes/\(className)", body)
                    #expect(outcome.code == 119, "\(way) \(className) \(body): \(outcome.text)")
                }
                // The master key may or may not use them; either way it gets an answer, and no process ends.
                let answer = try await ParseClient.master(suite).create(className, body)
                #expect(answer.status == 201 || answer.status == 400, "\(className) \(body): \(answer.text)")
            }
            let find = try await ParseClient.master(suite).find(className, [:], ["limit": 1])
            #expect(find.status == 200 || find.code == 119, "\(className): \(find.text)")
        }
        #expect(try await suite.pulse() == pulse)
        let made = try await ParseClient(suite).create("Note\(Names.random(6))", ["still": "works"])
        #expect(made.status == 201)
    }
}
