import ObjectStore
import ParseProtocol
import Testing

/// A class gains a relation field without a rewrite of its existing objects, which still show the field.
@Suite struct RelationFieldTests {
    private static let member: JSON = ["__type": "Relation", "className": "Fan"]
    private static let fan: JSON = ["__op": "AddRelation", "objects": [.pointer("Fan", "one")]]

    /// A class with one object created before the relation `fans` and one created after it.
    private static func filled(_ classes: [ClassDefinition] = []) async throws -> TestStore {
        let test = try await TestStore(classes, allowCustomObjectId: true)
        try await test.create("Band", ["name": "old", "size": 1], id: "old")
        try await test.create("Band", ["name": "new", "size": 2, "fans": fan], as: ann, id: "new")
        return test
    }

    private static func stored(_ id: String, in test: TestStore) async throws -> JSON {
        let rows = try await test.store.read { try $0.rows("SELECT doc FROM o1 WHERE objectId = ?", [.text(id)]) }
        return try JSON(parsing: rows[0].text("doc"))
    }

    @Test func noObjectIsRewritten() async throws {
        let test = try await Self.filled()
        #expect(try await Self.stored("old", in: test)["fans"] == nil)
        _ = try await test.store.write {
            try $0.changeClass("Band", ["fields": ["likes": ["type": "Relation", "targetClass": "Fan"]]], keeping: [])
        }
        #expect(try await Self.stored("new", in: test)["likes"] == nil)
        #expect(try await test.get("Band", "new")["likes"] == Self.member)
        #expect(try await test.get("Band", "old")["likes"] == Self.member)
    }

    @Test func everyReadOfAnOldObjectShowsTheField() async throws {
        let test = try await Self.filled()
        #expect(try await test.get("Band", "old")["fans"] == Self.member)
        #expect(try await test.get("Band", "old", keys: ["fans"])["fans"] == Self.member)
        #expect(try await test.get("Band", "old", keys: ["name"])["fans"] == nil)
        let excluded = try await test.store.read {
            try $0.get("Band", "old", keys: [], excludeKeys: ["fans"], caller: .master)
        }
        #expect(try JSON(parsing: excluded)["fans"] == nil)
        let pipeline: JSON = [["$match": ["name": "old"]], ["$project": ["fans": 1]]]
        let (page, fetched, documents, aggregated) = try await test.store.read { reader in
            (
                try reader.find(Query(className: "Band"), caller: bob).body,
                try reader.fetch("Band", ids: ["old"], keys: [], caller: bob)[0].document,
                try reader.documents(Query(className: "Band", order: ["-fans", "size"]), caller: bob),
                try reader.aggregate(Aggregate(className: "Band", pipeline: pipeline), caller: .master).body
            )
        }
        #expect(try JSON(parsing: page)["results"]?.arrayValue?.map { $0["fans"] } == [Self.member, Self.member])
        #expect(try JSON(parsing: fetched)["fans"] == Self.member)
        #expect(documents.map { $0["fans"] } == [Self.member, Self.member])
        #expect(documents.map { $0["name"] } == ["old", "new"])
        #expect(String(decoding: aggregated, as: UTF8.self).contains(#""className":"Fan""#))
        #expect(try await test.names("Band", ["fans": ["$exists": true]]) == ["new", "old"])
        #expect(try await test.names("Band", ["fans": .pointer("Fan", "one")]) == ["new"])
        try await test.create("Tour", ["name": "t", "band": .pointer("Band", "old")])
        #expect(try await test.names("Tour", ["band.fans": ["$exists": true]]) == ["t"])
        #expect(try await test.names("Tour", ["band.fans": ["$exists": false]]).isEmpty)
    }

    @Test func aProtectedRelationIsShownOfNoObject() async throws {
        let test = try await Self.filled()
        let edit: JSON = ["classLevelPermissions": ["get": ["*": true], "protectedFields": ["*": ["fans"]]]]
        _ = try await test.store.write { try $0.changeClass("Band", edit, keeping: []) }
        for id in ["old", "new"] { #expect(try await test.get("Band", id, as: bob)["fans"] == nil) }
        #expect(try await test.get("Band", "old")["fans"] == Self.member)
    }

    @Test func changesOfAnOldObjectHaveTheFieldBeforeAndAfter() async throws {
        let test = try await Self.filled()
        let right = try await test.store.read {
            try $0.right(to: .update, "Band", "old", fields: ["size"], caller: bob)
        }
        guard case .granted(let text?, _) = right else { throw Failure() }
        #expect(try JSON(parsing: text)["fans"] == Self.member)
        let updated = try await test.update("Band", "old", ["size": 3])
        #expect(updated.before["fans"] == Self.member)
        #expect(updated.document["fans"] == Self.member)
        #expect(try await Self.stored("old", in: test)["fans"] == Self.member)
        try await test.create("Band", ["name": "third"], id: "third")
        let deleted = try await test.store.write { try $0.delete("Band", "third", caller: .master) }
        #expect(deleted["fans"] == Self.member)
    }

    /// A deleted field disappears from objects with and without a stored value.
    @Test func aDeletedFieldIsShownOfNoObject() async throws {
        let test = try await Self.filled()
        _ = try await test.store.write {
            try $0.changeClass("Band", ["fields": ["fans": ["__op": "Delete"]]], keeping: [])
        }
        for id in ["old", "new"] { #expect(try await test.get("Band", id)["fans"] == nil) }
        try await test.create("Band", ["fans": ["__op": "AddRelation", "objects": [.pointer("Other", "x")]]])
        for id in ["old", "new"] { #expect(try await test.get("Band", id)["fans"]?["className"] == "Other") }
    }

    @Test func aDefinitionThatGetsARelationShowsItOfOldObjects() async throws {
        let test = try await Self.filled()
        test.store.stop()
        let newer = try await TestStore(
            [ClassDefinition("Band", fields: ["crew": .relation("Fan")])], path: test.path)
        #expect(try await newer.get("Band", "old")["crew"] == Self.member)
        #expect(try await Self.stored("old", in: newer)["crew"] == nil)
    }

    /// A new GeoPoint field needs no indexing of existing objects, so they are not read.
    @Test func aNewPlaceOfAnOldClassIsFound() async throws {
        let test = try await Self.filled()
        try await test.update("Band", "old", ["at": ["__type": "GeoPoint", "latitude": 1, "longitude": 2]])
        let near: JSON = ["at": ["$nearSphere": ["__type": "GeoPoint", "latitude": 1, "longitude": 2]]]
        #expect(try await test.names("Band", near, order: []) == ["old"])
    }

    @Test func aRequestNamesABoundedNumberOfRelatedObjects() async throws {
        let test = try await TestStore()
        @Sendable func objects(_ letter: String, _ count: Int) -> JSON {
            .array((0..<count).map { .pointer("Fan", letter + String($0)) })
        }
        @Sendable func batch(_ count: Int) -> JSON {
            let operations: [JSON] = [
                ["__op": "AddRelation", "objects": objects("a", count)],
                ["__op": "RemoveRelation", "objects": objects("b", count)],
            ]
            return ["fans": ["__op": "Batch", "ops": .array(operations)]]
        }
        #expect(await code { try await test.create("Band", batch(5001), as: ann) } == 116)
        let id = try await test.create("Band", batch(5000), as: ann)
        let several = await code {
            _ = try await test.store.write { transaction in
                for _ in 0..<2 { _ = try transaction.update("Band", id, batch(2501), caller: ann) }
            }
        }
        #expect(several == 116, "The changes of one request count together.")
        try await test.update("Band", id, batch(6000))
        let rows = try await test.store.read { try $0.rows("SELECT count(*) AS n FROM relations") }
        #expect(try rows[0].int("n") == 6000)
    }

    private struct Failure: Error {}
}
