import ParseProtocol
import SuiteClient

/// Requests of a few KB whose sub-queries take seconds each.
struct SubQueryAttack: Attack {
    let name = "subqueries"
    let kind = "queries"
    let summary = "20 sub-queries of costly patterns in each request"
    let connections = 100

    func prepare(_ master: Master) async throws { try await LongTextObjects.prepare(master) }

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        // A different request per connection, so that no two requests are the same work.
        let requests = (0..<attackers.connections).map { connection in
            let branches = (0..<20).map { branch -> JSON in
                let condition: JSON = ["text": LongTextObjects.pattern(connection * 20 + branch)]
                return ["brand": ["$inQuery": ["className": "Leaflet", "where": condition]]]
            }
            return Request.query("/classes/Product", ["where": ["$or": .array(branches)]]).bytes(for: attackers.target)
        }
        await attackers.hammer(until: end) { connection, _ in requests[connection] }
    }
}
