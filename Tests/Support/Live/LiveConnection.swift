import Foundation
import NIOCore
import NIOPosix
import NIOWebSocket
import ParseProtocol
import Synchronization

/// A client's WebSocket for live queries. It sends exactly the given frames and stores every received message.
package final class LiveConnection: Sendable {
    fileprivate struct Received {
        var messages: [JSON] = []
        /// The status line of the answer to the upgrade.
        var status: String?
        var closeCode: Int?
        var isClosed = false
        var pongs = 0
    }

    private let channel: any Channel
    private let shared: Shared

    /// The state that the channel handlers and the test share.
    fileprivate final class Shared: Sendable {
        let received = Mutex(Received())
        /// True if pings are not answered.
        let isMute: Bool

        init(isMute: Bool) { self.isMute = isMute }
    }

    /// Requests an upgrade and waits for the answer, whatever it is.
    /// - Parameters:
    ///   - path: any path, also outside the mount.
    ///   - headers: lines of further headers.
    ///   - isMute: leaves pings unanswered.
    ///   - receiveBytes: size of the socket's receive buffer, for a client that does not read; nil for the system's
    ///     default.
    ///   - gateway: the number of one gateway of several, bypassing the balancer.
    package init(
        _ suite: Suite, path: String = "/parse", headers: [String] = [], isMute: Bool = false,
        receiveBytes: Int32? = nil, gateway: Int? = nil
    ) async throws {
        let shared = Shared(isMute: isMute)
        self.shared = shared
        let port = URLComponents(string: suite.url)?.port ?? 0
        var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handshake(shared))
                }
            }
        if let receiveBytes {
            bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: Int(receiveBytes))
        }
        if let gateway {
            let file = suite.url(ofGateway: gateway).split(separator: ":")[1]
            channel = try await bootstrap.connect(unixDomainSocketPath: String(file)).get()
        } else {
            channel = try await bootstrap.connect(host: "127.0.0.1", port: port).get()
        }
        let lines = [
            "GET \(path) HTTP/1.1", "Host: 127.0.0.1:\(port)", "Connection: Upgrade", "Upgrade: websocket",
            "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ]
        try await send(raw: Array(((lines + headers).joined(separator: "\r\n") + "\r\n\r\n").utf8))
        try await eventually("the upgrade is answered", within: .seconds(10)) {
            shared.received.withLock { $0.status != nil || $0.isClosed }
        }
    }

    deinit { channel.close(promise: nil) }

    /// Connects with the suite's application id and the given fields.
    package static func connect(
        _ suite: Suite, _ members: [String: JSON] = [:], headers: [String] = [], isMute: Bool = false,
        receiveBytes: Int32? = nil, gateway: Int? = nil
    ) async throws -> LiveConnection {
        let connection = try await LiveConnection(
            suite, headers: headers, isMute: isMute, receiveBytes: receiveBytes, gateway: gateway)
        let connect: [String: JSON] = ["op": "connect", "applicationId": "satchel"]
        try await connection.send(.object(connect.merging(members) { $1 }))
        let answer = try await connection.next()
        guard answer["op"] == "connected" else { throw NeverHappened("connected, but \(answer.serializedText)") }
        return connection
    }

    // MARK: Sending

    /// Sends a message as one frame.
    package func send(_ message: JSON) async throws { try await send(raw: Self.frame(message.serialized)) }

    package func send(raw bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

    /// Subscribes and waits for the answer.
    /// - Returns: the answer, `subscribed` or `error`.
    @discardableResult
    package func subscribe(
        _ requestId: Int64, _ className: String, _ condition: JSON = [:], _ query: [String: JSON] = [:],
        token: String? = nil, cursor: String? = nil
    ) async throws -> JSON {
        let all: [String: JSON] = ["className": .string(className), "where": condition]
        var message: JSON = [
            "op": "subscribe", "requestId": .int(requestId), "query": .object(all.merging(query) { $1 }),
        ]
        message["sessionToken"] = token.map(JSON.string)
        message["cursor"] = cursor.map(JSON.string)
        try await send(message)
        return try await next { ["subscribed", "error"].contains($0["op"]) && $0["requestId"] == .int(requestId) }
    }

    /// A client's frame: masked, with a length in the shortest form.
    package static func frame(
        _ payload: [UInt8], opcode: UInt8 = 1, isFinal: Bool = true, isMasked: Bool = true, claiming length: Int? = nil
    ) -> [UInt8] {
        var bytes: [UInt8] = [(isFinal ? 0x80 : 0) | opcode]
        let count = length ?? payload.count
        let mask: UInt8 = isMasked ? 0x80 : 0
        switch count {
        case ..<126: bytes.append(mask | UInt8(count))
        case ..<65536: bytes += [mask | 126, UInt8(count >> 8), UInt8(count & 255)]
        default:
            bytes.append(mask | 127)
            bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }
        }
        guard isMasked else { return bytes + payload }
        let key: [UInt8] = [1, 2, 3, 4]
        return bytes + key + payload.enumerated().map { $1 ^ key[$0 % 4] }
    }

    // MARK: Receiving

    /// The status of the answer to the upgrade, such as 101.
    package var status: Int? {
        shared.received.withLock { $0.status }.flatMap { line in
            line.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        }
    }

    /// The code with which the other end closed.
    package var closeCode: Int? { shared.received.withLock { $0.closeCode } }
    package var isClosed: Bool { shared.received.withLock { $0.isClosed } }

    /// Number of this client's pings that the server answered.
    package var pongs: Int { shared.received.withLock { $0.pongs } }

    /// Removes and returns the first message that matches. Earlier messages remain in the inbox.
    package func next(
        within limit: Duration = .seconds(10), where fits: (JSON) -> Bool = { _ in true }
    ) async throws -> JSON {
        var found: JSON?
        try await eventually("a message comes; there are \(waiting.map(\.serializedText))", within: limit) {
            found = shared.received.withLock { received in
                received.messages.firstIndex(where: fits).map { received.messages.remove(at: $0) }
            }
            return found != nil || isClosed
        }
        guard let found else { throw NeverHappened("A message before the connection ends, with \(closeCode ?? 0).") }
        return found
    }

    /// Received messages that the test has not taken.
    package var waiting: [JSON] { shared.received.withLock { $0.messages } }

    /// Takes all received messages.
    package func takeAll() -> [JSON] {
        shared.received.withLock { received in
            defer { received.messages = [] }
            return received.messages
        }
    }

    /// The event's kind and the value of a field of its object.
    package func nextEvent(of requestId: Int64) async throws -> JSON {
        try await next { $0["requestId"] == .int(requestId) && $0["object"] != nil }
    }

    package func untilClosed(within limit: Duration = .seconds(10)) async throws {
        try await eventually("the connection is closed", within: limit) { isClosed }
    }

    /// Starts or stops reading from the socket.
    package func setReading(_ isReading: Bool) async throws {
        try await channel.setOption(ChannelOptions.autoRead, value: isReading).get()
        if isReading { channel.read() }
    }

    // MARK: Handlers

    /// Waits for the end of the answer to the upgrade.
    private final class Handshake: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = ByteBuffer

        private let shared: Shared
        private var head = ByteBuffer()

        init(_ shared: Shared) { self.shared = shared }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var bytes = unwrapInboundIn(data)
            head.writeBuffer(&bytes)
            let text = String(buffer: head)
            guard let end = text.range(of: "\r\n\r\n") else { return }
            let status = String(text.prefix { $0 != "\r\n" })
            if status.contains(" 101 ") {
                let count = text[..<end.upperBound].utf8.count
                head.moveReaderIndex(forwardBy: count)
                let pipeline = context.pipeline.syncOperations
                try? pipeline.addHandlers([
                    ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: 1 << 24)), Frames(shared),
                ])
                if head.readableBytes > 0 { context.fireChannelRead(NIOAny(head)) }
                pipeline.removeHandler(context: context, promise: nil)
            }
            shared.received.withLock { $0.status = status }
        }

        func channelInactive(context: ChannelHandlerContext) {
            shared.received.withLock { $0.isClosed = true }
            context.fireChannelInactive()
        }
    }

    private final class Frames: ChannelInboundHandler {
        typealias InboundIn = WebSocketFrame
        typealias OutboundOut = ByteBuffer

        private let shared: Shared

        init(_ shared: Shared) { self.shared = shared }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let frame = unwrapInboundIn(data)
            switch frame.opcode {
            case .text:
                let message = (try? JSON(parsing: Array(frame.data.readableBytesView))) ?? .null
                shared.received.withLock { $0.messages.append(message) }
            case .ping where !shared.isMute:
                let pong = LiveConnection.frame(Array(frame.data.readableBytesView), opcode: 10)
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: pong)), promise: nil)
            case .pong: shared.received.withLock { $0.pongs += 1 }
            case .connectionClose:
                let code = frame.data.getInteger(at: frame.data.readerIndex, as: UInt16.self)
                shared.received.withLock { $0.closeCode = code.map(Int.init) }
            default: break
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            shared.received.withLock { $0.isClosed = true }
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
