import NIOCore
import NIOPosix

/// A connection from a chosen source address. Requests are raw bytes, so that they may be invalid, slow or incomplete.
package struct Link: Sendable {
    private let channel: any Channel

    /// The speed at which a connection reads.
    package enum QuotaKind: Sendable {
        /// Reads as fast as data arrives.
        case quick
        /// Reads only on request, one KiB at a time.
        case slow
    }

    /// - Parameters:
    ///   - address: the source address, which the server sees; the system's choice by default.
    ///   - group: its event loops run the connection.
    ///   - bodyBytesKept: maximum bytes of each answer's body that are kept.
    ///   - pace: how it reads.
    /// - Throws: the system's error when there is no connection within 10 seconds.
    package static func open(
        _ site: some Site, from address: String? = nil, on group: any EventLoopGroup, bodyBytesKept: Int,
        pace: QuotaKind = .quick
    ) async throws -> Link {
        let own = try address.map { try SocketAddress(ipAddress: $0, port: 0) }
        let plain = ClientBootstrap(group: group)
        let bootstrap = (own.map { plain.bind(to: $0) } ?? plain)
            .connectTimeout(.seconds(10))
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: pace == .slow ? 1 << 10 : 64 << 10)
            )
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if pace == .slow {
                        try channel.syncOptions?.setOption(.autoRead, value: false)
                        try channel.syncOptions?.setOption(.socketOption(.so_rcvbuf), value: 4 << 10)
                    }
                    try channel.pipeline.syncOperations.addHandler(LinkHandler(bodyBytesKept: bodyBytesKept))
                }
            }
        return Link(channel: try await bootstrap.connect(to: site.address()).get())
    }

    /// Sends a request and waits for its answer.
    /// - Throws: `LinkError` when the connection ends first or `timeout` expires, which closes it.
    package func send(_ bytes: ByteBuffer, timeout: Duration) async throws -> Answer {
        let promise = channel.eventLoop.makePromise(of: Answer.self)
        channel.writeAndFlush(LinkHandler.Order.exchange(bytes, promise, TimeAmount(timeout)), promise: nil)
        return try await promise.futureResult.get()
    }

    /// Sends bytes that need not be a valid request.
    package func push(_ bytes: ByteBuffer) async throws {
        try await channel.writeAndFlush(LinkHandler.Order.bytes(bytes))
    }

    /// Reads once on a slow connection.
    package func read() { channel.read() }

    /// Whether the connection is still open.
    package var isOpen: Bool { channel.isActive }

    /// Closes the connection.
    package func close() { channel.close(promise: nil) }
}

/// Why a request has no answer.
package enum LinkError: Error {
    /// The connection ended first.
    case closed
    /// The timeout expired.
    case timeout
}

/// Matches the answers with the requests of one connection, in order.
private final class LinkHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Order
    typealias OutboundOut = ByteBuffer

    enum Order: Sendable {
        case exchange(ByteBuffer, EventLoopPromise<Answer>, TimeAmount)
        case bytes(ByteBuffer)
    }

    private var reader: AnswerReader
    private var input = ByteBuffer()
    private var waiting: [(promise: EventLoopPromise<Answer>, timeout: Scheduled<Void>)] = []

    init(bodyBytesKept: Int) { reader = AnswerReader(bodyBytesKept: bodyBytesKept) }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .bytes(let bytes): context.write(wrapOutboundOut(bytes), promise: promise)
        case .exchange(let bytes, let answer, let timeout):
            guard context.channel.isActive else { return answer.fail(LinkError.closed) }
            let channel = context.channel
            let timer = context.eventLoop.scheduleTask(in: timeout) {
                answer.fail(LinkError.timeout)
                channel.close(promise: nil)
            }
            waiting.append((answer, timer))
            if bytes.readableBytes > 0 { context.write(wrapOutboundOut(bytes), promise: promise) }
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if input.readableBytes == 0 { input = bytes } else { input.writeBuffer(&bytes) }
        do {
            while let answer = try reader.next(&input) {
                guard !waiting.isEmpty else { continue }
                let (promise, timer) = waiting.removeFirst()
                timer.cancel()
                promise.succeed(answer)
            }
            // Frees the buffer: thousands of idle connections must not keep 64 KiB each.
            if input.readableBytes == 0 { input = ByteBuffer() }
        } catch {
            context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(LinkError.closed)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(LinkError.closed)
        context.close(promise: nil)
    }

    private func fail(_ error: LinkError) {
        for (promise, timer) in waiting {
            timer.cancel()
            promise.fail(error)
        }
        waiting = []
    }
}
