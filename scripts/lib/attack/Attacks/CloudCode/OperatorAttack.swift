import ParseProtocol
import SuiteClient

/// Operations with many elements, in the parameters of a function and on an object whose class has a trigger.
struct OperatorAttack: Attack {
    let name = "operators"
    let kind = "operators"
    let summary = "AddUnique and Remove of 240,000 elements, in parameters of cloud code and in writes with a trigger"
    let connections = 8

    private static let object = "wishOfTheAttack"

    func prepare(_ master: Master) async throws {
        let wish: JSON = ["objectId": .string(Self.object), "text": "many", "list": Self.numbers(20_000)]
        try await master.send(.post("/import/Wish", [wish]))
    }

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        let add: JSON = ["__op": "AddUnique", "objects": Self.numbers(240_000)]
        let requests = [
            Request.post("/functions/hello", ["a": add]),
            Request(method: "PUT", path: "/classes/Wish/\(Self.object)", body: ["list": add]),
            Request(
                method: "PUT", path: "/classes/Wish/\(Self.object)",
                body: ["list": ["__op": "Remove", "objects": Self.numbers(240_000, from: 1_000_000)]]),
        ].map { $0.bytes(for: attackers.target) }
        await attackers.hammer(until: end) { connection, _ in requests[connection % requests.count] }
    }

    private static func numbers(_ count: Int, from first: Int = 0) -> JSON {
        .array((first..<first + count).map { .int(Int64($0)) })
    }
}
