import ParseProtocol
import SuiteClient

/// Relation changes that once blocked the writer thread for seconds each: many objects in one request, and new relation
/// fields in a class with many objects.
struct RelationAttack: Attack {
    let name = "relations"
    let kind = "operators"
    let summary = "60,000 objects of a relation in each request, and new relation fields of a large class"
    let connections = 8

    private static let crates = 2000

    func prepare(_ master: Master) async throws {
        let text = JSON.string(String(repeating: "crate ", count: 2000))
        try await master.batch(
            "POST", (0..<Self.crates).map { ("/classes/Crate", ["number": .int(Int64($0)), "text": text]) })
    }

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        func pointers(_ letter: String) -> JSON {
            .array((0..<30_000).map { .pointer("A", String(repeating: "p", count: 32) + letter + String($0)) })
        }
        let operations: [JSON] = [
            ["__op": "AddRelation", "objects": pointers("a")], ["__op": "RemoveRelation", "objects": pointers("b")],
        ]
        let batch = Request.post("/classes/Rb", ["r": ["__op": "Batch", "ops": .array(operations)]])
            .bytes(for: attackers.target)
        let target = attackers.target
        await attackers.hammer(until: end) { connection, _ in
            guard connection.isMultiple(of: 2) else { return batch }
            let field: JSON = ["__op": "AddRelation", "objects": [.pointer("A", "x")]]
            return Request.post("/classes/Crate", .object(["r\(Names.random(10))": field])).bytes(for: target)
        }
    }
}
