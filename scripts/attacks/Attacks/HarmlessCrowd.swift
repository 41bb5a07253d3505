import ParseProtocol
import SuiteClient

/// No attack: as many requests as an attack made, each as cheap as can be. What the shoppers notice of it is what two
/// cores do with that many requests, and not what the attack did.
struct HarmlessCrowd: Attack {
    let name = "harmless"
    let kind = "harmless"
    let summary = "requests for one page, as many as the attackers made"
    let connections = 40
    let requestsPerSecond: Double

    /// As many as some hundred customers make.
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
