import ParseProtocol
import Testing

@testable import MoveIn

/// What a dry run finds.
@Suite struct DryRunTests {
    private static let wire: [JSON] = [
        [
            "className": "Product",
            "fields": ["unitPrice": ["type": "Number"], "old": ["type": "Number", "alsoText": true]],
        ]
    ]

    private static func run(_ server: MemoryServer, _ mapping: Mapping = Mapping()) async throws -> DryRunReport {
        try await DryRun(source: server, suite: MemorySuite(schemas: wire), mapping: mapping).run()
    }

    private static func found(_ kind: ConflictKind, _ server: MemoryServer) async throws -> Finding {
        let findings = try await run(server).findings
        #expect(findings.keys.allSatisfy { $0 == kind }, "\(findings.keys)")
        return findings[kind] ?? Finding()
    }

    @Test func aCleanSourceHasNothingToMend() async throws {
        var server = MemoryServer()
        server.add("Product", "p1", ["unitPrice": 3, "old": "text", "next": .pointer("Product", "p1")])
        server.add("_User", "u1", ["username": "ann", "_hashed_password": .string(Self.hash(cost: 10))])
        let report = try await Self.run(server)
        #expect(!report.hasConflicts && report.findings.isEmpty, "\(report.text)")
        #expect(report.rows == 2)
        #expect(report.bytes > 0 && report.seconds > 0)
        #expect(report.text.contains("nothing to mend"))
    }

    @Test func namesThatSatchelDoesNotTakeAreFound() async throws {
        var server = MemoryServer()
        server.add("_Strange", "s1")
        #expect(try await Self.found(.reservedClass, server).count == 1)
        server = MemoryServer()
        server.schemas = [MovedClass(name: "Item", fields: ["length": ["type": "Number"]])]
        server.add("Item", "i1", ["length": 3, "a-b": 4])
        #expect(try await Self.found(.reservedField, server).count == 2)
    }

    @Test func fieldsOfTheShopWithOtherTypesAreFound() async throws {
        var server = MemoryServer()
        server.add("Product", "p1", ["unitPrice": "3.50", "old": 4])
        let finding = try await Self.found(.fieldType, server)
        #expect(finding.count == 1)
        #expect(
            finding.examples.first?.description
                == "Product p1: unitPrice is String there and Number here. (Product.json)")
        server.schemas = [MovedClass(name: "Product", fields: ["unitPrice": ["type": "String"]])]
        #expect(try await Self.found(.fieldType, server).count == 1)
        let mapping = try Mapping(json: ["fields": ["Product.unitPrice": "oldPrice"]])
        #expect(try await Self.run(server, mapping).findings.isEmpty)
    }

    @Test func pricesThatNobodyCanPayAreFoundAndRounded() async throws {
        var server = MemoryServer()
        for (id, price) in [("p1", 19.995), ("p2", 0.3), ("p3", 0.99), ("p4", 4.1)] {
            server.add("Product", id, ["unitPrice": JSON(number: price)])
        }
        let finding = try await Self.found(.price, server)
        #expect(finding.examples.map(\.text) == ["unitPrice: 19.995"])
        let mapping = try Mapping(json: ["decimals": ["Product.unitPrice": 2]])
        #expect(try await Self.run(server, mapping).findings.isEmpty)
    }

    @Test func valuesIdsAndSizesAreChecked() async throws {
        var server = MemoryServer()
        server.add("Item", "i1", ["deep": ["a.b": 1]])
        #expect(try await Self.found(.badValue, server).count == 1)
        server = MemoryServer()
        server.add("Item", "a b")
        #expect(try await Self.found(.badId, server).count == 1)
        server = MemoryServer()
        server.add("Item", "i1", ["text": .string(String(repeating: "x", count: 131_072))])
        #expect(try await Self.found(.tooLarge, server).count == 1)
        server = MemoryServer()
        server.add("Item", "i1")
        server.refused = [
            RefusedRow(
                className: "Item", objectId: nil, place: SourcePlace(file: "Item.bson", offset: 9), reason: "Cut off.")
        ]
        let unreadable = try await Self.found(.unreadable, server)
        #expect(unreadable.examples.first?.description == "Item: Cut off. (Item.bson, byte 9)")
    }

    @Test func usersWhoseNamesDifferOnlyInCaseAreFound() async throws {
        var server = MemoryServer()
        for (id, name) in [("u1", "Ann"), ("u2", "ANN"), ("u3", "Bob")] {
            server.add("_User", id, ["username": .string(name)])
        }
        server.add("_User", "u4", ["username": "dan", "email": "D@x.example"])
        server.add("_User", "u5", ["username": "eve", "email": "d@X.example"])
        server.add("_User", "u6")
        let finding = try await Self.found(.account, server)
        #expect(finding.count == 5)
        #expect(Set(finding.examples.compactMap(\.objectId)) == ["u1", "u2", "u4", "u5", "u6"])
    }

    @Test func passwordsOfHighCostAreFound() async throws {
        var server = MemoryServer()
        for (id, hash) in [("u1", Self.hash(cost: 14)), ("u2", Self.hash(cost: 15)), ("u3", "plain")] {
            server.add("_User", id, ["username": .string(id), "_hashed_password": .string(hash)])
        }
        #expect(try await Self.found(.password, server).examples.compactMap(\.objectId) == ["u2", "u3"])
    }

    @Test func danglingPointersAreNotesWithExamples() async throws {
        var server = MemoryServer()
        for number in 0..<7 { server.add("Item", "i\(number)", ["next": .pointer("Item", "gone")]) }
        server.add("Item", "ok", ["list": [.pointer("Item", "i1"), ["deep": .pointer("Nowhere", "x")]]])
        let report = try await Self.run(server)
        let finding = try #require(report.findings[.danglingPointer])
        #expect(finding.count == 8)
        #expect(finding.examples.count == Finding.examplesMax)
        #expect(!report.hasConflicts)
        let conflicts = report.json["conflicts"]?.arrayValue
        #expect(conflicts?.first?["kind"] == "danglingPointer" && conflicts?.first?["isNote"] == true)
    }

    @Test func rolesOfTheDeskAreNotes() async throws {
        var server = MemoryServer()
        server.add("_Role", "r1", ["name": "admins"])
        server.add("_Role", "r2", ["name": "friends"])
        #expect(try await Self.found(.deskRole, server).examples.compactMap(\.objectId) == ["r1"])
    }

    @Test func manyHashesAreSortedAndCompared() {
        var some = HashSet(keepsRepeats: true), all = HashSet()
        for number: UInt64 in 0..<200_000 {
            all.insert(number &* 7_919)
            if number % 2 == 0 { some.insert(number &* 7_919) }
        }
        some.insert(1)
        some.insert(0)
        #expect(some.missing(in: &all) == [1])
        #expect(some.repeated() == [0])
        #expect(some.contains(1) && all.contains(7_919) && !all.contains(1))
    }

    private static func hash(cost: Int) -> String { "$2y$\(cost)$" + String(repeating: "a", count: 53) }
}
