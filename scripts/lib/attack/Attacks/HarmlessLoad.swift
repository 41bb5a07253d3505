import ParseProtocol
import SuiteClient

/// Not an attack: as many requests as an attack sends, but all of them cheap. The shoppers' latency under this load
/// shows how much of an attack's effect is due to the number of requests alone.
struct HarmlessLoad: Attack {
    let name = "harmless"
    let kind = "harmless"
    let summary = "requests for one page, as many as the attackers made"
    let connections = 40
    let requestsPerSecond: Double

    /// The load of a few hundred customers.
    static let usualRate = 200.0

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        let bytes = Request(path: "/classes/Category", query: ["limit": 1]).bytes(for: attackers.target)
        let pause = Duration.seconds(Double(attackers.connections) / max(requestsPerSecond, 1))
        let start = ContinuousClock.now
        await attackers.each { index in
            guard let link = try? await attackers.open(index) else { return }
            var next = start + pause * index / attackers.connections
            while next < end {
                if next > .now { try? await Task.sleep(until: next, clock: .continuous) }
                do { try await attackers.exchange(over: link, bytes, until: end) } catch { return }
                next = max(next + pause, .now - pause)
            }
            link.close()
        }
    }
}
