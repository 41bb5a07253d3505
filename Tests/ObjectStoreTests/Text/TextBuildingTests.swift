import ObjectStore
import ParseProtocol
import Testing

/// A text index that lacks objects: searches read all objects until the writer has added them in steps.
@Suite struct TextBuildingTests {
    private static let count = 120

    private static func regex(_ literal: String) -> JSON {
        ["name": ["$regex": .string("\\Q\(literal)\\E"), "$options": "i"]]
    }

    private static func words(_ term: String) -> JSON { ["name": ["$text": ["$search": ["$term": .string(term)]]]] }

    private static let searches = [regex("soap 1"), regex("fresh"), regex("so"), words("soap"), words("fresh")]

    /// A store of an earlier release, whose products have no index of this one.
    private static func earlier() async throws -> TestStore {
        let test = try await TestStore(TextTests.classes)
        try await test.store.write { transaction in
            for number in 0..<count {
                _ = try transaction.create("Product", ["name": .string("Soap \(number)")], caller: .master)
            }
        }
        try await test.store.write { transaction in
            if TestStore.server == nil {
                _ = try transaction.execute("DROP TABLE t1")
                _ = try transaction.execute(
                    "CREATE VIRTUAL TABLE t1 USING fts5(c0, c1, content='', tokenize='trigram', detail=column)")
            } else {
                _ = try transaction.execute("ALTER TABLE w1 DROP COLUMN terms")
                _ = try transaction.execute("UPDATE storeIndexes SET columns = '[\"c0\",\"c1\"]' WHERE name = 'w1'")
            }
        }
        test.store.stop()
        return test
    }

    /// Another replica may open the database after the migrations, before the writer has made the index.
    @Test func aReaderDoesNotSearchTheIndexOfAnEarlierRelease() async throws {
        let test = try await Self.earlier()
        let reader = try await TestStore(TextTests.classes, path: test.path, startsWriting: false)
        #expect(try await reader.names("Product", Self.regex("OAP 11"), order: []).count == 11)
        #expect(try await reader.names("Product", Self.regex("so"), order: [], limit: 200).count == Self.count)
        #expect(try await reader.names("Product", Self.words("soap"), order: [], limit: 200).count == Self.count)
        reader.store.stop()
    }

    /// Objects change and vanish in the part that is indexed and in the other.
    @Test func searchesAreCompleteWhileTheIndexIsBuilt() async throws {
        let test = try await Self.earlier()
        let again = try await TestStore(TextTests.classes, path: test.path)
        let ids = try await again.store.read { reader in
            try reader.documents(
                Query(className: "Product", where: Array("{}".utf8), order: ["createdAt"], limit: 200), caller: .master
            ).compactMap { $0["objectId"]?.stringValue }
        }
        #expect(ids.count == Self.count)
        var effort = IndexEffort()
        effort.rowsMax = 7
        let small = effort
        func expectAll(_ round: Int) async throws {
            for search in Self.searches {
                let found = try await again.names("Product", search, limit: 200)
                let all = try await again.names("Product", [:], limit: 200)
                let wanted = all.filter { name in
                    switch search {
                    case Self.searches[0]: name.hasPrefix("Soap 1")
                    case Self.searches[1], Self.searches[4]: name.hasPrefix("Fresh")
                    default: name.hasPrefix("Soap")
                    }
                }
                #expect(found == wanted, "round \(round): \(search)")
            }
        }
        var round = 0
        while try await again.store.stepIndexes(small) != .nothing {
            if round < 12 {
                try await again.update("Product", ids[round], ["name": .string("Fresh \(round)")])
                try await again.update("Product", ids[Self.count - 1 - round], ["name": .string("Soap again \(round)")])
                try await again.delete("Product", ids[30 + round])
                try await again.delete("Product", ids[Self.count - 30 - round])
                try await again.create("Product", ["name": .string("Fresh too \(round)")])
            }
            if round.isMultiple(of: 4) { try await expectAll(round) }
            round += 1
        }
        #expect(round > 10)
        try await expectAll(round)
        let plan = try await again.store.read {
            try $0.plan(Query(className: "Product", where: Self.regex("fresh").serialized), caller: .anonymous)
        }
        #expect(plan.contains(TestStore.server == nil ? "VIRTUAL TABLE INDEX" : "w1"), "\(plan)")
        again.store.stop()
    }

    /// A start while the index is built does not begin it again.
    @Test func aRestartContinues() async throws {
        let test = try await Self.earlier()
        let again = try await TestStore(TextTests.classes, path: test.path)
        var effort = IndexEffort()
        effort.rowsMax = 20
        let small = effort
        for _ in 0..<3 { #expect(try await again.store.stepIndexes(small) != .nothing) }
        let rows = TestStore.server == nil ? "SELECT count(*) FROM t1_docsize" : "SELECT count(*) FROM w1"
        let before = try await again.store.read { try $0.rows(rows, []).first?.int(0) }
        #expect(before ?? 0 > 0)
        again.store.stop()
        let last = try await TestStore(TextTests.classes, path: test.path)
        #expect(try await last.store.read { try $0.rows(rows, []).first?.int(0) } == before)
        while try await last.store.stepIndexes() != .nothing {}
        #expect(try await last.store.read { try $0.rows(rows, []).first?.int(0) } == Int64(Self.count))
        last.store.stop()
    }

    @Test(.sqliteOnly("The server's indexes are its own.")) func aDamagedIndexIsBuiltAnew() async throws {
        let test = try await TextTests.shop()
        let cream = Self.regex("cream")
        #expect(try await test.names("Product", cream) == ["Cold Cream", "Rose Cream"])
        _ = try await test.store.write { try $0.execute("UPDATE t1_data SET block = x'00' WHERE id > 10") }
        await #expect(throws: (any Error).self) { _ = try await test.names("Product", cream) }
        // The next job follows the one that renews the index.
        try await test.create("Product", ["name": "Icecream"])
        while try await test.store.stepIndexes() != .nothing {}
        #expect(try await test.names("Product", cream) == ["Cold Cream", "Icecream", "Rose Cream"])
        #expect(test.store.trouble == nil)
    }
}
