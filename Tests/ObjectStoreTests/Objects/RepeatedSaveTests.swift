import ObjectStore
import ParseProtocol
import Testing

/// Saves that repeat what a client read or saved before, and the error texts of refused saves.
@Suite struct RepeatedSaveTests {
    /// The iOS SDK sends a known relation as a value, with the members that it knows.
    @Test func aRelationAsAValueChangesNothing() async throws {
        let test = try await TestStore()
        let one = JSON.pointer("Player", try await test.create("Player", ["name": "one"]))
        let team = try await test.create("Team", ["players": ["__op": "AddRelation", "objects": [one]]])
        let related: JSON = ["$relatedTo": ["object": .pointer("Team", team), "key": "players"]]
        for value: JSON in [
            ["__type": "Relation", "className": "Player", "objects": [.pointer("Player", "other00000")]],
            ["__type": "Relation", "className": "Player", "objects": []], ["__type": "Relation", "className": .null],
            ["__type": "Relation", "objects": [one]], ["__type": "Relation"],
        ] {
            let updated = try await test.update("Team", team, ["players": value, "city": "Oslo"])
            #expect(updated.document["players"] == ["__type": "Relation", "className": "Player"])
            #expect(try await test.names("Player", related) == ["one"], "\(value.serializedText)")
            let copy = try await test.create("Team", ["players": value])
            let others: JSON = ["$relatedTo": ["object": .pointer("Team", copy), "key": "players"]]
            #expect(try await test.names("Player", others) == [])
        }
        // A new relation field needs a target class.
        for value: JSON in [["__type": "Relation"], ["__type": "Relation", "className": .null]] {
            #expect(await code { try await test.create("Free", ["fans": value, "name": "x"]) } == 111)
            #expect(await code { try await test.update("Team", team, ["city": value]) } == 111)
        }
        #expect(
            await code { try await test.update("Team", team, ["players": ["__type": "Relation", "className": "Fan"]]) }
                == 111)
    }

    @Test func aBatchOfRelationOperationsIsOneChange() async throws {
        let test = try await TestStore()
        var ids: [JSON] = []
        for name in ["a", "b", "c"] {
            ids.append(.pointer("Player", try await test.create("Player", ["name": .string(name)])))
        }
        func batch(_ operations: JSON...) -> JSON { ["__op": "Batch", "ops": .array(operations)] }
        func add(_ objects: JSON...) -> JSON { ["__op": "AddRelation", "objects": .array(objects)] }
        func remove(_ objects: JSON...) -> JSON { ["__op": "RemoveRelation", "objects": .array(objects)] }
        let team = try await test.create("Team", ["players": batch(add(ids[0], ids[1]), remove())])
        let related: JSON = ["$relatedTo": ["object": .pointer("Team", team), "key": "players"]]
        #expect(try await test.names("Player", related) == ["a", "b"])
        try await test.update("Team", team, ["players": batch(add(ids[2]), remove(ids[0]))])
        #expect(try await test.names("Player", related) == ["b", "c"])
        try await test.update("Team", team, ["players": batch()])
        #expect(try await test.names("Player", related) == ["b", "c"])
        #expect(await code { try await test.update("Team", team, ["players": batch(["__op": "Delete"])]) } == 111)
    }

    @Test func anUpdateMayRepeatWhatTheServerSets() async throws {
        let test = try await TestStore()
        let id = try await test.create("T", ["n": 1])
        let before = try await test.get("T", id)
        var again = before
        again["n"] = 2
        try await test.update("T", id, again, as: .anonymous)
        let after = try await test.get("T", id)
        #expect(after["n"] == 2)
        #expect(after["objectId"] == .string(id))
        #expect(after["createdAt"] == before["createdAt"])
        // Another object's id in the body does not redirect the update.
        let other = try await test.create("T", ["n": 5])
        try await test.update("T", id, ["objectId": .string(other), "n": 3], as: .anonymous)
        #expect(try await test.get("T", other)["n"] == 5)
    }

    /// As the protocol demands: a field is new to the class, and pointers decide which users may add it.
    @Test func addingAFieldFollowsPointerPermissions() async throws {
        let permissions = ClassPermissions(
            find: .everybody, count: .everybody, get: .everybody, create: .everybody, update: .everybody,
            delete: .everybody,
            addField: .init(pointerFields: ["owner"]))
        let test = try await TestStore([
            ClassDefinition("T", fields: ["owner": .pointer("_User"), "n": .number], permissions: permissions)
        ])
        let id = try await test.create("T", ["owner": .pointer("_User", "annannanna")])
        #expect(await error { try await test.update("T", id, ["new": 1], as: bob) } == .objectNotFound)
        #expect(await error { try await test.update("T", id, ["new": 1], as: .anonymous) } == .objectNotFound)
        #expect(await code { try await test.update("T", id, ["n": 1], as: bob) } == nil)
        #expect(await code { try await test.update("T", id, ["new": 1], as: ann) } == nil)
        let refused = await error {
            try await test.create("T", ["owner": .pointer("_User", "bobbobbobb"), "more": 1], as: bob)
        }
        #expect(refused?.message == "Permission denied for action addField on class T.")
        #expect(refused?.code == .operationForbidden)
    }

    private static let refused: [(JSON, Int, String)] = [
        (["p": ["__type": "Polygon"]], 111, "This is not a valid Polygon"),
        (["p": ["__type": "Polygon", "coordinates": .null]], 111, "This is not a valid Polygon"),
        (
            ["p": ["__type": "Polygon", "coordinates": [[0, 0]]]], 107, "Polygon must have at least 3 different points."
        ),
        (["p": ["__type": "Nothing"]], 111, "This is not a valid Nothing"),
        (["s": 1], 111, "schema mismatch for T.s; expected String but got Number"),
        (["s": ["__op": "Add", "objects": [1]]], 111, "schema mismatch for T.s; expected String but got Array"),
        (["s.x": 1], 111, "schema mismatch for T.s; expected String but got Object"),
        (
            ["s": ["__op": "AddRelation", "objects": [.pointer("C", "x")]]], 111,
            "schema mismatch for T.s; expected String but got Relation<C>"
        ),
        (["constructor": 1], 105, #"Prohibited keyword in request data: {"key":"constructor"}."#),
        (["o": ["a": ["__proto__": 1]]], 105, #"Prohibited keyword in request data: {"key":"__proto__"}."#),
        (["_bsontype": "Code"], 105, #"Prohibited keyword in request data: {"key":"_bsontype","value":"Code"}."#),
        (
            ["o": ["_bsontype": "Code"]], 105,
            #"Prohibited keyword in request data: {"key":"_bsontype","value":"Code"}."#
        ),
        (["a b": 1], 105, "Invalid field name: a b."),
        (["o": ["$a": 1]], 121, "Nested keys should not contain the '$' or '.' characters"),
    ]

    @Test func refusalsHaveTheWordsOfTheProtocol() async throws {
        let test = try await TestStore()
        try await test.create("T", ["s": "text"])
        for (object, code, text) in Self.refused {
            let found = await error { try await test.create("T", object, as: .anonymous) }
            #expect(found?.code.rawValue == code, "\(object.serializedText): \(String(describing: found))")
            #expect(found?.message == text, "\(object.serializedText): \(String(describing: found))")
        }
    }
}
