import NIOCore
import NIOHTTP1

/// Serves clients of HTTP/1.0. Their connection ends with the answer, unless they asked to keep it; then the answer
/// says that it is kept (RFC 9112, section 9.3 and appendix C.2.2). They get no answer in chunks, which they do not
/// support (section 6.1).
///
/// The next handlers know HTTP/1.1 alone, so that this handler translates such requests. A client speaks one version
/// over a connection: on all other connections the handler removes itself with the first request.
final class OldClientHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Not "keep-alive" alone, with which the event loop would answer past this handler (`HTTPFront.loopBodyBytes`).
    private static let kept = "keep-alive, http/1.0"

    /// Whether the client asked to keep the connection, for each request without an answer.
    private var areKept = CircularBuffer<Bool>()
    /// The answer under way has no length, so that it ends with the connection.
    private var isEndless = false

    /// Adds one between the decoder and the handlers that know HTTP/1.1.
    static func add(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
        try pipeline.addHandler(OldClientHandler(), position: .after(decoder))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        guard (head.version.major, head.version.minor) < (1, 1) else {
            context.fireChannelRead(data)
            if areKept.isEmpty { context.pipeline.syncOperations.removeHandler(context: context, promise: nil) }
            return
        }
        let isKept = head.isKeepAlive
        areKept.append(isKept)
        head.headers.replaceOrAdd(name: "Connection", value: isKept ? Self.kept : "close")
        // Ignored with that version (RFC 9110, section 10.1.1).
        head.headers.remove(name: "Expect")
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard let isKept = areKept.first else { return context.write(data, promise: promise) }
        switch unwrapOutboundIn(data) {
        case .head(var head):
            let isFramed = head.headers.contains(name: "Content-Length") || !head.status.mayHaveResponseBody
            isEndless = isKept && !isFramed
            // An answer that closes the connection, such as that to a request which is too slow, says so.
            let stays = isKept && isFramed && head.isKeepAlive
            // The encoder makes chunks for later versions.
            head.version = .http1_0
            head.headers.replaceOrAdd(name: "Connection", value: stays ? "keep-alive" : "close")
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            areKept.removeFirst()
            context.write(data, promise: promise)
            // The server closes the others.
            if isEndless { context.channel.close(promise: nil) }
            isEndless = false
        }
    }
}
