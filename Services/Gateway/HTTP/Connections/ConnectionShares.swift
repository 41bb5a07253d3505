/// The shares of connections that clients may have at once. Pure; `ConnectionGate` shares one between event loops.
package struct ConnectionShares {
    private let max: Int
    private let perNetwork: Int
    private var open = 0
    private var openByNetwork: [[UInt8]: Int] = [:]

    /// The last eighth of the places is for networks that have hardly any.
    private static let fewMax = 16

    package init(max: Int, perNetwork: Int) {
        self.max = max
        self.perNetwork = perNetwork
    }

    /// - Parameter network: nil for a proxy of ours, behind which there are many.
    /// - Returns: whether there is a place; then it is taken.
    package mutating func enter(_ network: [UInt8]?) -> Bool {
        guard open < max else { return false }
        if let network {
            let count = openByNetwork[network, default: 0]
            guard count < perNetwork, open < max - max / 8 || count < Self.fewMax else { return false }
            openByNetwork[network] = count + 1
        }
        open += 1
        return true
    }

    package mutating func leave(_ network: [UInt8]?) {
        open -= 1
        guard let network, let count = openByNetwork[network] else { return }
        openByNetwork[network] = count > 1 ? count - 1 : nil
    }
}
