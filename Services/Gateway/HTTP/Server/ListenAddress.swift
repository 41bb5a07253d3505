import NIOCore

/// The address at which a gateway takes connections.
enum ListenAddress: Sendable {
    case network(host: String, port: Int)
    /// A unix socket, for the balancer before several gateways. Only processes of the same user can connect to it.
    case file(path: String)
}

extension [Network] {
    /// Whether the other end of a connection is a proxy of ours: one of these networks, or whoever can connect to our
    /// unix socket.
    func areProxy(_ peer: SocketAddress?) -> Bool {
        if case .unixDomainSocket = peer { return true }
        return contains { $0.contains(peer) }
    }
}
