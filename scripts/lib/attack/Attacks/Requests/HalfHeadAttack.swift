import NIOCore
import SuiteClient

/// Request heads that never end, sent to the balancer in front of two gateways, from five addresses of one /24.
struct HalfHeadAttack: Attack {
    let name = "half-heads"
    let kind = "half-sent"
    let summary = "unfinished heads on each connection to the balancer of two gateways, from five addresses of one /24"
    let connections = 1000
    let addressesMax = 5
    let isOneNetwork = true
    let scale = "gateway=2"

    /// Interval at which the attacker checks whether the server has closed the connection.
    private static let look = Duration.milliseconds(200)

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        let head = ByteBuffer(string: "GET \(attackers.target.mount)/health HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        await attackers.each { index in
            while ContinuousClock.now < end {
                do {
                    let link = try await attackers.open(index)
                    async let answer: Void = attackers.exchange(over: link, head, until: end)
                    while link.isOpen, ContinuousClock.now < end {
                        try? await Task.sleep(until: min(end, .now + Self.look), clock: .continuous)
                    }
                    link.close()
                    try await answer
                } catch {
                    await attackers.missed(error, until: end)
                }
            }
        }
    }
}
