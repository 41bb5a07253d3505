import Foundation
import ParseProtocol
import SuiteClient

/// Anonymous users and large objects from 64 networks (/64) of one IPv6 site (/48).
struct NetworksAttack: Attack {
    let name = "networks"
    let kind = "floods"
    let summary = "anonymous users and objects of 100 KB from 64 networks of one IPv6 site"
    let connections = 100
    /// The attackers' addresses count as trusted proxies, so the client address that they forward is used.
    let settings = ["SATCHEL_TRUSTED_PROXIES": "127.1.0.0/16"]

    private static let networks = 64

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        let target = attackers.target
        let text = JSON.string(String(repeating: "x", count: 100_000))
        await attackers.hammer(until: end) { connection, round in
            var request =
                round.isMultiple(of: 2) ? Request.anonymousUser : Request.post("/classes/Feedback", ["text": text])
            let network = String((connection + round) % Self.networks, radix: 16)
            request.headers["X-Forwarded-For"] = "2001:db8:1:\(network)::\(String(1 + round % 60_000, radix: 16))"
            return request.bytes(for: target)
        }
    }
}
