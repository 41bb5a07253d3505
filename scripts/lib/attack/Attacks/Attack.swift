import NIOCore

/// An attack on the shop's availability. Runs in a separate process, without keys.
protocol Attack: Sendable {
    /// The attack's name on the command line.
    var name: String { get }
    /// The name of a kind runs all attacks of that kind.
    var kind: String { get }
    var summary: String { get }
    /// Concurrent connections.
    var connections: Int { get }
    /// Maximum number of source addresses.
    var addressesMax: Int { get }
    /// True when all addresses share one /24; false when each has its own.
    var isOneNetwork: Bool { get }
    /// Settings of the attacked suite in addition to the common ones.
    var settings: [String: String] { get }
    /// Replicas of the attacked suite, in the format of `scripts/up --scale`; empty for one per service.
    var scale: String { get }

    /// Creates the data that the attack needs: data that a shop may have, or that clients could create over time.
    func prepare(_ master: Master) async throws

    /// Attacks until `end`, whatever the answers are.
    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async
}

extension Attack {
    func prepare(_ master: Master) async throws {}
    var addressesMax: Int { .max }
    var isOneNetwork: Bool { false }
    var settings: [String: String] { [:] }
    var scale: String { "" }
}

/// All attacks, in the order in which they run.
enum Arsenal {
    static let attacks: [any Attack] = [
        SubQueryAttack(), PatternAttack(), NameListAttack(), MarksAttack(), CostlyQueryAttack(),
        LongTextAttack(search: .pattern), LongTextAttack(search: .phrase), AccountsAttack(), BatchAttack(),
        SlowReaderAttack(), LargeMessageAttack(), SignInAttack(), FloodAttack(), NetworksAttack(), HalfSentAttack(),
        HalfHeadAttack(), RelationAttack(), OperatorAttack(), ConditionsAttack(), SlowCodeAttack(),
    ]

    /// - Parameter rate: requests per second of the harmless crowd, which is not an attack but can be selected by name.
    static func attack(named name: String, rate: Double = HarmlessLoad.usualRate) throws -> any Attack {
        let harmless = HarmlessLoad(requestsPerSecond: rate)
        if name == harmless.name { return harmless }
        guard let attack = attacks.first(where: { $0.name == name }) else {
            throw AttackError(
                "There is no attack \"\(name)\"; known are \(attacks.map(\.name).joined(separator: ", ")).")
        }
        return attack
    }
}
