import Cryptography
import Foundation
import HTTPTypes
import NIOCore
import NIOWebSocket
import ParseProtocol

/// Upgrades a connection to a WebSocket (RFC 6455, section 4.2) when its client requests that at the mount. Parse's
/// SDKs use the server's address with `ws` in place of `http`.
///
/// The HTTP handlers remain in the channel. The WebSocket handlers precede them and pass on only the connection's end.
final class LiveUpgrade: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let hub: LiveHub
    private let configuration: GatewayConfiguration
    private let mount: Mount
    /// Requests that were passed on and have no response yet: at first none (`ConnectionGuard`).
    private var open = 0
    /// The upgrade request, until it is complete.
    private var asking: HTTPRequest?
    private var isRefused = false

    init(_ hub: LiveHub, _ configuration: GatewayConfiguration, _ mount: Mount) {
        self.hub = hub
        self.configuration = configuration
        self.mount = mount
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            isRefused = false
            // After another request, or with a body, it is handled as a plain request.
            if open == 0, Self.isAsked(by: head) {
                asking = head
                return
            }
            open += 1
        case .body:
            if asking != nil {
                isRefused = true
                return
            }
        case .end:
            guard let head = asking else { break }
            asking = nil
            return isRefused ? refuse(context, .badRequest) : answer(head, context)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head, .body: break
        case .end, .sent: open = max(0, open - 1)
        }
        context.write(data, promise: promise)
    }

    static func isAsked(by head: HTTPRequest) -> Bool {
        head.method == .get && head.headerFields[.upgrade]?.lowercased() == "websocket"
            && head.headerFields[.connection]?.lowercased().contains("upgrade") == true
    }

    private func answer(_ head: HTTPRequest, _ context: ChannelHandlerContext) {
        let fields = head.headerFields
        let path = head.path.map { String($0.prefix { $0 != "?" }) } ?? "/"
        let components = (try? ParseRequest.path(path)) ?? ["?"]
        guard components.isEmpty || mount.stripped(from: components)?.isEmpty == true, hub.access.settings.isOn else {
            return refuse(context, .notFound)
        }
        guard configuration.admission.origins.admits(fields[.origin]) else { return refuse(context, .forbidden) }
        guard fields[Self.version] == "13" else { return refuse(context, .upgradeRequired) }
        guard let key = fields[Self.key], Data(base64Encoded: key)?.count == 16 else {
            return refuse(context, .badRequest)
        }
        guard hub.enter() else { return refuse(context, .serviceUnavailable) }
        let address = ClientAddress.find(
            in: fields, from: context.channel.remoteAddress, proxies: configuration.admission.trustedProxies)
        begin(key, address, context)
    }

    private func refuse(_ context: ChannelHandlerContext, _ status: HTTPResponse.Status) {
        var fields: HTTPFields = [.contentLength: "0", .connection: "close"]
        if status == .upgradeRequired { fields[Self.version] = "13" }
        context.write(wrapOutboundOut(.head(HTTPResponse(status: status, headerFields: fields))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenComplete { _ in
            context.close(promise: nil)
        }
    }

    private func begin(_ key: String, _ address: SocketAddress?, _ context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        let bytesMax = hub.access.settings.messageBytesMax
        do {
            // While this handler is the only one at the front, its writes are bytes.
            let announcement = LiveAnnouncement(Self.announcement(key))
            try pipeline.addHandler(announcement, position: .first)
            try pipeline.addHandlers(
                [
                    ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: bytesMax)), LiveFrameGuard(),
                    NIOWebSocketFrameAggregator(
                        minNonFinalFragmentSize: 1, maxAccumulatedFrameCount: Self.fragmentsMax,
                        maxAccumulatedFrameSize: bytesMax),
                    LiveSocket(hub, from: address),
                ], position: .first)
        } catch {
            hub.leave()
            context.close(promise: nil)
        }
    }

    /// Browsers send one frame; libraries split messages at some kilobytes.
    private static let fragmentsMax = 64

    private static func announcement(_ key: String) -> ByteBuffer {
        // The constant is from RFC 6455, section 1.3.
        let digest = Insecure.SHA1.hash(data: Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
        return ByteBuffer(
            string: """
                HTTP/1.1 101 Switching Protocols\r
                Upgrade: websocket\r
                Connection: Upgrade\r
                Sec-WebSocket-Accept: \(Data(digest).base64EncodedString())\r
                \r

                """)
    }

    private static let version = headerName("Sec-WebSocket-Version")
    private static let key = headerName("Sec-WebSocket-Key")
}

/// Writes the response to an upgrade as the first handler of a channel.
private final class LiveAnnouncement: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let text: ByteBuffer

    init(_ text: ByteBuffer) { self.text = text }

    func handlerAdded(context: ChannelHandlerContext) { context.writeAndFlush(NIOAny(text), promise: nil) }
}

/// Rejects frames that no client may send (RFC 6455, sections 5.1 and 5.5): unmasked frames, long or fragmented control
/// frames, and reserved bits.
final class LiveFrameGuard: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        let isControl = frame.opcode == .ping || frame.opcode == .pong || frame.opcode == .connectionClose
        guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3,
            !isControl || frame.fin && frame.length <= 125
        else { return context.fireErrorCaught(NIOWebSocketError.multiByteControlFrameLength) }
        context.fireChannelRead(data)
    }
}
