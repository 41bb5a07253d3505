import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import ProcessKit

/// The gateway's HTTP/1 server: accepts connections, adds their handlers, and closes them in order.
struct HTTPServer: ProcessPart {
    let address: ListenAddress
    let logger: Logger
    /// The address that the log names.
    let url: String
    /// Makes the handlers between `HTTPCodec` and `RequestHandler`.
    let handlers: @Sendable () -> [any RemovableChannelHandler]
    let front: HTTPFront

    /// Connections that wait in the kernel to be accepted.
    private static let backlog: Int32 = 1024
    /// Bytes of one header and of all headers, and a number of headers, past which the decoder refuses a request.
    /// `HTTPFront` has lower limits and answers with an error of the protocol.
    private static let headerBytesMax = 80 << 10
    private static let headersMax = 1000

    /// Serves requests until the end. Then it accepts no more connections, and closes each connection when its requests
    /// are answered.
    /// - Throws: when the address cannot be used, or the listening socket fails.
    func run(until end: ProcessEnd) async throws {
        let connections = OpenConnections()
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: Self.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptHandler(logger))
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try setUp(channel, among: connections) }
            }
        let listener =
            switch address {
            case .network(let host, let port): try await bootstrap.bind(host: host, port: port).get()
            // A gateway that was killed leaves its socket file behind.
            case .file(let path):
                try await bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
            }
        logger.notice("Listening.", metadata: ["url": "\(url)"])
        let listenerClosed = ProcessEnd()
        listener.closeFuture.whenComplete { _ in listenerClosed.ask() }
        // Returns when the process ends or the listener closes.
        await end.cancels { await listenerClosed.wait() }
        let isLost = listenerClosed.isRequested
        try? await listener.close().get()
        // In a new task, because a cancelled task has to wait for the requests, too.
        await Task { await connections.end() }.value
        if isLost { throw ListenerLost() }
    }

    private struct ListenerLost: Error, CustomStringConvertible {
        let description = "The listening socket was closed."
    }

    /// Adds the handlers of a connection. From the socket to the last: `ResponseOutlet`, `ByteWatch`, NIO's encoder and
    /// decoder, `OldClientHandler`, `HTTPCodec`, `handlers`, `RequestHandler`. `RequestHandler` inserts
    /// `ResponseOutlet`; `ConnectionGuard` inserts `ByteWatch`, `OldClientHandler` and `LiveUpgrade`.
    /// - Throws: for a closed connection.
    private func setUp(_ channel: any Channel, among connections: OpenConnections) throws {
        let pipeline = channel.pipeline.syncOperations
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = Self.headerBytesMax
        limits.maxHeaderListSize = Self.headerBytesMax
        limits.maxHeaderFieldCount = Self.headersMax
        // `ConnectionRequests` orders the requests and refuses invalid ones. HTTPTypes accepts no invalid header.
        try pipeline.configureHTTPServerPipeline(
            withPipeliningAssistance: false, withErrorHandling: false, withOutboundHeaderValidation: false,
            withEncoderConfiguration: .init(), withDecoderLimitConfiguration: limits)
        try pipeline.addHandler(HTTPCodec())
        try pipeline.addHandlers(handlers())
        try pipeline.addHandler(RequestHandler(connections, front))
    }
}
