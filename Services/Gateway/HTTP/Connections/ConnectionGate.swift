import NIOCore
import Synchronization

/// The bounds that all connections have in common: how many there may be, and how slow a client may be.
final class ConnectionGate: Sendable {
    let settings: CapacitySettings
    private let proxies: [Network]
    private let shares: Mutex<ConnectionShares>

    init(_ settings: CapacitySettings, proxies: [Network]) {
        self.settings = settings
        self.proxies = proxies
        shares = Mutex(ConnectionShares(max: settings.connectionsMax, perNetwork: settings.connectionsPerAddress))
    }

    /// A place that was taken.
    struct Place {
        let network: [UInt8]?
    }

    /// - Returns: nil when there is no place for a connection from there.
    func enter(_ address: SocketAddress?) -> Place? {
        let isProxy = proxies.areProxy(address)
        let network = isProxy ? nil : address.map(Network.customer) ?? []
        return shares.withLock { $0.enter(network) } ? Place(network: network) : nil
    }

    func leave(_ place: Place) { shares.withLock { $0.leave(place.network) } }
}
