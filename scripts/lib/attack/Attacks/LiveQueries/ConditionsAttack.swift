import ParseProtocol
import SuiteClient

/// Many live query conditions from one address, and writes that match all of them.
struct ConditionsAttack: Attack {
    let name = "conditions"
    let kind = "live"
    let summary = "100 live query conditions on each connection of one address, and batches of writes"
    let connections = 100
    let addressesMax = 1

    private static let conditions = 100

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        let writes = (0..<50).map { number -> JSON in
            [
                "method": "POST", "path": .string("\(attackers.target.mount)/classes/\(Listener.className)"),
                "body": ["number": .int(Int64(number))],
            ]
        }
        let batch = Request.post("/batch", ["requests": .array(writes)]).bytes(for: attackers.target)
        await attackers.each { index in
            while ContinuousClock.now < end {
                do {
                    if index % 4 == 3 {
                        let link = try await attackers.open(index)
                        defer { link.close() }
                        while link.isOpen, ContinuousClock.now < end {
                            try await attackers.exchange(over: link, batch, until: end)
                        }
                    } else {
                        try await subscribe(index, attackers, until: end)
                    }
                } catch {
                    await attackers.missed(error, until: end)
                }
            }
        }
    }

    private func subscribe(_ index: Int, _ attackers: Attackers, until end: ContinuousClock.Instant) async throws {
        let link = try await attackers.live(index, until: end)
        defer { link.close() }
        for number in 0..<Self.conditions {
            let other = JSON.int(Int64(index * Self.conditions + number))
            let condition: JSON = ["number": .int(Int64(number % 50)), "other": ["$ne": other]]
            let query: JSON = ["className": .string(Listener.className), "where": condition]
            try await link.send(["op": "subscribe", "requestId": .int(Int64(number)), "query": query])
            attackers.tally.add("condition")
        }
        while link.isOpen, ContinuousClock.now < end {
            try await Task.sleep(until: min(end, .now + .milliseconds(500)), clock: .continuous)
        }
    }
}
