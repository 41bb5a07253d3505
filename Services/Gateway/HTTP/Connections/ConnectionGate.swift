import NIOCore
import ParseProtocol
import Synchronization

/// The limits of all connections: their number, and the minimum pace of a client.
final class ConnectionGate: Sendable {
    let settings: CapacitySettings
    private let proxies: [Network]
    private let shares: Mutex<ConnectionShares>

    init(_ settings: CapacitySettings, proxies: [Network]) {
        self.settings = settings
        self.proxies = proxies
        shares = Mutex(ConnectionShares(max: settings.connectionsMax, perNetwork: settings.connectionsPerAddress))
    }

    /// A counted connection.
    struct Place {
        let network: ClientNetwork?
    }

    /// Counts a connection.
    /// - Returns: nil when a limit is reached.
    func enter(_ address: SocketAddress?) -> Place? {
        let isProxy = proxies.areProxy(address)
        let network = isProxy ? nil : ClientNetwork(Network.customerName(address))
        return shares.withLock { $0.enter(network) } ? Place(network: network) : nil
    }

    /// The open connections.
    var count: Int { shares.withLock { $0.open } }

    func leave(_ place: Place) { shares.withLock { $0.leave(place.network) } }
}
