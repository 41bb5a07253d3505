import NIOCore

/// The address at which a gateway accepts connections.
enum ListenAddress: Sendable {
    case network(host: String, port: Int)
    /// A unix socket, for the load balancer of several gateways. Only processes of the same user can connect to it.
    case file(path: String)
}

extension [Network] {
    /// Whether the other end of a connection is a trusted proxy: an address of these networks, or a process that can
    /// connect to the gateway's unix socket.
    func includesProxy(_ peer: SocketAddress?) -> Bool {
        if case .unixDomainSocket = peer { return true }
        return contains { $0.contains(peer) }
    }
}
