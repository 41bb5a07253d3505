import ObjectStore
import ParseProtocol
import Testing

/// `keys` and `excludeKeys` with dots, in every operation of the store that accepts them.
@Suite struct FieldSelectionTests {
    private func answers(
        _ test: TestStore, keys: [String] = [], excludeKeys: [String] = [], as caller: Caller = .master
    ) async throws -> [JSON] {
        let query = Query(className: "T", keys: keys, excludeKeys: excludeKeys)
        return try await test.store.read { reader in
            let page = try JSON(parsing: try reader.find(query, caller: caller).body)
            return [
                page["results"]?.arrayValue?.first ?? .null,
                try JSON(parsing: try reader.get("T", "one", keys: keys, excludeKeys: excludeKeys, caller: caller)),
                try reader.documents(query, caller: caller).first ?? .null,
            ]
        }
    }

    @Test func dotsReachIntoObjectsAndArrays() async throws {
        let test = try await TestStore()
        let object: JSON = [
            "o": ["a": 1, "b": ["c": 2, "d": 3]], "items": [["x": 1, "y": 2], "z"], "brand": .pointer("Brand", "b"),
            "s": "t",
        ]
        try await test.create("T", object, id: "one")
        for (keys, excludeKeys, expected) in [
            (["o.a", "o.b.c"], [], ["o": ["a": 1, "b": ["c": 2]]]),
            (["brand.title", "items.y", "s"], [], ["brand": .pointer("Brand", "b"), "items": [["y": 2]], "s": "t"]),
            (
                ["o", "items", "brand", "createdAt.x"], ["o.b", "items.x", "brand.objectId", "objectId.x"],
                ["o": ["a": 1], "items": [["y": 2], "z"], "brand": .pointer("Brand", "b")]
            ),
            ([], ["o.a", "items", "s.x"], ["o": ["b": ["c": 2, "d": 3]], "brand": .pointer("Brand", "b"), "s": "t"]),
        ] as [([String], [String], JSON)] {
            for answer in try await answers(test, keys: keys, excludeKeys: excludeKeys) {
                var members = answer.objectValue ?? [:]
                for name in ["objectId", "createdAt", "updatedAt"] { #expect(members.removeValue(forKey: name) != nil) }
                #expect(.object(members) == expected, "\(keys) without \(excludeKeys)")
            }
        }
    }

    @Test func aKeyBringsNothingOfAProtectedField() async throws {
        let test = try await TestStore([
            ClassDefinition(
                "T", fields: ["o": .object, "s": .string], permissions: ClassPermissions.open.protecting(["*": ["o"]]))
        ])
        try await test.create("T", ["o": ["a": 1], "s": "t"], id: "one")
        for keys in [["o.a"], ["o.a", "s"], ["o", "o.a"], []] {
            for excludeKeys in [[], ["o.b"], ["s.x"]] {
                for answer in try await answers(test, keys: keys, excludeKeys: excludeKeys, as: ann) {
                    #expect(answer["objectId"] == "one", "\(keys) without \(excludeKeys)")
                    #expect(answer["o"] == nil, "\(keys) without \(excludeKeys)")
                }
            }
        }
    }
}
