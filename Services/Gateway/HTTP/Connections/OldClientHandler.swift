import Glibc
import NIOCore
import NIOHTTP1

/// Serves clients of HTTP/1.0. Their connection ends with the response, unless they asked to keep it; then the response
/// says `keep-alive` (RFC 9112, section 9.3 and appendix C.2.2). They get no response in chunks, which they do not
/// support (section 6.1).
///
/// The next handlers only support HTTP/1.1, so this handler translates such requests. A client uses one version over a
/// connection: on all other connections the handler removes itself with the first request.
final class OldClientHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Must differ from `keep-alive`. For exactly `keep-alive`, `HTTPFront.loopBodyBytes` lets the event loop send
    /// bytes past this handler.
    private static let keepAliveValue = "keep-alive, http/1.0"

    /// Whether the client asked to keep the connection, for each request without a response.
    private var keepsAlive = CircularBuffer<Bool>()
    /// The current response has no length: closing the connection ends it.
    private var isEndless = false
    /// A response without a length has begun and is not complete.
    private var isUnfinished = false

    /// Adds one between the decoder and the handlers that know HTTP/1.1.
    static func add(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
        try pipeline.addHandler(OldClientHandler(), position: .after(decoder))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        guard (head.version.major, head.version.minor) < (1, 1) else {
            context.fireChannelRead(data)
            if keepsAlive.isEmpty { context.pipeline.syncOperations.removeHandler(context: context, promise: nil) }
            return
        }
        let isKeepAlive = head.isKeepAlive
        keepsAlive.append(isKeepAlive)
        head.headers.replaceOrAdd(name: "Connection", value: isKeepAlive ? Self.keepAliveValue : "close")
        // HTTP/1.0 servers ignore `Expect` (RFC 9110, section 10.1.1).
        head.headers.remove(name: "Expect")
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard let isKeepAlive = keepsAlive.first else { return context.write(data, promise: promise) }
        switch unwrapOutboundIn(data) {
        case .head(var head):
            let isFramed = head.headers.contains(name: "Content-Length") || !head.status.mayHaveResponseBody
            isEndless = isKeepAlive && !isFramed
            isUnfinished = !isFramed
            // A response that closes the connection, such as that to a request which is too slow, says so.
            let stays = isKeepAlive && isFramed && head.isKeepAlive
            // The encoder makes chunks for later versions.
            head.version = .http1_0
            head.headers.replaceOrAdd(name: "Connection", value: stays ? "keep-alive" : "close")
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            keepsAlive.removeFirst()
            isUnfinished = false
            context.write(data, promise: promise)
            // `RequestHandler` closes the other connections that end with their response.
            if isEndless { context.channel.close(promise: nil) }
            isEndless = false
        }
    }

    /// Resets a connection within a response without a length. After an orderly end the client would take the part that
    /// it has for the whole.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if isUnfinished, mode == .all, let socket = context.channel as? any SocketOptionProvider {
            _ = socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        }
        context.close(mode: mode, promise: promise)
    }
}
