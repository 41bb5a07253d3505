import ObjectStore
import ParseProtocol
import Testing

/// A class as the schemas API shows it: the order of its fields, its indexes, and the error texts of refused changes.
@Suite struct SchemaTextTests {
    private static let standard = ["objectId", "createdAt", "updatedAt", "ACL"]

    private func fields(_ test: TestStore, _ className: String = "Game") async throws -> [String] {
        let text = try await test.store.read { try $0.schema(of: className) }
        return try Self.fields(text)
    }

    private static func fields(_ text: [UInt8]) throws -> [String] {
        let schema = try JSON(parsing: text, membersInOrderOf: ["fields"])
        return (schema["fields"]?.arrayValue ?? []).compactMap { $0.arrayValue?.first?.stringValue }
    }

    private func change(_ test: TestStore, _ wish: JSON) async throws -> [UInt8] {
        try await test.store.write { try $0.changeClass("Game", wish, keeping: []) }
    }

    @Test func fieldsComeInTheOrderInWhichTheClassGotThem() async throws {
        let test = try await TestStore()
        let id = try await test.create("Game", ["zeal": 1])
        try await test.update("Game", id, ["mood": "m"])
        try await test.create("Game", ["alpha": true, "level": ["__op": "Increment", "amount": 1]])
        #expect(try await fields(test) == Self.standard + ["zeal", "mood", "alpha", "level"])
        let added = try await change(
            test,
            [
                "fields": [
                    "b": ["type": "String"], "c": ["type": "Date"], "a": ["type": "Number"], "mood": ["__op": "Delete"],
                ],
                "_fieldOrder": ["c", "mood", "a", "b", "a", "nothing", "level"],
            ])
        let expected = Self.standard + ["zeal", "alpha", "level", "c", "a", "b"]
        #expect(try Self.fields(added) == expected)
        #expect(try await fields(test) == expected)
        // A deleted field that is added again is a new field.
        try await test.update("Game", id, ["mood": 2])
        #expect(try await fields(test) == expected + ["mood"])
        // A store that opens the file later shows the same.
        test.store.stop()
        let later = try await TestStore(path: test.path)
        #expect(try await fields(later) == expected + ["mood"])
        withExtendedLifetime(test) {}
    }

    @Test func anIndexOfIdsIsShownWhereSomebodyMadeOne() async throws {
        let test = try await TestStore()
        try await test.create("Game", ["score": 1])
        func indexes() async throws -> JSON? {
            try JSON(parsing: try await test.store.read { try $0.schema(of: "Game") })["indexes"]
        }
        #expect(try await indexes() == nil)
        _ = try await change(test, ["indexes": ["best": ["score": -1]]])
        #expect(try await indexes() == ["_id_": ["_id": 1], "best": ["score": -1]])
        _ = try await change(test, ["indexes": ["best": ["__op": "Delete"]]])
        #expect(try await indexes() == ["_id_": ["_id": 1]])
        test.store.stop()
        let later = try await TestStore(path: test.path)
        let text = try await later.store.read { try $0.schema(of: "Game") }
        #expect(try JSON(parsing: text)["indexes"] == ["_id_": ["_id": 1]])
        withExtendedLifetime(test) {}
    }

    private static let invalidName =
        "Invalid classname: a b, classnames can only have alphanumeric characters and _, and must start "
        + "with an alpha character "

    private static let refused: [(JSON, Int, String)] = [
        (["x": ["type": "Pointer"]], 135, "type Pointer needs a class name"),
        (["x": ["type": "Relation", "targetClass": .null]], 135, "type Relation needs a class name"),
        (["x": ["type": "Pointer", "targetClass": 242]], 107, "invalid JSON"),
        (["x": ["type": "Relation", "targetClass": ["a"]]], 107, "invalid JSON"),
        (["x": ["type": "Pointer", "targetClass": "a b"]], 103, invalidName),
        (["x": ["type": 7]], 107, "invalid JSON"), (["x": "String"], 107, "invalid JSON"),
        (["x": ["type": "Nonsense"]], 111, "invalid field type: Nonsense"),
        (["a-b": ["type": "String"]], 105, "invalid field name: a-b"),
        (
            ["n": ["type": "Number", "defaultValue": "s"]], 111,
            "schema mismatch for Game.n default value; expected Number but got String"
        ),
        (
            ["r": ["type": "Relation", "targetClass": "C", "required": true]], 111,
            "The 'required' option is not applicable for Relation<C>"
        ),
        (
            ["r": ["type": "Relation", "targetClass": "C", "defaultValue": 1]], 111,
            "The 'default value' option is not applicable for Relation<C>"
        ),
        (
            ["here": ["type": "GeoPoint"]], 111,
            "currently, only one GeoPoint field may exist in an object. Adding here when at already exists."
        ),
        (["at": ["type": "String"]], 255, "Field at exists, cannot update."),
        (["gone": ["__op": "Delete"]], 255, "Field gone does not exist, cannot delete."),
        (["objectId": ["type": "Number"]], 136, "field objectId cannot be added"),
        (["ACL": ["__op": "Delete"]], 136, "field ACL cannot be changed"),
    ]

    @Test func refusalsHaveTheWordsOfTheProtocol() async throws {
        let test = try await TestStore()
        try await test.create("Game", ["at": ["__type": "GeoPoint", "latitude": 1, "longitude": 1]])
        let before = try await fields(test)
        for (fields, code, text) in Self.refused {
            let found = await error { _ = try await change(test, ["fields": fields]) }
            #expect(found?.code.rawValue == code, "\(fields.serializedText): \(String(describing: found))")
            #expect(found?.message == text, "\(fields.serializedText): \(String(describing: found))")
        }
        #expect(try await fields(test) == before)
    }
}
