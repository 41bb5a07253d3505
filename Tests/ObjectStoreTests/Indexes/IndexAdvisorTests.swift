import ObjectStore
import Testing

/// The store next builds the index that saves the most, within the limits.
@Suite struct IndexAdvisorTests {
    private static let brandByName = QueryShape(className: "Thing", equalities: ["brand"], order: ["name"])
    private static let brand = QueryShape(className: "Thing", equalities: ["brand"])
    private static let active = QueryShape(className: "Thing", equalities: ["active", "brand"], order: ["price"])

    /// Uses whose cost equals `runs` runs by the shop.
    private static func uses(_ shapes: [(QueryShape, runs: Int)]) -> [QueryShape: ShapeTable.Use] {
        var table = ShapeTable()
        for (shape, runs) in shapes {
            for _ in 0..<runs { table.note(shape, cost: 100_000, by: .shop, at: 0) }
        }
        return table.wanted(at: 0)
    }

    private static func next(
        _ shapes: [(QueryShape, runs: Int)], _ facts: IndexFacts = IndexFacts(), count: Int = 0,
        _ limits: IndexLimits = IndexLimits()
    ) -> IndexFields? {
        IndexAdvisor.next(uses(shapes), ["Thing": facts], automaticCount: count, limits)?.fields
    }

    @Test func equalitiesComeBeforeTheOrder() {
        #expect(Self.next([(Self.brandByName, 8)]) == IndexFields(keys: ["brand", "name"]))
        #expect(Self.next([(Self.brandByName, 8)])?.name == "auto_brand_name")
    }

    @Test func aRangeIsTheKeyOrLiesBesideTheOrder() {
        let range = QueryShape(className: "Thing", equalities: ["brand"], range: "price")
        #expect(Self.next([(range, 8)]) == IndexFields(keys: ["brand", "price"]))
        let sorted = QueryShape(className: "Thing", equalities: ["brand"], range: "price", order: ["name"])
        #expect(Self.next([(sorted, 8)]) == IndexFields(keys: ["brand", "name"], filters: ["price"]))
        let same = QueryShape(className: "Thing", range: "price", order: ["price", "name"])
        #expect(Self.next([(same, 8)]) == IndexFields(keys: ["price", "name"]))
    }

    @Test func oneIndexServesSeveralShapes() {
        // The field that both shapes compare comes first, so that the index serves the cheaper shape too.
        let shapes = [(Self.brand, runs: 9), (Self.brandByName, runs: 9)]
        #expect(Self.next(shapes) == IndexFields(keys: ["brand", "name"]))
        #expect(Self.next(shapes + [(Self.active, runs: 10)]) == IndexFields(keys: ["brand", "active", "price"]))
    }

    @Test func whatAnIndexServesNeedsNoOther() {
        var facts = IndexFacts()
        facts.indexes = [["objectId"], ["brand", "name", "price"]]
        #expect(Self.next([(Self.brandByName, 8), (Self.brand, 8)], facts) == nil)
        facts.indexes = [["name", "brand"]]
        #expect(Self.next([(Self.brandByName, 8)], facts) != nil)
    }

    @Test func countingAllTakesAnyAutomaticIndex() {
        let all = QueryShape(className: "Thing")
        #expect(Self.next([(all, 8)]) == IndexFields(keys: ["createdAt"]))
        var facts = IndexFacts()
        facts.automaticCount = 1
        facts.isCounted = true
        #expect(Self.next([(all, 8)], facts) == nil)
    }

    @Test func limitsHold() {
        var facts = IndexFacts()
        facts.hasEnoughRows = false
        #expect(Self.next([(Self.brand, 8)], facts) == nil)
        facts = IndexFacts()
        facts.automaticCount = IndexLimits().perClass
        #expect(Self.next([(Self.brand, 8)], facts) == nil)
        #expect(Self.next([(Self.brand, 8)], count: IndexLimits().perFile) == nil)
        let unknown = IndexAdvisor.next(Self.uses([(Self.brand, 8)]), [:], automaticCount: 0, IndexLimits())
        #expect(unknown?.fields == nil)
        var none = IndexLimits()
        none.perClass = 0
        #expect(Self.next([(Self.brand, 8)], IndexFacts(), count: 0, none) == nil)
    }

    @Test func whatIsUnwantedIsNotMadeInAnotherOrder() {
        var facts = IndexFacts()
        facts.unwanted = [["name", "brand"]]
        #expect(Self.next([(Self.brandByName, 8)], facts) == nil)
        #expect(Self.next([(Self.brandByName, 8), (Self.brand, 8)], facts) == IndexFields(keys: ["brand"]))
    }

    @Test func columnsAreBounded() {
        let wide = QueryShape(
            className: "Thing", equalities: ["a", "b", "c", "d", "e", "f"], range: "r", order: ["s", "t"])
        #expect(Self.next([(wide, 8)])?.all.count == 5)
    }
}
