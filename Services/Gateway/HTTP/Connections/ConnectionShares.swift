import ParseProtocol

/// The connections of all clients, by network. No I/O; `ConnectionGate` shares one between event loops.
package struct ConnectionShares {
    private let max: Int
    package private(set) var open = 0
    private var amounts: NetworkAmounts

    /// The last eighth of the connections is for networks that have fewer than these.
    private static let fewMax = 16

    /// - Parameters:
    ///   - max: limit on the connections of all networks.
    ///   - perNetwork: limit on the connections of a near network (`ClientNetwork`).
    package init(max: Int, perNetwork: Int) {
        self.max = max
        amounts = NetworkAmounts(nearLimit: perNetwork, total: max)
    }

    /// Adds a connection.
    /// - Parameter network: nil for a trusted proxy, which has many clients.
    /// - Returns: false when a limit is reached.
    package mutating func enter(_ network: ClientNetwork?) -> Bool {
        guard open < max else { return false }
        if let network {
            guard amounts.hasRoom(network), open < max - max / 8 || amounts.amount(of: network) < Self.fewMax else {
                return false
            }
            amounts.add(1, of: network)
        }
        open += 1
        return true
    }

    package mutating func leave(_ network: ClientNetwork?) {
        open -= 1
        if let network { amounts.add(-1, of: network) }
    }
}
