import CZeroMQ
import Glibc
import Logging

/// The endpoints of the bus, one per gateway, and the keys of its members.
public struct BusConfiguration: Sendable {
    /// The gateways that a service connects to. An endpoint is `ipc:///path` on one host, `tcp://host:port` between
    /// hosts.
    public let gateways: GatewayList
    /// The CURVE keys; nil for an unencrypted bus on one host.
    public var keys: CurveKeys?
    /// A file that names faults of the bus (`LaneFaultRates`), reread while the process runs; nil outside of tests.
    public var faults: String?
    /// Whether all current gateways, and so all processes of the suite, are on this host.
    package var isOfOneHost: Bool { gateways.current.allSatisfy { $0.hasPrefix("ipc://") } }

    /// A reason why the bus cannot work as configured; each names the endpoint or the file.
    public enum Problem: Error, CustomStringConvertible {
        case endpointTaken(String)
        case pathTooLong(String)
        case keysNeeded(String)
        case keyFile(String)
        case cannotLock(String, Int32)
        case noGateway
        case notListed(String, Int)

        /// A sentence for the operator.
        public var description: String {
            switch self {
            case .endpointTaken(let path): "Another gateway of this suite is running; it holds \(path)."
            case .pathTooLong(let path):
                """
                The socket path \(path) is longer than the 107 bytes a unix socket allows; choose a shorter \
                SATCHEL_DATA.
                """
            case .keysNeeded(let endpoint): "\(endpoint) leaves this host, so SATCHEL_BUS_KEYS must name a key file."
            case .keyFile(let path): "The bus key file \(path) could not be read; gateway make-bus-keys FILE makes one."
            case .cannotLock(let path, let number): "\(path) could not be locked (error \(number))."
            case .noGateway: "SATCHEL_BUS names no gateway."
            case .notListed(let name, let count):
                "SATCHEL_BUS has \(count) endpoints and none for \(name), which takes the one of its number."
            }
        }
    }

    /// The bus of a gateway that binds `endpoint`, or of a service with that one gateway.
    /// - Throws: `Problem` when the endpoint is unusable or would be open to other hosts without keys.
    public init(endpoint: String, keys: CurveKeys? = nil) throws {
        try self.init(gateways: GatewayList([endpoint]), keys: keys)
    }

    /// The bus of a service.
    /// - Throws: `Problem` when a currently listed endpoint is unusable or would be open to other hosts without keys.
    public init(gateways: GatewayList, keys: CurveKeys? = nil) throws {
        guard !gateways.endpoints.isEmpty else { throw Problem.noGateway }
        for endpoint in gateways.current { try Self.check(endpoint, keys: keys) }
        self.gateways = gateways
        self.keys = keys
    }

    /// The endpoint that a gateway binds.
    public var endpoint: String { gateways.endpoints[0] }

    /// - Throws: `Problem` when the endpoint is unusable or would be open to other hosts without keys.
    static func check(_ endpoint: String, keys: CurveKeys?) throws {
        if endpoint.hasPrefix("ipc://"), endpoint.utf8.count - 6 > 107 { throw Problem.pathTooLong(endpoint) }
        let isLocal =
            endpoint.hasPrefix("ipc://") || endpoint.hasPrefix("tcp://127.") || endpoint.hasPrefix("tcp://[::1]")
        guard isLocal || keys != nil else { throw Problem.keysNeeded(endpoint) }
    }

    /// Locks the endpoint by a lock file, because a second bind of an ipc path silently takes over the endpoint.
    /// Returns the descriptor that holds the lock, or nil for a transport that refuses a second bind itself.
    func lockEndpoint() throws -> Int32? {
        guard endpoint.hasPrefix("ipc://") else { return nil }
        let path = endpoint.dropFirst(6) + ".lock"
        let descriptor = open(String(path), O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Problem.cannotLock(String(path), errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw Problem.endpointTaken(String(path))
        }
        return descriptor
    }

    func configureServer(_ socket: ZeroMQSocket, context: ZeroMQContext, logger: Logger) throws {
        try configure(socket)
        guard let keys else { return }
        try Authenticator.start(context: context, allowedKey: keys.servicePublic, logger: logger)
        try socket.set(ZMQ_CURVE_SERVER, 1)
        try socket.set(ZMQ_CURVE_SECRETKEY, keys.serverSecret)
    }

    func configureClient(_ socket: ZeroMQSocket) throws {
        try configure(socket)
        // Short enough after a gateway's restart, long enough while a gateway is down.
        try socket.set(ZMQ_RECONNECT_IVL, 20)
        try socket.set(ZMQ_RECONNECT_IVL_MAX, 500)
        // Without a response, the kernel retries after 1, 3, 7, 15 and more seconds, which would delay the connection
        // by as much after the network recovers.
        try socket.set(ZMQ_CONNECT_TIMEOUT, Self.connectMilliseconds)
        guard let keys else { return }
        try socket.set(ZMQ_CURVE_SERVERKEY, keys.serverPublic)
        try socket.set(ZMQ_CURVE_PUBLICKEY, keys.servicePublic)
        try socket.set(ZMQ_CURVE_SECRETKEY, keys.serviceSecret)
    }

    private func configure(_ socket: ZeroMQSocket) throws {
        // No high-water mark: the dispatcher's windows limit the messages in flight, and a full pipe must not drop
        // replies.
        try socket.set(ZMQ_SNDHWM, 0)
        try socket.set(ZMQ_RCVHWM, 0)
        try socket.set(ZMQ_MAXMSGSIZE, wide: BusMessage.frameBytesMax)
        try socket.set(ZMQ_TCP_MAXRT, Self.unacknowledgedMilliseconds)
        try socket.set(ZMQ_HANDSHAKE_IVL, Self.handshakeMilliseconds)
        // No ZMQ_HEARTBEAT_IVL: libzmq 4.3.4 aborts the process when its heartbeat is due on a connection that closed
        // while it could not deliver a message, because the connection was replaced under the same routing id or its
        // socket was closing. Lanes send a hello each second, and gateways a probe (`GatewaySilence`).
    }

    /// How long bytes may remain unacknowledged by the other host's kernel before the connection counts as broken
    /// (TCP_USER_TIMEOUT). The kernel acknowledges however busy its processes are, so this can be shorter than the
    /// times after which a silent lane or gateway is given up. Both ends send bytes each second; a lost frame is
    /// retransmitted three times by then.
    package static let unacknowledgedMilliseconds: Int32 = 2500
    /// Timeout for establishing a connection; the kernel retries once within it.
    private static let connectMilliseconds: Int32 = 2000
    /// Timeout for the handshake that follows. The library's default of 30 seconds is too long here.
    private static let handshakeMilliseconds: Int32 = 5000
}
