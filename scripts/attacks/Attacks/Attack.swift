import NIOCore

/// A way to take the shop away from its customers. It runs in a process of its own, without keys.
protocol Attack: Sendable {
    /// Its name on the command line.
    var name: String { get }
    /// Attacks of one kind are run together by the kind's name.
    var kind: String { get }
    var summary: String { get }
    /// Connections at the same time.
    var connections: Int { get }

    /// Puts what the attack needs into the shop: what a shop may well have, or what clients could put there in time.
    func prepare(_ master: Master) async throws

    /// Attacks until `end`, whatever is answered.
    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async
}

extension Attack {
    func prepare(_ master: Master) async throws {}
}

/// All attacks, in the order in which they run.
enum Arsenal {
    static let attacks: [any Attack] = [
        SubQueryAttack(), PatternAttack(), NameListAttack(), CostlyQueryAttack(), BatchAttack(), SlowReaderAttack(),
        SignInAttack(), FloodAttack(), HalfSentAttack(),
    ]

    /// - Parameter rate: requests per second of the harmless crowd, which is none of them and can be asked for by name.
    static func attack(named name: String, rate: Double = HarmlessCrowd.usualRate) throws -> any Attack {
        let harmless = HarmlessCrowd(requestsPerSecond: rate)
        if name == harmless.name { return harmless }
        guard let attack = attacks.first(where: { $0.name == name }) else {
            throw AttackError(
                "There is no attack \"\(name)\"; known are \(attacks.map(\.name).joined(separator: ", ")).")
        }
        return attack
    }
}
