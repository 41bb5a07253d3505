import ObjectStore
import Testing

/// T6e: the table of costly shapes is bounded, and a shape counts only if the shop itself needs it.
@Suite struct ShapeTableTests {
    private static let shape = QueryShape(className: "Thing", equalities: ["brand"], order: ["name"])
    private static let minute: UInt64 = 60_000_000_000

    private static func table(_ runs: [(ShapeTable.Asker, UInt64)], cost: Int = 100_000) -> ShapeTable {
        var table = ShapeTable()
        for (asker, time) in runs { table.note(shape, cost: cost, by: asker, at: time) }
        return table
    }

    private static func isWanted(_ table: ShapeTable, at now: UInt64) -> Bool {
        var table = table
        return !table.wanted(at: now).isEmpty
    }

    @Test func whatTheOperatorAsksOftenIsWanted() {
        let seven = Self.table((0..<7).map { _ in (.shop, 0) })
        #expect(!Self.isWanted(seven, at: 0))
        let eight = Self.table((0..<8).map { _ in (.shop, 0) })
        #expect(Self.isWanted(eight, at: 0))
    }

    @Test func whatIsCheapIsNotWanted() {
        let cheap = Self.table((0..<8).map { _ in (.shop, 0) }, cost: ShapeTable.runCostMin)
        #expect(!Self.isWanted(cheap, at: 0))
        let negligible = Self.table((0..<1000).map { _ in (.shop, 0) }, cost: ShapeTable.runCostMin - 1)
        #expect(negligible.count == 0)
    }

    @Test func oneClientAloneMakesNothing() {
        let flood = Self.table((0..<10_000).map { _ in (.network(1), 0) })
        #expect(!Self.isWanted(flood, at: 0))
        let few = Self.table((0..<1000).map { (.network($0 % (ShapeTable.networksMin - 1)), 0) })
        #expect(!Self.isWanted(few, at: 0))
    }

    @Test func manyNetworksMakeANeed() {
        let many = Self.table((0..<10).map { (.network($0 % ShapeTable.networksMin), 0) })
        #expect(Self.isWanted(many, at: 0))
    }

    @Test func oneClientOverAnHourMakesANeed() {
        let runs = (0..<60).map { (ShapeTable.Asker.network(1), UInt64($0) * Self.minute) }
        #expect(Self.isWanted(Self.table(runs), at: 59 * Self.minute))
        #expect(!Self.isWanted(Self.table(Array(runs.prefix(40))), at: 39 * Self.minute))
    }

    @Test func unusedShapesAreForgotten() {
        let table = Self.table((0..<20).map { _ in (.shop, 0) })
        #expect(Self.isWanted(table, at: 0))
        #expect(!Self.isWanted(table, at: 240 * Self.minute))
        var later = table
        _ = later.wanted(at: 600 * Self.minute)
        for _ in 0..<8 { later.note(Self.shape, cost: 100_000, by: .network(1), at: 600 * Self.minute) }
        #expect(!Self.isWanted(later, at: 600 * Self.minute))
    }

    @Test func theTableIsBoundedAndKeepsTheCostliest() {
        var table = Self.table((0..<8).map { _ in (.shop, 0) })
        for number in 0..<(3 * ShapeTable.shapesMax) {
            let other = QueryShape(className: "Thing", equalities: ["field\(number)"])
            table.note(other, cost: ShapeTable.runCostMin, by: .network(1), at: 1)
        }
        #expect(table.count == ShapeTable.shapesMax)
        #expect(Self.isWanted(table, at: 1))
    }
}
