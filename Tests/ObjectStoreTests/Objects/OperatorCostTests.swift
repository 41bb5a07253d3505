import ObjectStore
import ParseProtocol
import TestSupport
import Testing

/// The writer thread's time for an operator grows at most linearly with the operator's size.
@Suite(.serialized) struct OperatorCostTests {
    /// A change of an object, for a size.
    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let size: Int
        /// Whether it changes the object's list, which with the largest multiple is too large for an object.
        var isOfList = true
        let changes: @Sendable (Int) -> JSON
    }

    /// Undoes a measured change, so that no change finds the rows of those before it.
    private struct Undone: Error { let seconds: Double }

    private static func pointers(_ letter: String, _ count: Int) -> JSON {
        .array((0..<count).map { .pointer("Fan", letter + String($0)) })
    }

    private static func numbers(_ count: Int) -> JSON { .array((0..<count).map { .int(Int64($0)) }) }

    static let changes: [Change] = [
        Change(testDescription: "a Batch of AddRelation and RemoveRelation", size: 3000, isOfList: false) { size in
            let operations: [JSON] = [
                ["__op": "AddRelation", "objects": pointers("a", size)],
                ["__op": "RemoveRelation", "objects": pointers("b", size)],
            ]
            return ["fans": ["__op": "Batch", "ops": .array(operations)]]
        },
        Change(testDescription: "a Batch of 100 operators", size: 4000, isOfList: false) { size in
            let operations = (0..<100).map { number -> JSON in
                let name = number.isMultiple(of: 2) ? "AddRelation" : "RemoveRelation"
                return ["__op": .string(name), "objects": pointers("p\(number)-", size / 100)]
            }
            return ["fans": ["__op": "Batch", "ops": .array(operations)]]
        },
        Change(testDescription: "AddUnique", size: 4000) { ["list": ["__op": "AddUnique", "objects": numbers($0)]] },
        Change(testDescription: "Remove", size: 4000) { ["list": ["__op": "Remove", "objects": numbers($0)]] },
        Change(testDescription: "Add", size: 2000) { ["list": ["__op": "Add", "objects": numbers($0)]] },
        Change(testDescription: "members of one value", size: 2000) { size in
            .object(Dictionary((0..<size).map { ("box.m\($0)", JSON.int(1)) }) { first, _ in first })
        },
        Change(testDescription: "elements of one value", size: 2000) { size in
            .object(Dictionary((0..<size).map { ("list.\($0)", JSON.int(1)) }) { first, _ in first })
        },
    ]

    /// A delete does not pay for the relations of other objects.
    @Test func aDeleteLooksAtTheRelationsOfItsObjectAlone() async throws {
        func time(_ size: Int) async throws -> Double {
            let test = try await TestStore()
            try await test.create("Band", ["fans": ["__op": "AddRelation", "objects": Self.pointers("a", size)]])
            var least = Double.infinity
            for _ in 0..<3 {
                let used = try await test.store.write { transaction in
                    let fans: JSON = ["fans": ["__op": "AddRelation", "objects": Self.pointers("b", 3)]]
                    let ids = try (0..<50).map { _ in
                        try transaction.create("Band", fans, caller: .master).objectId
                    }
                    let start = ThreadTime.nanoseconds
                    for id in ids { try transaction.delete("Band", id, caller: .master) }
                    return Double(ThreadTime.nanoseconds - start)
                }
                least = min(least, used)
            }
            let rows = try await test.store.read { try $0.rows("SELECT count(*) AS n FROM relations") }
            #expect(try rows[0].int("n") == Int64(size))
            return least
        }
        var (small, large) = (Double.infinity, Double.infinity)
        for round in 0..<20 where round < 1 || large / small >= 4 {
            (small, large) = (min(small, try await time(2000)), min(large, try await time(32_000)))
        }
        #expect(large / small < 4, "\(small / 1e6) ms, then \(large / 1e6) ms")
    }

    @Test(arguments: changes) func timeGrowsNoFasterThanTheOperator(_ change: Change) async throws {
        let test = try await TestStore()
        func time(_ size: Int) async throws -> Double {
            let changes = change.changes(size)
            // The list is as large as the operator, so that quadratic cost shows.
            let id = try await test.create("Band", ["list": Self.numbers(change.isOfList ? size : 0), "box": [:]])
            do {
                try await test.store.write { transaction in
                    let start = ThreadTime.nanoseconds
                    _ = try transaction.update("Band", id, changes, caller: .master)
                    throw Undone(seconds: Double(ThreadTime.nanoseconds - start) / 1e9)
                }
            } catch let undone as Undone {
                return undone.seconds
            }
            return .infinity
        }
        var growth = TimeGrowth(rounds: 7...20, largest: change.isOfList ? 4 : 16)
        while let multiple = growth.next { growth.add(try await time(change.size * multiple)) }
        #expect(growth.isLinear, "\(growth)")
    }
}
