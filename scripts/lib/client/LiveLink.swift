import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import ParseProtocol

/// A WebSocket for live queries, from a chosen source address.
package struct LiveLink: Sendable {
    private let channel: any Channel
    private let applicationId: String
    private let messages: AsyncStream<JSON>

    /// - Parameters:
    ///   - address: the source address, which the server sees.
    ///   - messagesKept: maximum unread messages; new messages replace the oldest ones.
    /// - Throws: the system's error when there is no connection within 10 seconds; NIO's error when the upgrade fails.
    package static func open(
        _ site: some Site, from address: String, on group: any EventLoopGroup, messagesKept: Int
    ) async throws -> LiveLink {
        let (messages, continuation) = AsyncStream.makeStream(
            of: JSON.self, bufferingPolicy: .bufferingNewest(messagesKept))
        let upgrader = NIOTypedWebSocketClientUpgrader<Void> { channel, _ in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(LiveLinkHandler(continuation))
            }
        }
        let head = HTTPRequestHead(
            version: .http1_1, method: .GET, uri: site.mount, headers: ["Host": "\(site.host):\(site.port)"])
        let upgrade = NIOTypedHTTPClientUpgradeConfiguration(upgradeRequestHead: head, upgraders: [upgrader]) {
            $0.eventLoop.makeFailedFuture(LinkError.closed)
        }
        let (channel, upgraded) = try await ClientBootstrap(group: group)
            .bind(to: SocketAddress(ipAddress: address, port: 0))
            .connectTimeout(.seconds(10))
            .connect(to: site.address()) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let upgraded = try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
                        configuration: .init(upgradeConfiguration: upgrade))
                    return (channel, upgraded)
                }
            }
        try await upgraded.get()
        return LiveLink(channel: channel, applicationId: site.applicationId, messages: messages)
    }

    /// Sends the first message of a client without a session.
    package func connect() async throws {
        try await send(["op": "connect", "applicationId": .string(applicationId)])
    }

    package func send(_ message: JSON) async throws { try await send(ByteBuffer(bytes: message.serialized)) }

    /// Sends the bytes as one text message.
    package func send(_ text: ByteBuffer) async throws {
        try await channel.writeAndFlush(WebSocketFrame(fin: true, opcode: .text, maskKey: .random(), data: text))
    }

    /// Reads messages until one passes the filter. A timeout closes the connection.
    /// - Throws: `LinkError` when the connection ends first or `timeout` expires.
    package func next(within timeout: Duration, where isWanted: (JSON) -> Bool) async throws {
        let channel = channel
        let timer = Task {
            try await Task.sleep(for: timeout)
            channel.close(promise: nil)
        }
        defer { timer.cancel() }
        for await message in messages where isWanted(message) { return }
        throw LinkError.closed
    }

    /// Whether the connection is still open.
    package var isOpen: Bool { channel.isActive }

    /// Closes the connection.
    package func close() { channel.close(promise: nil) }
}

/// Reads messages and answers pings.
private final class LiveLinkHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let messages: AsyncStream<JSON>.Continuation

    init(_ messages: AsyncStream<JSON>.Continuation) { self.messages = messages }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text:
            if let message = try? JSON(parsing: Array(frame.unmaskedData.readableBytesView)) { messages.yield(message) }
        case .ping:
            let pong = WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData)
            context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
        case .connectionClose: context.close(promise: nil)
        default: break
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        messages.finish()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
