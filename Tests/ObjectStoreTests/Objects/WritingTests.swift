import ObjectStore
import ParseProtocol
import Testing

@Suite struct WritingTests {
    @Test func aStoredObjectIsReadByteForByteInWireForm() async throws {
        let test = try await TestStore()
        let created = try await test.store.write {
            try $0.create(
                "T",
                [
                    "b": true, "a": date("2022-01-01T12:23:45Z"),
                    "p": ["__type": "Object", "className": "C", "objectId": "x1", "title": "t"],
                    "ACL": ["*": ["read": true, "write": false]], "createdAt": "1999-01-01T00:00:00.000Z",
                ], caller: .anonymous)
        }
        let id = created.objectId
        let text = try await test.store.read { try $0.get("T", id, caller: .anonymous) }
        #expect(
            String(decoding: text, as: UTF8.self) == """
                {"ACL":{"*":{"read":true}},"a":{"__type":"Date","iso":"2022-01-01T12:23:45.000Z"},"b":true,\
                "createdAt":"\(created.createdAt.iso)","objectId":"\(id)",\
                "p":{"__type":"Pointer","className":"C","objectId":"x1"},"updatedAt":"\(created.createdAt.iso)"}
                """)
        #expect(created.answer == ["objectId": .string(id), "createdAt": .string(created.createdAt.iso)])
    }

    /// Deleting a field or adding a relation leaves the rest of an object's stored text unchanged.
    @Test func aChangedClassLeavesTheTextOfItsObjects() async throws {
        let test = try await TestStore()
        let id = try await test.create(
            "T", ["gone": 1, "list": [1, ["a": "b, \"c\": d"]], "number": 2.5, "text": "é \u{1F600}\n"])
        let before = try await test.get("T", id)
        _ = try await test.store.write {
            try $0.changeClass(
                "T", ["fields": ["gone": ["__op": "Delete"], "friends": ["type": "Relation", "targetClass": "T"]]],
                keeping: [])
        }
        var expected = before
        expected["gone"] = nil
        expected["friends"] = ["__type": "Relation", "className": "T"]
        let after = try await test.store.read { try $0.get("T", id, caller: .master) }
        #expect(try JSON(parsing: after) == expected)
        // Compact, as every part of the service expects it.
        #expect(after.count == expected.serialized.count)
        #expect(try await test.get("T", id, keys: ["text"])["text"] == before["text"])
    }

    @Test func everyOperatorWorksOnCreateAndUpdate() async throws {
        let test = try await TestStore()
        let id = try await test.create(
            "T",
            [
                "n": ["__op": "Increment", "amount": 2], "l": ["__op": "Add", "objects": [1, 1]],
                "u": ["__op": "AddUnique", "objects": [1, 1.0]],
                "r": ["__op": "Remove", "objects": [1]], "gone": ["__op": "Delete"], "o": ["x": 1],
                "only": ["__op": "SetOnInsert", "amount": 5],
            ])
        var object = try await test.get("T", id)
        #expect(object["n"] == 2)
        #expect(object["l"] == [1, 1])
        #expect(object["u"] == [1])
        #expect(object["r"] == [])
        #expect(object["gone"] == nil)
        #expect(object["only"] == 5)
        let pointer = JSON.pointer("C", "x")
        let updated = try await test.update(
            "T", id,
            [
                "n": ["__op": "Increment", "amount": -0.5], "l": ["__op": "Remove", "objects": [1]],
                "u": ["__op": "AddUnique", "objects": [1, ["__type": "Object", "className": "C", "objectId": "x"]]],
                "r": ["__op": "Add", "objects": [["a": 1]]], "o.x": ["__op": "Increment", "amount": 1], "o.y.z": "new",
                "plain": 1,
                "only": ["__op": "SetOnInsert", "amount": 6],
            ])
        object = try await test.get("T", id)
        #expect(object["n"] == 1.5)
        #expect(object["l"] == [])
        #expect(object["u"] == [1, pointer])
        #expect(object["r"] == [["a": 1]])
        #expect(object["o"] == ["x": 2, "y": ["z": "new"]])
        #expect(object["only"] == 5)
        #expect(
            updated.answer == [
                "updatedAt": object["updatedAt"] ?? .null, "n": 1.5, "l": [], "u": [1, pointer], "r": [["a": 1]],
                "o": ["x": 2, "y": ["z": "new"]],
            ])
        #expect(updated.before["n"] == 2)
        #expect(updated.document == object)
        try await test.update(
            "T", id,
            ["o.x": ["__op": "Delete"], "plain": ["__op": "Delete"], "u": ["__op": "Remove", "objects": [pointer]]])
        object = try await test.get("T", id)
        #expect(object["o"] == ["y": ["z": "new"]])
        #expect(object["plain"] == nil)
        #expect(object["u"] == [1])
    }

    @Test func elementsOfArraysAreReachedByTheirIndex() async throws {
        let test = try await TestStore()
        let id = try await test.create(
            "T",
            ["items": [["value": "a", "count": 5], ["value": "b", "count": 1]], "o": ["1x": 1], "n": [1, 2, 3]])
        func change(_ changes: JSON) async throws -> JSON { try await test.update("T", id, changes).answer }
        #expect(
            try await change(["items.0.count": ["__op": "Increment", "amount": 15]])["items"] == [
                ["value": "a", "count": 20], ["value": "b", "count": 1],
            ])
        _ = try await change([
            "items.1.tags": ["__op": "AddUnique", "objects": ["new"]], "n.1": 7, "o.1x": 2, "o.0": "member",
        ])
        _ = try await change([
            "n.0": ["__op": "Delete"], "n.9": ["__op": "Delete"], "items.1.value": ["__op": "Delete"],
        ])
        _ = try await change(["n.5": 6])
        let object = try await test.get("T", id)
        #expect(object["items"] == [["value": "a", "count": 20], ["count": 1, "tags": ["new"]]])
        #expect(object["n"] == [.null, 7, 3, .null, .null, 6])
        #expect(object["o"] == ["1x": 2, "0": "member"])
        #expect(await code { _ = try await change(["n.x": 1]) } == 111)
        #expect(await code { _ = try await change(["n.1.x": 1]) } == 111)
        #expect(await code { _ = try await change(["n.5000": 1]) } == 105)
        #expect(await code { _ = try await change(["n.99999999999": 1]) } == 111)
    }

    @Test func membersAreWrittenByNamesOfEveryScript() async throws {
        let test = try await TestStore()
        let id = try await test.create("T", ["o": ["x": 1], "c.2026-01-01": ["__op": "Increment", "amount": 2]])
        _ = try await test.update(
            "T", id,
            [
                "o.de-DE": 1, "o.größe.a b": ["__op": "Add", "objects": [1]], "o.x": ["__op": "Delete"],
                "c.2026-01-01": ["__op": "Increment", "amount": 1],
            ]
        )
        let object = try await test.get("T", id)
        #expect(object["o"] == ["de-DE": 1, "größe": ["a b": [1]]])
        #expect(object["c"] == ["2026-01-01": 3])
        for name in ["ä.x", "a-b.x", "a b", "o.a'b", "o.a\"b", "o.a$b", "o.__proto__", "o.😀"] {
            #expect(await code { _ = try await test.update("T", id, .object([name: 1])) } == 105, "\(name)")
        }
    }

    @Test func relationsAreKeptAndQueriedBothWays() async throws {
        let test = try await TestStore()
        try await test.create("Team", ["name": "early"])
        let one = try await test.create("Player", ["name": "one"])
        let two = try await test.create("Player", ["name": "two"])
        let team = try await test.create(
            "Team",
            [
                "name": "late",
                "players": ["__op": "AddRelation", "objects": [.pointer("Player", one), .pointer("Player", two)]],
            ])
        let related: JSON = ["$relatedTo": ["object": .pointer("Team", team), "key": "players"]]
        #expect(try await test.names("Player", related) == ["one", "two"])
        #expect(try await test.names("Team", ["players": .pointer("Player", one)]) == ["late"])
        #expect(try await test.names("Team", ["players": ["$ne": .pointer("Player", one)]]) == ["early"])
        #expect(try await test.names("Team", ["players": ["$in": [.pointer("Player", two)]]]) == ["late"])
        let all = try await test.store.read { try $0.documents(Query(className: "Team"), caller: .master) }
        #expect(all.allSatisfy { $0["players"] == ["__type": "Relation", "className": "Player"] })
        try await test.update(
            "Team", team,
            [
                "players": [
                    "__op": "Batch",
                    "ops": [
                        ["__op": "RemoveRelation", "objects": [.pointer("Player", one)]],
                        ["__op": "AddRelation", "objects": [.pointer("Player", two)]],
                    ],
                ]
            ])
        #expect(try await test.names("Player", related) == ["two"])
        // A client that saves an unchanged object sends the relation back.
        try await test.update("Team", team, ["players": ["__type": "Relation", "className": "Player"]])
        #expect(
            await code {
                try await test.update(
                    "Team", team, ["players": ["__op": "AddRelation", "objects": [.pointer("Other", "x")]]])
            } == 111)
        #expect(await code { try await test.update("Team", team, ["players": 1]) } == 111)
        try await test.update("Team", team, ["ACL": ["annannanna": ["read": true]]])
        #expect(try await test.names("Player", related, as: ann) == ["two"])
        #expect(try await test.names("Player", related, as: bob) == [])
        let hidden = try await test.store.read { try $0.count(Query(className: "Player", where: related), caller: bob) }
        #expect(hidden == 0)
    }

    @Test func typesAreLearntAndConflictsNamed() async throws {
        let test = try await TestStore()
        let id = try await test.create("T", ["s": "x", "p": .pointer("Category", "c"), "empty": .null])
        #expect(
            await error { try await test.create("T", ["s": 1]) }
                == ParseError(.incorrectType, "schema mismatch for T.s; expected String but got Number"))
        #expect(
            await error { try await test.update("T", id, ["p": .pointer("Product", "c")]) }?.message
                == "schema mismatch for T.p; expected Pointer<Category> but got Pointer<Product>")
        #expect(await code { try await test.update("T", id, ["s": ["__op": "Increment", "amount": 1]]) } == 111)
        #expect(await code { try await test.update("T", id, ["s": ["__op": "Add", "objects": [1]]]) } == 111)
        #expect(await code { try await test.update("T", id, ["s.x": 1]) } == 111)
        try await test.update("T", id, ["s": .null, "empty": 3])
        #expect(await code { try await test.create("T", ["empty": "x"]) } == 111)
        try await test.create("T", ["g": ["__type": "GeoPoint", "latitude": 1, "longitude": 1]])
        #expect(
            await code { try await test.create("T", ["h": ["__type": "GeoPoint", "latitude": 1, "longitude": 1]]) }
                == 111)
        // A refused save adds no fields to the class.
        #expect(await code { try await test.create("T", ["fresh": 1, "s": 1]) } == 111)
        try await test.create("T", ["fresh": "text"])
    }

    static let refused: [(JSON, Int)] = [
        (["bad name": 1], 105), (["a'b": 1], 105), (["_x": 1], 105), (["length": 1], 105), (["id": "x"], 105),
        (["objectId": "x"], 105),
        (["constructor": 1], 105), (["o": ["constructor": 1]], 105), (["o": ["a": [["__proto__": 1]]]], 105),
        (["o": ["x": 1, "y": ["_bsontype": "Code"]]], 105),
        (["o": ["$a": 1]], 121), (["o": ["b": ["a.b": 1]]], 121), (["a..b": 1], 105), (["a.": 1], 105),
        (["a.$b": 1], 105), (["a.__proto__": 1], 105),
        (["a.__type": "Pointer"], 105), (["a.b.__op": "Delete"], 105),
        (["n": ["__op": "Increment", "amount": "x"]], 107), (["n": ["__op": "Increment"]], 107),
        (["l": ["__op": "Add", "objects": 1]], 107),
        (["l": ["__op": "Foo"]], 108), (["l": ["__op": 1]], 108), (["o": ["x": ["__op": "Delete"]]], 107),
        (["d": ["__type": "Date", "iso": "tomorrow"]], 111), (["d": ["__type": "Date"]], 111),
        (["p": ["__type": "Pointer", "className": "C"]], 111),
        (["p": .pointer("C", "role:x")], 111), (["p": .pointer("_Join:x:y", "a")], 111),
        (["x": ["__type": "Nonsense"]], 111), (["x": ["__type": 1]], 111),
        (["g": ["__type": "GeoPoint", "latitude": 91, "longitude": 0]], 111),
        (["b": ["__type": "Bytes", "base64": "%"]], 111),
        (["f": ["__type": "File"]], 111),
        (["y": ["__type": "Polygon", "coordinates": [[0, 0], [1, 1], [0, 0]]]], 107),
        (["ACL": 1], 123), (["ACL": ["*unresolved": ["read": true]]], 123), (["ACL": ["*": true]], 123),
        (["ACL": ["*": ["read": 1]]], 123),
        (["ACL": ["*": ["own": true]]], 123), (["ACL": ["": ["read": true]]], 123), (["s": "a\0b"], 107),
        (["s": .string(String(repeating: "x", count: 131_072))], 116),
        (["r": ["__op": "AddRelation", "objects": [1]]], 111),
        (["r": ["__op": "AddRelation", "objects": [.pointer("A", "x"), .pointer("B", "x")]]], 111),
    ]

    @Test func badValuesAreRefusedAndNothingChanges() async throws {
        let test = try await TestStore()
        let id = try await test.create("T", ["name": "x"])
        for (object, expected) in Self.refused {
            #expect(
                await code { try await test.create("T", object, as: ann) } == expected,
                "create \(object.serializedText.prefix(100))")
            if object["objectId"] == nil {
                #expect(
                    await code { try await test.update("T", id, object, as: ann) } == expected,
                    "update \(object.serializedText.prefix(100))")
            }
        }
        #expect(try await test.names("T", [:]) == ["x"])
        #expect(await code { try await test.create("Bad-Class", [:]) } == 103)
        #expect(await code { try await test.create("_Hidden", [:]) } == 103)
        #expect(await code { try await test.create("T", "text") } == 107)
        #expect(await code { try await test.update("T", "missing", [:]) } == 101)
        #expect(await code { try await test.delete("Nothing", "missing") } == 101)
        #expect(await code { _ = try await test.get("Nothing", "missing") } == 101)
    }

    @Test func clientsMakeClassesAndIdsOnlyWhereAllowed() async throws {
        let strict = try await TestStore(allowClassCreation: false)
        #expect(
            await error { try await strict.create("New", [:], as: ann) }
                == ParseError(.operationForbidden, "This user is not allowed to access non-existent class: New"))
        try await strict.create("New", [:], as: .master)
        try await strict.create("New", [:], as: ann)
        #expect(await code { try await strict.create("New", [:], as: ann, id: "mine") } == 105)
        #expect(try await strict.create("New", [:], as: .master, id: "mine") == "mine")
        let open = try await TestStore(allowCustomObjectId: true)
        #expect(try await open.create("New", ["objectId": "mine"], as: ann) == "mine")
        #expect(await code { try await open.create("New", ["objectId": "mine"], as: ann) } == 137)
        #expect(await code { try await open.create("New", ["objectId": "role:admins"], as: ann) } == 104)
        #expect(await code { try await open.create("New", ["objectId": "*"], as: ann) } == 104)
    }

    @Test func uniqueIndexesRefuseTheSecondAndForgiveTheMissing() async throws {
        let test = try await TestStore([
            ClassDefinition(
                "Favorite", fields: ["customer": .pointer("_User"), "product": .pointer("Product")],
                uniqueIndexes: [["customer", "product"]])
        ])
        func favorite(_ user: String, _ product: String) -> JSON {
            ["customer": .pointer("_User", user), "product": .pointer("Product", product)]
        }
        try await test.create("Favorite", favorite("u1", "p1"))
        let other = try await test.create("Favorite", favorite("u1", "p2"))
        #expect(
            await error { try await test.create("Favorite", favorite("u1", "p1")) }
                == ParseError(.duplicateValue, "A duplicate value for a field with unique values was provided"))
        #expect(await code { try await test.update("Favorite", other, favorite("u1", "p1")) } == 137)
        try await test.create("Favorite", ["customer": .pointer("_User", "u1")])
        try await test.create("Favorite", ["customer": .pointer("_User", "u1")])
    }

    @Test func aFileUrlIsAlwaysTheServers() async throws {
        let test = try await TestStore()
        let file: JSON = ["__type": "File", "name": "a.png", "url": "https://evil/a.png"]
        let id = try await test.create("T", ["name": "it", "image": file])
        #expect(try await test.get("T", id)["image"] == ["__type": "File", "name": "a.png"])
        try await test.update("T", id, ["image": file], as: ann)
        #expect(try await test.get("T", id)["image"] == ["__type": "File", "name": "a.png"])
        #expect(try await test.names("T", ["image": file]) == ["it"], "A File is equal to one of the same name.")
    }

    @Test func aFileOfAnOlderReleaseIsUpgraded() async throws {
        let test = try await TestStore([ClassDefinition("P", fields: ["name": .string], indexes: [["name"]])])
        let id = try await test.create("P", ["name": "Rose Soap"])
        test.store.stop()
        let newer = try await TestStore(
            [
                ClassDefinition(
                    "P", fields: ["name": .string, "fans": .relation("_User"), "size": .number], indexes: [["size"]],
                    textFields: ["name"], permissions: .adminWritten())
            ], path: test.path)
        #expect(try await newer.get("P", id)["fans"] == ["__type": "Relation", "className": "_User"])
        #expect(try await newer.names("P", ["name": ["$regex": "ose s", "$options": "i"]]) == ["Rose Soap"])
        #expect(await code { try await newer.create("P", ["name": "x"], as: ann) } == 119)
        #expect(try await newer.names("P", ["name": ["$text": ["$search": ["$term": "rose"]]]]) == ["Rose Soap"])
        #expect(try await newer.relations("i").contains("i1_size"))
        #expect(try await !newer.relations("i").contains("i1_name"))
        newer.store.stop()
    }
}
