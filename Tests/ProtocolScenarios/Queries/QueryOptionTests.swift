import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Query options as clients send them: cursors, plans, redirection, lists in both forms, and refusals.
@Suite struct QueryOptionTests {
    /// An infinite list during concurrent writes: each object that existed the whole time appears once.
    @Test(arguments: [ParseClient.Style.headers, .tunnelled])
    func aCursorWalksThroughAClassWhileOthersWrite(_ style: ParseClient.Style) async throws {
        let suite = try await Suite.shared
        var client = ParseClient(suite)
        client.style = style
        let className = "Feed\(Names.random(6))"
        func batch(_ names: [String]) async throws {
            let requests = names.enumerated().map { index, name -> JSON in
                [
                    "method": "POST", "path": .string("/parse/classes/\(className)"),
                    "body": ["name": .string(name), "rank": .int(Int64(index % 5))],
                ]
            }
            let answer = try await ParseClient(suite).call(.POST, "/batch", ["requests": .array(requests)])
            try #require(answer.status == 200, "\(answer.text)")
        }
        let stable = (0..<60).map { "s\($0)" }
        try await batch(stable)
        let writer = Task {
            for round in 0..<40 where !Task.isCancelled { try? await batch(["w\(round)a", "w\(round)b"]) }
        }
        var (after, seen) = ("", [String]())
        while true {
            let page = try await client.find(
                className, [:], ["order": "-rank,name", "limit": 7, "after": .string(after)])
            try #require(page.status == 200, "\(page.text)")
            let next = try #require(page["cursor"]?.stringValue)
            if page.results.isEmpty { break }
            seen += page.results.map { $0.text("name") }
            after = next
        }
        writer.cancel()
        await writer.value
        #expect(seen.filter { $0.hasPrefix("s") }.sorted() == stable.sorted())
        #expect(Set(seen).count == seen.count, "Nothing twice.")
        // By the last object's id, as a client does that stored no cursor.
        let first = try await client.find(className, ["name": ["$regex": "^s"]], ["order": "name", "limit": 3])
        let second = try await client.find(
            className, ["name": ["$regex": "^s"]],
            ["order": "name", "limit": 3, "after": .string(first.results[2].objectId)])
        #expect((first.results + second.results).map { $0.text("name") } == Array(stable.sorted().prefix(6)))
        #expect(first["cursor"] == nil)
        let counted = try await client.find(
            className, ["name": ["$regex": "^s"]], ["limit": 2, "after": "", "count": 1])
        #expect(counted["count"] == 60)
        #expect(counted.results.count == 2)
    }

    @Test func aCursorGoesOnlyWithItsOwnQuery() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let shelf = try await Shelf.fill(suite, names: ["a", "b"].map { "\($0) \(Names.random(4))" })
        let page = try await client.find(
            "Product", ["brand": shelf.pointer], ["order": "name", "limit": 1, "after": ""])
        let cursor = try #require(page["cursor"])
        for options: [String: JSON] in [
            ["order": "-name", "after": cursor], ["order": "name", "after": cursor, "skip": 1], ["after": "~~~"],
            ["after": "a b"],
            ["order": "name", "after": "nobody1234"],
        ] {
            #expect(try await client.find("Product", [:], options).code == 102, "\(options)")
        }
        var tunnelled = client
        tunnelled.style = .tunnelled
        for bad: JSON in [5, .null, ["x"], [:], true] {
            #expect(try await tunnelled.find("Product", [:], ["after": bad]).code == 102)
        }
    }

    @Test(arguments: [true, "queryPlanner", "executionStats", "allPlansExecution"] as [JSON])
    func theMasterKeyGetsThePlan(_ verbosity: JSON) async throws {
        let suite = try await Suite.shared
        let answer = try await ParseClient.master(suite).find(
            "Product", ["name": "x"], ["explain": verbosity, "include": "brand", "order": "name"])
        #expect(answer.status == 200, "\(answer.text)")
        let words = Suite.keepsFiles ? "USING INDEX" : "Index Scan"
        #expect(answer.results.contains { $0["detail"]?.stringValue?.contains(words) == true }, "\(answer.text)")
        let plain = try await ParseClient.master(suite).find("Product", ["name": "x"], ["explain": false])
        #expect(plain.json == ["results": []])
    }

    @Test func aRedirectionLeadsToTheClassOfARelation() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let shelf = try await Shelf.fill(suite, names: ["x \(Names.random(4))"])
        let title: JSON = ["title": .string(shelf.title)]
        let pointer = try await master.find("Category", title, ["redirectClassNameForKey": "parent"])
        #expect(pointer["className"] == "Category", "Only a relation leads anywhere: \(pointer.text)")
        #expect(pointer.results.map(\.objectId) == [shelf.brandId], "Only a relation leads anywhere: \(pointer.text)")
        let className = "Fan\(Names.random(6))"
        let user = try await Customer.signUp(suite)
        _ = try await master.create(className, ["n": 1, "likes": ["__op": "AddRelation", "objects": [user.pointer]]])
        let users = try await master.find(
            className, ["objectId": .string(user.userId)], ["redirectClassNameForKey": "likes"])
        #expect(users["className"] == "_User", "\(users.text)")
        #expect(users.results.map { $0["className"] } == ["_User"], "\(users.text)")
        for (name, key) in [(className, "n"), (className, "missing"), ("None\(className)", "x")] {
            let same = try await master.find(name, [:], ["redirectClassNameForKey": .string(key)])
            #expect(same.status == 200, "\(same.text)")
            #expect(same["className"] == .string(name), "\(same.text)")
        }
        for bad in ["a'b", "x.y"] {
            #expect(try await master.find("Product", [:], ["redirectClassNameForKey": .string(bad)]).code == 102)
        }
    }

    /// PARSE_PROTOCOL section 4's table, option by option, with each answer.
    @Test(
        arguments: [
            (["limit": 0, "count": 1], 200), (["limit": -1], 117), (["limit": "x"], 117), (["skip": -1], 118),
            (["skip": "x"], 118),
            (["keys": ["name", "stock"]], 200), (["keys": "name,stock"], 200), (["excludeKeys": ["detail"]], 200),
            (["include": ["brand"]], 200),
            (["keys": 5], 102), (["order": [1]], 102), (["order": "a b"], 105), (["order": "ACL"], 102),
            (["order": "-name,+stock"], 200),
            (
                [
                    "readPreference": "PRIMARY", "includeReadPreference": "NEAREST",
                    "subqueryReadPreference": "SECONDARY",
                ], 200
            ),
            (["hint": "_id_"], 200), (["hint": ["name": 1]], 200), (["comment": "for the log"], 200),
            (["includeAll": true], 200),
            (["distinct": "name"], 102), (["pipeline": []], 102), (["unknown": 1], 102), (["where": "{"], 107),
            (["where": [1]], 102),
            (["where": ["name": ["$regex": "a", "$options": "imxsu"]]], 200),
            (["where": ["name": ["$regex": "a", "$options": "g"]]], 102),
        ] as [([String: JSON], Int)])
    func eachOptionAnswersAsTheProtocolSays(_ options: [String: JSON], _ expected: Int) async throws {
        let suite = try await Suite.shared
        for style in [ParseClient.Style.headers, .tunnelled] {
            var client = ParseClient(suite)
            client.style = style
            let answer = try await client.get("/classes/Product", options)
            #expect(answer.code ?? answer.status == expected, "\(options): \(answer.text)")
        }
    }

    @Test func listsOfKeysSelectWhatCommaListsDo() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let shelf = try await Shelf.fill(suite, names: ["k \(Names.random(4))"])
        let path = "/classes/Product/\(shelf.productIds[0])"
        let always: Set<String> = ["objectId", "createdAt", "updatedAt"]
        for keys: JSON in ["name,brand.title", ["name", "brand.title"]] {
            for object in [
                try await client.find("Product", ["brand": shelf.pointer], ["keys": keys]).results[0],
                try await client.get(path, ["keys": keys]).json,
            ] {
                #expect(
                    Set(object.objectValue?.keys ?? [:].keys).subtracting(["ACL"]) == always.union(["name", "brand"]))
                #expect(
                    object.at("brand", "title") == .string(shelf.title), "A dotted key includes what is before the dot."
                )
            }
        }
        for excluded: JSON in ["detail,objectId", ["detail", "objectId"]] {
            let object = try await client.get(path, ["excludeKeys": excluded]).json
            #expect(object["detail"] == nil)
            #expect(object.objectId == shelf.productIds[0])
        }
        for options: [String: JSON] in [
            ["where": [:]], ["limit": 1], ["order": "name"], ["after": ""], ["explain": true],
        ] {
            let refused = try await client.get(path, options)
            #expect(refused.code == 102, "\(options)")
            #expect(refused["error"] == "Improper encode of parameter", "\(options)")
        }
        #expect(try await client.get(path, ["readPreference": "PRIMARY", "subqueryReadPreference": "x"]).status == 200)
    }

    @Test func dottedKeysReachIntoObjects() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let className = "Parts\(Names.random(6))"
        let made = try await client.create(
            className, ["o": ["a": 1, "b": ["c": 2, "d": 3]], "items": [["x": 1, "y": 2], ["x": 3]]])
        for (options, expected) in [
            (["keys": "o.a,o.b.c"], ["o": ["a": 1, "b": ["c": 2]]]),
            (["keys": ["o", "items.x"], "excludeKeys": ["o.b"]], ["o": ["a": 1], "items": [["x": 1], ["x": 3]]]),
            (["excludeKeys": "o.b.d,items.x"], ["o": ["a": 1, "b": ["c": 2]], "items": [["y": 2], [:]]]),
        ] as [([String: JSON], JSON)] {
            for object in [
                try await client.find(className, [:], options).results[0],
                try await client.get("/classes/\(className)/\(made.objectId)", options).json,
            ] {
                #expect(object["o"] == expected["o"], "\(options)")
                #expect(object["items"] == expected["items"], "\(options)")
            }
        }
    }

    @Test func membersOfArraysAndSensitiveTextAnswerOverHTTP() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let className = "Basket\(Names.random(6))"
        for (name, size) in [("one", "M"), ("two", "S")] {
            _ = try await client.create(
                className, ["name": .string(name), "items": [["size": .string(size)], ["size": "L"]]])
        }
        #expect(try await client.find(className, ["items.size": "M"]).results.map { $0.text("name") } == ["one"])
        #expect(try await client.find(className, ["items.0.size": "S"]).results.map { $0.text("name") } == ["two"])
        #expect(try await client.find(className, ["items.1.size": ["$ne": "L"]]).results.isEmpty)
        let ordered = try await client.find(className, [:], ["order": "-items.0.size"])
        #expect(ordered.results.map { $0.text("name") } == ["two", "one"])
        let word = "Zyx\(Names.random(5))"
        let shelf = try await Shelf.fill(suite, names: ["\(word) upper", "\(word.lowercased()) lower"])
        func found(_ options: [String: JSON]) async throws -> [String] {
            let search = JSON.object(["$term": .string(word)].merging(options) { $1 })
            let answer = try await client.find(
                "Product", ["brand": shelf.pointer, "name": ["$text": ["$search": search]]],
                ["order": "$score", "keys": "$score,name"])
            #expect(answer.results.allSatisfy { $0["score"]?.doubleValue != nil }, "\(answer.text)")
            return answer.results.map { $0.text("name") }.sorted()
        }
        #expect(try await found([:]) == shelf.names.sorted())
        #expect(try await found(["$caseSensitive": true, "$language": "en"]) == [shelf.names[0]])
    }

    /// The rank is not a field, so it is returned whenever requested, whatever other keys are selected.
    @Test func theRankStaysBesideAnIncludeOfEverything() async throws {
        let suite = try await Suite.shared
        let word = "Qyx\(Names.random(5))"
        let shelf = try await Shelf.fill(suite, names: ["\(word) cream"])
        let condition: JSON = ["brand": shelf.pointer, "name": ["$text": ["$search": ["$term": .string(word)]]]]
        func found(_ options: [String: JSON]) async throws -> JSON? {
            try await ParseClient(suite).find("Product", condition, options).results.first
        }
        for keys in ["$score", "$score,name", "unitPrice,$score"] {
            let row = try await found(["includeAll": true, "keys": .string(keys)])
            #expect((row?["score"]?.doubleValue ?? 0) > 0, "\(keys): \(row?.serializedText ?? "")")
            #expect(row?.at("brand", "title") != nil)
            #expect(row?["createdAt"] != nil)
            #expect((row?["name"] != nil) == keys.contains("name"))
            #expect((row?["unitPrice"] != nil) == keys.contains("unitPrice"))
        }
        let unasked = try await found(["includeAll": true, "keys": "name"])
        #expect(unasked?["name"] != nil)
        #expect(unasked?["score"] == nil)
    }
}
