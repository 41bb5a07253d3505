import NIOCore
import ParseProtocol
import SuiteClient

/// Live query messages near the limit of 64 KB, each a condition with 15,000 values.
struct LargeMessageAttack: Attack {
    let name = "messages"
    let kind = "live"
    let summary = "live query messages of 60 KB, each with a condition of 15,000 values"
    let connections = 100

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        let texts = JSON.array(Array(repeating: "t", count: 15_000))
        let condition: JSON = ["className": .string(Listener.className), "where": ["a": ["$in": texts]]]
        let subscribe: JSON = ["op": "subscribe", "requestId": 1, "query": condition]
        let message = ByteBuffer(bytes: subscribe.serialized)
        await attackers.each { index in
            while ContinuousClock.now < end {
                do {
                    let link = try await attackers.live(index, until: end)
                    defer { link.close() }
                    while link.isOpen, ContinuousClock.now < end {
                        try await link.send(message)
                        attackers.tally.add("message")
                    }
                } catch {
                    await attackers.missed(error, until: end)
                }
            }
        }
    }
}
