import ObjectStore
import ParseProtocol
import Testing

/// Requests by which a client tries to make later operations fail or cost too much.
@Suite struct BoundsTests {
    @Test func aRelativeTimeFarAwayIsTheFirstOrLastDate() async throws {
        let test = try await TestStore()
        try await test.create("T", ["name": "x", "day": date("2020-01-01T00:00:00Z")])
        func found(_ sign: String, _ time: String) async throws -> [String] {
            try await test.names("T", ["day": [sign: ["$relativeTime": .string(time)]]])
        }
        let years = Array(repeating: "1000000000 years", count: 6).joined(separator: " ")
        for far in ["1000000000 years", years] {
            #expect(try await found("$lt", "in " + far) == ["x"])
            #expect(try await found("$gt", far + " ago") == ["x"])
        }
        for bad in ["in", "ago", "in ago", "in 1000000001 years", "in 9223372036854775808 years", "-1 years ago"] {
            #expect(await code { _ = try await found("$lt", bad) } == 107)
        }
    }

    static func nested(_ levels: Int, _ inner: JSON = 1) -> JSON {
        (0..<levels).reduce(inner) { value, _ in .array([value]) }
    }

    @Test func aStoredDocumentCanAlwaysBeReadAgain() async throws {
        let test = try await TestStore()
        let id = try await test.create("T", ["name": "x", "deep": Self.nested(39)], as: ann)
        #expect(await code { try await test.create("T", ["deep": Self.nested(40)], as: ann) } == 107)
        let path = "o" + String(repeating: ".a", count: 15)
        for change in [
            [path: Self.nested(60)], [path: Self.nested(25)], ["deep": ["__op": "Add", "objects": [Self.nested(39)]]],
            ["fresh": ["__op": "AddUnique", "objects": [Self.nested(39)]]],
        ] as [JSON] {
            #expect(
                await error { try await test.update("T", id, change, as: ann) }?.message.contains("nested too deeply")
                    == true)
        }
        try await test.update("T", id, [path: Self.nested(24)], as: ann)
        try await test.delete("T", id, as: ann)
    }

    @Test func theMasterDeletesWhatCannotBeDecodedAnyMore() async throws {
        let test = try await TestStore([ClassDefinition("T", fields: ["name": .string], textFields: ["name"])])
        let id = try await test.create("T", ["name": "lavender"])
        let text = JSON.object(["name": "lavender", "deep": Self.nested(80)]).serializedText
        try await test.store.write { job in
            let classId = try job.rows("SELECT id FROM classes WHERE name = 'T'", []).first?.int(0) ?? 0
            try job.execute("UPDATE o\(classId) SET doc = ?", [.text(text)])
        }
        #expect(await code { try await test.delete("T", id, as: ann) } == 0)
        try await test.delete("T", id)
        #expect(await code { _ = try await test.get("T", id) } == 101)
        try await test.create("T", ["name": "soap"])
        #expect(try await test.names("T", ["name": ["$text": ["$search": ["$term": "lavender"]]]]).isEmpty)
    }

    @Test func aClientGivesAClassFewRelationFields() async throws {
        let test = try await TestStore()
        let relation: JSON = ["__type": "Relation", "className": "C"]
        for index in 0..<16 { try await test.create("T", .object(["r\(index)": relation]), as: ann) }
        #expect(await code { try await test.create("T", ["r16": relation], as: ann) } == 116)
        let operation: JSON = ["__op": "AddRelation", "objects": [.pointer("C", "x")]]
        #expect(await code { try await test.create("T", ["r16": operation], as: ann) } == 116)
        try await test.create("T", ["r0": operation], as: ann)
        try await test.create("T", ["r16": relation])
    }

    @Test(arguments: ["ACL.annannanna", "objectId.x", "createdAt.iso", "updatedAt.iso", "className.x", "id.x"])
    func builtInFieldsHaveNoWritableMembers(_ key: String) async throws {
        let test = try await TestStore()
        let id = try await test.create("T", [:])
        #expect(await code { try await test.create("T", .object([key: ["write": true]]), as: ann) } == 105)
        #expect(await code { try await test.update("T", id, .object([key: ["write": true]]), as: ann) } == 105)
    }

    @Test func nobodyPointsAFileAnywhereAtAnyDepth() async throws {
        let test = try await TestStore()
        let safe: JSON = ["__type": "File", "name": "evil.png"]
        let evil: JSON = ["__type": "File", "name": "evil.png", "url": "https://evil/"]
        let id = try await test.create("T", ["list": [evil], "object": ["a": evil]])
        try await test.update(
            "T", id,
            [
                "list": ["__op": "Add", "objects": [[evil]]], "object.b": ["x": [evil]],
                "unique": ["__op": "AddUnique", "objects": [["image": evil]]],
            ], as: ann)
        let object = try await test.get("T", id)
        #expect(object["list"] == [safe, [safe]])
        #expect(object["unique"] == [["image": safe]])
        #expect(object["object"] == ["a": safe, "b": ["x": [safe]]])
    }

    @Test func eachValueOfAllIsAConstraint() async throws {
        let test = try await TestStore()
        try await test.create("T", ["name": "x", "tags": [1]])
        func all(_ count: Int) -> JSON { ["tags": ["$all": .array((0..<count).map { .int(Int64($0)) })]] }
        #expect(try await test.names("T", all(1000)).isEmpty)
        #expect(try await test.names("T", all(1000)).isEmpty)
        #expect(await code { _ = try await test.names("T", all(1001)) } == 102)
    }

    /// A PostgreSQL index accepts no long value. The write is rejected before anything is stored.
    @Test func aLongValueOfAnIndexedFieldIsSavedOrRefused() async throws {
        let test = try await TestStore([ClassDefinition("T", fields: ["name": .string], indexes: [["name"]])])
        let letters = (0..<9000).map { _ in "abcdefghijklmnopqrstuvwxyz0123456789".randomElement() ?? "a" }
        let isKept = TestStore.server == nil
        #expect(await code { try await test.create("T", ["name": .string(String(letters))]) } == (isKept ? nil : 116))
        let id = try await test.create("T", ["name": .string(String(letters.prefix(2000)))])
        let change: JSON = ["name": .string(String(letters))]
        #expect(await code { try await test.update("T", id, change) } == (isKept ? nil : 116))
        #expect(try await test.store.read { try $0.count(Query(className: "T"), caller: .master) } == (isKept ? 2 : 1))
        try await test.create("Free", ["name": .string(String(letters))])
        let wish: JSON = ["indexes": ["byName": ["name": 1]]]
        #expect(
            await code { _ = try await test.store.write { try $0.changeClass("Free", wish, keeping: []) } }
                == (isKept ? nil : 116))
    }

    @Test func anAnswerIsNoLargerThanMemoryAllows() async throws {
        let test = try await TestStore()
        let text = JSON.string(String(repeating: "x", count: 130_000))
        let ids = try await test.store.write { job in
            try (0..<270).map { _ in try job.create("T", ["name": "x", "text": text], caller: .master).objectId }
        }
        let answer = ParseError(.invalidQuery, "The answer is too large; use a smaller limit or keys.")
        func find(_ limit: Int, keys: [String] = []) async throws -> Int {
            try await test.store.read { try $0.find(Query(className: "T", limit: limit, keys: keys), caller: ann).rows }
        }
        #expect(await error { _ = try await find(1000) } == answer)
        #expect(try await find(200) == 200)
        #expect(try await find(1000, keys: ["name"]) == 270)
        #expect(
            await error { _ = try await test.store.read { try $0.fetch("T", ids: ids, keys: [], caller: ann).count } }
                == answer)
        #expect(try await test.store.read { try $0.fetch("T", ids: ids, keys: ["name"], caller: ann).count } == 270)
    }

    @Test func anAnswerThatOutgrowsItsRoomIsNotMadeButEstimated() async throws {
        let test = try await TestStore()
        let text = JSON.string(String(repeating: "x", count: 130_000))
        let ids = try await test.store.write { job in
            try (0..<40).map { _ in try job.create("T", ["text": text], caller: .master).objectId }
        }
        func find(_ limit: Int, room: Int?) async throws -> FoundPage {
            var query = Query(className: "T", limit: limit)
            query.answerBytesMax = room
            return try await test.store.read { [query] in try $0.find(query, caller: ann) }
        }
        let small = try await find(40, room: 1 << 20)
        #expect(small.body.isEmpty)
        #expect((5_200_000...7_000_000).contains(small.bytesNeeded), "\(small.bytesNeeded)")
        let whole = try await find(40, room: small.bytesNeeded)
        #expect(whole.bytesNeeded == 0)
        #expect(whole.rows == 40)
        #expect(try await find(40, room: nil).body == whole.body)
        // Pages that fit the limit are complete and contain no remains of earlier pages that exceeded it.
        for limit in [7, 1, 3] {
            let page = try await find(limit, room: 1 << 20)
            #expect(page.rows == limit)
            #expect(try await find(limit, room: nil).body == page.body)
        }
        #expect(try await find(1000, room: 1 << 20).bytesNeeded == 32 << 20)
        let error = await #expect(throws: ResponseTooBig.self) {
            _ = try await test.store.read {
                try $0.fetch("T", ids: ids, keys: [], caller: ann, bytesMax: 1 << 20).count
            }
        }
        #expect((5_200_000...7_000_000).contains(error?.needed(rows: ids.count) ?? 0))
    }
}
