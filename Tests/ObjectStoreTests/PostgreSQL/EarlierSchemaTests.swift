import ObjectStore
import ParseProtocol
import Testing

/// A schema from a release in which the server converted documents to `jsonb` and indexed that.
@Suite(.postgresqlOnly("A file has its values as they are.")) struct EarlierSchemaTests {
    private static let classes = [
        ClassDefinition(
            "Item", fields: ["code": .string, "price": .number, "at": .geoPoint, "name": .string],
            indexes: [["price"]], uniqueIndexes: [["code"]], textFields: ["name"])
    ]
    private static let place: JSON = ["__type": "GeoPoint", "latitude": 1, "longitude": 2]

    /// Reverts the schema of class 1 to its former state.
    private static let former = [
        "DROP INDEX g1", "ALTER TABLE o1 DROP COLUMN data",
        "ALTER TABLE o1 ADD COLUMN data jsonb NOT NULL GENERATED ALWAYS AS (doc::jsonb) STORED",
        "ALTER TABLE o1 ALTER COLUMN id SET GENERATED ALWAYS",
        "CREATE UNIQUE INDEX \"u1_code\" ON o1((NULLIF((data#>'{code}'),'null')) NULLS FIRST)",
        "CREATE INDEX \"i1_price\" ON o1((NULLIF((data#>'{price}'),'null')) NULLS FIRST)",
        "CREATE INDEX \"x1_mine\" ON o1((NULLIF((data#>'{price}'),'null')) DESC NULLS LAST)",
        "DELETE FROM storeIndexes WHERE relation <> 'o1'",
        "DELETE FROM grdb_migrations WHERE identifier = 'store.3.typedValues'",
    ]

    @Test func itIsBroughtToThisRelease() async throws {
        let test = try await TestStore(Self.classes, writers: .one)
        for n in 1...3 {
            try await test.create(
                "Item",
                ["code": .string("c\(n)"), "price": .int(Int64(n)), "at": Self.place, "name": .string("Soap \(n)")])
        }
        let wish: JSON = ["indexes": ["mine": ["price": -1], "auto_price": ["price": 1]]]
        _ = try await test.store.write { try $0.changeClass("Item", wish, keeping: []) }
        while try await test.store.stepIndexes() != .nothing {}
        _ = try await test.store.write { transaction in
            for statement in Self.former { _ = try transaction.execute(statement) }
        }
        test.store.stop()

        let again = try await TestStore(Self.classes, path: test.path, writers: .one)
        while try await again.store.stepIndexes() != .nothing {}
        #expect(try await again.names("Item", ["price": ["$gte": 2]], order: ["-price"]) == ["Soap 3", "Soap 2"])
        #expect(try await again.names("Item", ["at": ["$nearSphere": Self.place]], order: []).count == 3)
        let search: JSON = ["name": ["$text": ["$search": ["$term": "soap"]]]]
        #expect(try await again.names("Item", search, order: []).count == 3)
        #expect(await code { try await again.create("Item", ["code": "c1"]) } == 137)
        try await again.create("Item", ["code": "c4", "price": 4, "name": "Soap 4"])
        let indexes = try await again.store.read {
            // Other tests have tables of this name in their schemas. While an index there is being dropped, its
            // definition is null.
            try $0.rows(
                """
                SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'o1' AND schemaname = current_schema()
                """, [])
        }
        let definitions = try indexes.map { try $0.text(1) }
        #expect(!definitions.contains { $0.contains("NULLIF") }, "\(definitions)")
        for name in ["u1_code", "i1_price", "x1_mine", "g1"] {
            #expect(try indexes.contains { try $0.text(0) == name }, "\(name)")
        }
        #expect(definitions.contains { $0.contains(" a") && $0.contains("price") }, "\(definitions)")
        again.store.stop()
    }
}
