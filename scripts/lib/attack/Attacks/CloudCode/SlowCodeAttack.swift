import NIOCore
import SuiteClient

/// Calls of cloud code that takes 10 s, from two addresses.
struct SlowCodeAttack: Attack {
    let name = "slow-code"
    let kind = "cloud"
    let summary = "calls of a function of cloud code that takes ten seconds, from two addresses"
    let connections = 300
    let addressesMax = 2

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        let request = Request.post("/functions/slow", [:]).bytes(for: attackers.target)
        await attackers.hammer(until: end) { _, _ in request }
    }
}
