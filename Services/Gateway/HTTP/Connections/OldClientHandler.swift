import NIOCore
import NIOHTTP1

/// Gives clients of HTTP/1.0 what they expect: a connection that ends with the answer unless they asked to keep it, in
/// which case they are told that it is kept (RFC 9112, section 9.3 and appendix C.2.2), and no answer in chunks, which
/// they do not know (section 6.1).
///
/// The handlers behind it know HTTP/1.1 alone: to them such a request is one that says what it means there. A client
/// speaks one version over a connection, so that this leaves those of all others with their first request.
final class OldClientHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Not "keep-alive" alone, with which `DirectHandler` would answer past this handler.
    private static let kept = "keep-alive, http/1.0"

    /// Of each request without an answer, whether its client asked to keep the connection.
    private var areKept = CircularBuffer<Bool>()
    /// The answer under way ends with the connection, although that was to be kept.
    private var isEndless = false

    /// Puts one between the bytes and the handlers that know HTTP/1.1.
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
        // To be ignored with that version (RFC 9110, section 10.1.1).
        head.headers.remove(name: "Expect")
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard let isKept = areKept.first else { return context.write(data, promise: promise) }
        switch unwrapOutboundIn(data) {
        case .head(var head):
            let isFramed = head.headers.contains(name: "Content-Length") || !head.status.mayHaveResponseBody
            isEndless = isKept && !isFramed
            // What the server ends by itself, such as a request that came too slowly, says so.
            let stays = isKept && isFramed && head.isKeepAlive
            // The encoder makes chunks for later versions.
            head.version = .http1_0
            head.headers.replaceOrAdd(name: "Connection", value: stays ? "keep-alive" : "close")
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            areKept.removeFirst()
            context.write(data, promise: promise)
            // Of the others the server takes care.
            if isEndless { context.channel.close(promise: nil) }
            isEndless = false
        }
    }
}
