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

    /// The entry of a counted connection.
    struct Registration {
        let network: ClientNetwork?
    }

    /// Counts a connection.
    /// - Returns: nil when a limit is reached.
    func enter(_ address: SocketAddress?) -> Registration? {
        let isProxy = proxies.includesProxy(address)
        let network = isProxy ? nil : ClientNetwork(Network.clientNetwork(address))
        return shares.withLock { $0.enter(network) } ? Registration(network: network) : nil
    }

    /// The open connections.
    var count: Int { shares.withLock { $0.open } }

    func leave(_ registration: Registration) { shares.withLock { $0.leave(registration.network) } }
}
