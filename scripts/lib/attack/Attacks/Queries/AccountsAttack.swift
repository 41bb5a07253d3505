import ParseProtocol
import SuiteClient

/// Slow searches by eight accounts of one address. Budgets are divided by network first, so extra accounts gain
/// nothing.
struct AccountsAttack: Attack {
    let name = "accounts"
    let kind = "queries"
    let summary = "slow searches by eight accounts of one address"
    let connections = 100
    let addressesMax = 1

    private static let accounts = 8

    func prepare(_ master: Master) async throws { try await LongTextObjects.prepare(master) }

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        let tokens = await withTaskGroup(of: String?.self) { group in
            for index in 0..<Self.accounts { group.addTask { await attackers.account(index) } }
            return await group.reduce(into: [String]()) { $0 += [$1].compactMap(\.self) }
        }
        guard !tokens.isEmpty else { return }
        await attackers.hammer(until: end) { connection, round in
            let pattern = LongTextObjects.pattern((connection + round) % 8)
            // Every query differs from all earlier ones.
            let other: JSON = .object(["n\(connection)x\(round)": ["$exists": true]])
            var request = Request.query(
                "/classes/Leaflet", ["where": ["$or": [["text": pattern], other]], "limit": 1000])
            request.headers["X-Parse-Session-Token"] = tokens[connection % tokens.count]
            return request.bytes(for: attackers.target)
        }
    }
}
