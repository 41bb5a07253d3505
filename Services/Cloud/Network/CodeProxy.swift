import Glibc
import Logging
import NIOCore
import NIOPosix
import ServiceKit
import Synchronization

/// The proxy for sandboxes without a network: a Unix socket where code requests connections to the hosts in
/// `AllowedHosts`. The proxy copies bytes without inspecting them.
package final class CodeProxy: Sendable {
    private typealias Stream = NIOAsyncChannel<ByteBuffer, ByteBuffer>
    private typealias Listener = NIOAsyncChannel<Stream, Never>

    /// A refused connection, with the text of the response.
    private struct Refusal: Error {
        let status: String
        let reason: String
    }

    /// Maximum connections of all processes, each with two sockets and little memory. A shop's code calls only a few
    /// providers.
    private static let connectionsMax = 128
    /// Longer than the timeout of `httpRequest` (one minute) for a silent server.
    private static let idleMax = TimeAmount.seconds(120)
    private static let connectMax = TimeAmount.seconds(10)
    /// Maximum addresses of a host that are tried.
    private static let addressesMax = 4

    /// Delay between attempts to listen while they fail.
    private static let backoff = Backoff(first: .milliseconds(100), longest: .seconds(10))

    /// Ends a listener, with an error or normally.
    package typealias Break = @Sendable ((any Error)?) -> Void

    private let allowed: AllowedHosts
    private let logger: Logger
    private let listening: @Sendable (@escaping Break) -> Void
    private let open = Atomic(0)

    /// - Parameter listening: called each time that the proxy begins to listen, with a function that ends the listener,
    ///   for tests.
    package init(
        allowed: AllowedHosts, logger: Logger, listening: @escaping @Sendable (@escaping Break) -> Void = { _ in }
    ) {
        self.allowed = allowed
        self.logger = logger
        self.listening = listening
    }

    /// Listens at a path, whose file is recreated, from its return until the process ends.
    /// - Throws: when it cannot listen there.
    package func start(path: String) async throws {
        let socket = try ProxySocket(path: path)
        let first = try await listen(on: socket)
        Task { [self] in await run(first, on: socket) }
    }

    /// Accepts connections. When no descriptors are left, NIO waits a second before the next accept
    /// (`AcceptBackoffHandler`).
    private func listen(on socket: ProxySocket) async throws -> Listener {
        let listener: Listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(try socket.copy()) { channel in
                channel.eventLoop.makeCompletedFuture { try Self.stream(of: channel) }
            }
        let channel = listener.channel
        listening { error in
            if let error { channel.pipeline.fireErrorCaught(error) } else { channel.close(promise: nil) }
        }
        return listener
    }

    /// Listens again whenever the listener ends; open connections continue.
    private func run(_ first: Listener, on socket: ProxySocket) async {
        await withDiscardingTaskGroup { group in
            var next: Listener? = first
            var failures = 0
            while !Task.isCancelled {
                var problem: (any Error)?
                do {
                    let listener = if let next { next } else { try await listen(on: socket) }
                    next = nil
                    try await listener.executeThenClose { clients in
                        for try await client in clients {
                            failures = 0
                            group.addTask { [self] in
                                // The client notices every kind of end itself.
                                try? await client.executeThenClose { inbound, _ in
                                    try await serve(inbound, client.channel)
                                }
                            }
                        }
                    }
                } catch {
                    problem = error
                }
                logger.warning(
                    "The proxy of the cloud code must listen again.",
                    metadata: ["code.problem": "\(problem.map { "\($0)" } ?? "It was closed.")"])
                failures += 1
                try? await Task.sleep(
                    for: Self.backoff.pause(afterFailures: failures, jitter: .random(in: 0...1)))
            }
        }
    }

    private static func stream(of channel: any Channel) throws -> Stream {
        try channel.pipeline.syncOperations.addHandlers([IdleStateHandler(allTimeout: idleMax), IdleEnd()])
        return try Stream(wrappingChannelSynchronously: channel)
    }

    // MARK: A connection

    private func serve(
        _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>, _ client: any Channel
    ) async throws {
        defer { open.wrappingSubtract(1, ordering: .relaxed) }
        let count = open.wrappingAdd(1, ordering: .relaxed).newValue
        var reading = inbound.makeAsyncIterator()
        do {
            guard let destination = try await Self.destination(&reading) else { return }
            guard count <= Self.connectionsMax else {
                throw Refusal(status: "503 Service Unavailable", reason: "Too many connections are open.")
            }
            let upstream = try await connect(to: destination)
            try await client.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 Connection established\r\n\r\n"))
            try await Self.join(&reading, client, upstream)
        } catch let refusal as Refusal {
            let reason = "HTTP/1.1 \(refusal.status)\r\nConnection: close\r\n\r\n\(refusal.reason)"
            try await client.writeAndFlush(ByteBuffer(string: reason))
        }
    }

    /// Nil when the connection ends before its request is complete.
    private static func destination(
        _ reading: inout NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    ) async throws -> AllowedHosts.Destination? {
        var head = ProxyHead()
        while let bytes = try await reading.next() {
            switch head.take(bytes.readableBytesView) {
            case .incomplete: continue
            case .connect(let destination): return destination
            case .malformed: throw Refusal(status: "400 Bad Request", reason: "Only CONNECT host:port is understood.")
            }
        }
        return nil
    }

    /// Copies bytes in both directions until one side ends. Each chunk is written before the next one is read.
    private static func join(
        _ reading: inout NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator, _ client: any Channel,
        _ upstream: Stream
    ) async throws {
        let server = upstream.channel
        try await upstream.executeThenClose { answers, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    // Closing it also ends the read loop below.
                    defer { client.close(promise: nil) }
                    for try await bytes in answers { try await client.writeAndFlush(bytes) }
                }
                defer { group.cancelAll() }
                while let bytes = try await reading.next() { try await server.writeAndFlush(bytes) }
            }
        }
    }

    // MARK: The destination

    private func connect(to destination: AllowedHosts.Destination) async throws -> Stream {
        let name = "\(destination.host):\(destination.port)"
        guard allowed.allows(destination) else {
            logger.warning("Cloud code asked for a host that it may not reach.", metadata: ["code.host": "\(name)"])
            throw Refusal(status: "403 Forbidden", reason: "SATCHEL_CLOUD_NETWORK does not name \(name).")
        }
        let addresses = try await addresses(of: destination)
        guard !addresses.isEmpty else {
            throw Refusal(status: "502 Bad Gateway", reason: "There is no address of \(destination.host).")
        }
        let admitted = addresses.filter { allowed.admits($0, for: destination) }
        guard !admitted.isEmpty else {
            logger.warning(
                "A host that cloud code may reach has no public address.", metadata: ["code.host": "\(name)"])
            throw Refusal(
                status: "403 Forbidden",
                reason: "\(name) is \(addresses[0]), which is not public: SATCHEL_CLOUD_NETWORK must name it as well.")
        }
        for address in admitted.prefix(Self.addressesMax) {
            let target = try SocketAddress(ipAddress: "\(address)", port: destination.port)
            let stream: Stream? = try? await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connectTimeout(Self.connectMax)
                .connect(to: target) { channel in
                    channel.eventLoop.makeCompletedFuture { try Self.stream(of: channel) }
                }
            if let stream { return stream }
        }
        throw Refusal(status: "502 Bad Gateway", reason: "\(name) cannot be reached.")
    }

    private func addresses(of destination: AllowedHosts.Destination) async throws -> [NetworkAddress] {
        if let address = NetworkAddress(destination.host) { return [address] }
        return try await NIOThreadPool.singleton.runIfActive { Self.lookUp(destination.host) }
    }

    /// Blocks on the system's resolver.
    private static func lookUp(_ name: String) -> [NetworkAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(name, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var found: [NetworkAddress] = []
        var next = list
        while let entry = next?.pointee {
            if let address = address(of: entry), !found.contains(address) { found.append(address) }
            next = entry.ai_next
        }
        return found
    }

    private static func address(of entry: addrinfo) -> NetworkAddress? {
        guard let socket = UnsafeRawPointer(entry.ai_addr) else { return nil }
        switch entry.ai_family {
        case AF_INET:
            return withUnsafeBytes(of: socket.loadUnaligned(as: sockaddr_in.self).sin_addr) {
                NetworkAddress(bytes: Array($0))
            }
        case AF_INET6:
            return withUnsafeBytes(of: socket.loadUnaligned(as: sockaddr_in6.self).sin6_addr) {
                NetworkAddress(bytes: Array($0))
            }
        default: return nil
        }
    }
}

/// Closes an idle connection.
private final class IdleEnd: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }
}
