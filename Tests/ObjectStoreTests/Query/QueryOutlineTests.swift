import ObjectStore
import ParseProtocol
import Testing

/// Queries in logs have no values.
@Suite struct QueryOutlineTests {
    private static func outline(_ condition: JSON, order: [String] = []) -> JSON? {
        Query(className: "Item", where: condition.serialized, order: order).outline["where"]
    }

    @Test func fieldsAndOperatorsStayAndValuesGo() {
        #expect(
            Self.outline(["name": "secret", "price": ["$gt": 5, "$in": [1, 2]]]) == [
                "name": "?", "price": ["$gt": "?", "$in": "?"],
            ])
        #expect(
            Self.outline(["$or": [["a": "secret"], ["b": ["$not": ["$regex": "secret"]]]]]) == [
                "$or": [["a": "?"], ["b": ["$not": ["$regex": "?"]]]]
            ])
        #expect(Self.outline(["brand": .pointer("Brand", "secret")]) == ["brand": "?"])
        #expect(
            Self.outline(["brand": ["$inQuery": ["className": "B", "where": ["x": "secret"]]]]) == [
                "brand": ["$inQuery": "?"]
            ])
        #expect(Self.outline(["map.ann@secret.example": 1]) == ["map.?": "?"])
        #expect(Self.outline(["ann@secret.example": 1]) == ["?": "?"])
        #expect(Query(className: "Item").outline["where"] == [:])
        #expect(Query(className: "Item", where: Array("secret".utf8)).outline["where"] == "?")
        #expect(Query(className: "Item", order: ["-price", "map.secret"]).outline["order"] == ["-price", "map.?"])
    }

    @Test func aPlanHasStepsAndNoValues() async throws {
        let test = try await QueryTests.filled()
        let query = Query(className: "Item", where: Array(#"{"name":{"$regex":"secret"},"price":731.25}"#.utf8))
        let plan = try await test.store.read(for: nil) { try $0.planWithoutValues(query, caller: .master) }
        #expect(!plan.isEmpty)
        for value in ["secret", "731"] { #expect(!plan.contains(value), "\(plan)") }
    }
}
