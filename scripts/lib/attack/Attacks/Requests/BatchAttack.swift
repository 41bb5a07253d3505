import ParseProtocol
import SuiteClient

/// Batches of 2 KB whose answers would be nearly 1 GB long.
struct BatchAttack: Attack {
    let name = "batches"
    let kind = "memory"
    let summary = "30 finds of 245 objects of 130 KB in each batch"
    let connections = 40

    func prepare(_ master: Master) async throws { try await Posters.prepare(master) }

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        let find: JSON = [
            "method": "GET", "path": .string("\(attackers.target.mount)/classes/Poster"), "body": ["limit": 1000],
        ]
        let batch = Request.post("/batch", ["requests": .array(Array(repeating: find, count: 30))])
        let bytes = batch.bytes(for: attackers.target)
        await attackers.hammer(until: end) { _, _ in bytes }
    }
}
