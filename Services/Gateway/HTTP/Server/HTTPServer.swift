import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1
import NIOPosix
import ProcessKit

/// The gateway's HTTP/1 server: accepts connections, gives each its handlers, and ends them in order.
struct HTTPServer: ProcessPart {
    let address: ListenAddress
    let logger: Logger
    /// The address that the log names.
    let url: String
    /// Makes the handlers that stand between the decoder and `RequestHandler`.
    let handlers: @Sendable () -> [any RemovableChannelHandler]
    let respond: RequestHandler.Respond

    /// Connections that the kernel keeps until they are accepted.
    private static let backlog: Int32 = 1024
    /// Bytes of a header and of all of a request, and a number of headers, past which a request is refused while it is
    /// read. `HTTPFront` says what is wrong to those that have less and still too much.
    private static let headerBytesMax = 80 << 10
    private static let headersMax = 1000

    /// Serves requests. At its end it takes no connection any more, and closes each as soon as its requests are
    /// answered.
    /// - Throws: when the address cannot be listened on, or the listening socket fails.
    func run(until end: ProcessEnd) async throws {
        let connections = OpenConnections()
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: Self.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                // As NIO's asynchronous listeners have it: without descriptors for a connection it waits for a second.
                let patience = AcceptBackoffHandler(shouldForwardIOErrorCaught: false)
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(patience)
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try setUp(channel, among: connections) }
            }
        let listener =
            switch address {
            case .network(let host, let port): try await bootstrap.bind(host: host, port: port).get()
            // A file that is there was left by a gateway that was killed.
            case .file(let path):
                try await bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
            }
        logger.notice("Listening.", metadata: ["url": "\(url)"])
        let closed = ProcessEnd()
        listener.closeFuture.whenComplete { _ in closed.ask() }
        await end.cancels { await closed.wait() }
        let isLost = closed.isAskedFor
        try? await listener.close().get()
        // A task of its own, in which one that is cancelled waits for its requests, too.
        await Task { await connections.end() }.value
        if isLost { throw ListenerLost() }
    }

    private struct ListenerLost: Error, CustomStringConvertible {
        let description = "The listening socket was closed."
    }

    /// - Throws: for a connection that is closed already.
    private func setUp(_ channel: any Channel, among connections: OpenConnections) throws {
        let pipeline = channel.pipeline.syncOperations
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = Self.headerBytesMax
        limits.maxHeaderListSize = Self.headerBytesMax
        limits.maxHeaderFieldCount = Self.headersMax
        // `RequestLine` has the requests in order and refuses what is none. HTTPTypes takes no header that is invalid.
        try pipeline.configureHTTPServerPipeline(
            withPipeliningAssistance: false, withErrorHandling: false, withOutboundHeaderValidation: false,
            withEncoderConfiguration: .init(), withDecoderLimitConfiguration: limits)
        try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
        try pipeline.addHandlers(handlers())
        try pipeline.addHandler(RequestHandler(connections, respond: respond))
    }
}
