import ParseProtocol

/// The conditions of a class, and the conditions of each network. Matching a change for some networks costs nothing for
/// conditions that only other networks have.
struct LiveConditions {
    private(set) var all: [[UInt8]: LiveGroup] = [:]
    /// Nil is the key of subscriptions that no network is charged for.
    private var byNetwork: [ClientNetwork?: [[UInt8]: LiveGroup]] = [:]

    mutating func add(_ group: LiveGroup, _ condition: [UInt8], of network: ClientNetwork?) {
        all[condition] = group
        byNetwork[network, default: [:]][condition] = group
    }

    /// Called when the network's last subscription with the condition has ended.
    mutating func remove(_ group: LiveGroup, _ condition: [UInt8], of network: ClientNetwork?) {
        if group.isEmpty { all[condition] = nil }
        byNetwork[network]?[condition] = nil
        if byNetwork[network]?.isEmpty == true { byNetwork[network] = nil }
    }

    func groups(of network: ClientNetwork) -> [LiveGroup] { byNetwork[network].map { Array($0.values) } ?? [] }

    /// The groups that have a subscription outside of the late networks.
    func groups(otherThan late: Set<ClientNetwork>) -> [LiveGroup] {
        guard !late.isEmpty else { return Array(all.values) }
        var seen: Set<ObjectIdentifier> = []
        return byNetwork.flatMap { network, groups in
            network.map(late.contains) ?? false
                ? [] : groups.values.filter { seen.insert(ObjectIdentifier($0)).inserted }
        }
    }
}
