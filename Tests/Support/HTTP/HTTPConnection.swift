import NIOCore
import NIOHTTP1
import NIOPosix

/// A connection that carries one request at a time.
struct HTTPConnection: Sendable {
    private let channel: any Channel

    static func open(to address: SocketAddress) async throws -> HTTPConnection {
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(5))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    try channel.pipeline.syncOperations.addHandler(ExchangeHandler())
                }
            }
        return HTTPConnection(channel: try await bootstrap.connect(to: address).get())
    }

    /// Whether another request may be sent.
    var isOpen: Bool { channel.isActive }

    /// Closes the connection. Call it only when no request is in progress.
    func close() { channel.close(promise: nil) }

    /// Sends a request and waits for its answer. If no answer comes, closes the connection.
    /// - Throws: `HTTPFailure`, `CancellationError`, or the error of the socket or of an answer that is not HTTP.
    func send(_ request: HTTPRequest, deadline: NIODeadline) async throws -> HTTPAnswer {
        let answer = channel.eventLoop.makePromise(of: HTTPAnswer.self)
        let sent = channel.eventLoop.makePromise(of: Void.self)
        // A refusal may arrive before the request is fully sent. By now it has been read.
        sent.futureResult.whenFailure { answer.fail($0) }
        // Closes the connection only if the cancellation came before the answer. After the answer, it may serve another
        // request.
        answer.futureResult.whenFailure { if $0 is CancellationError { channel.close(promise: nil) } }
        return try await withTaskCancellationHandler {
            channel.writeAndFlush(
                ExchangeHandler.Exchange(request: request, deadline: deadline, answer: answer), promise: sent)
            return try await answer.futureResult.get()
        } onCancel: {
            answer.fail(CancellationError())
        }
    }
}

/// Sends the current request and collects its answer.
private final class ExchangeHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = Exchange
    typealias OutboundOut = HTTPClientRequestPart

    struct Exchange: Sendable {
        let request: HTTPRequest
        let deadline: NIODeadline
        let answer: EventLoopPromise<HTTPAnswer>
    }

    private struct Progress {
        let answer: EventLoopPromise<HTTPAnswer>
        let timer: Scheduled<Void>
        var isSent = false
        var head: HTTPResponseHead?
        var body = ByteBuffer()
    }

    private var progress: Progress?

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let exchange = unwrapOutboundIn(data)
        let (answer, channel) = (exchange.answer, context.channel)
        let timer = context.eventLoop.scheduleTask(deadline: exchange.deadline) {
            answer.fail(HTTPFailure.timedOut)
            channel.close(promise: nil)
        }
        progress = Progress(answer: answer, timer: timer)
        promise?.futureResult.assumeIsolated().whenSuccess { self.progress?.isSent = true }
        context.write(wrapOutboundOut(.head(exchange.request.head)), promise: nil)
        if exchange.request.body.readableBytes > 0 {
            context.write(wrapOutboundOut(.body(.byteBuffer(exchange.request.body))), promise: nil)
        }
        context.write(wrapOutboundOut(.end(nil)), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): progress?.head = head
        case .body(var part): progress?.body.writeBuffer(&part)
        case .end: finish(context)
        }
    }

    private func finish(_ context: ChannelHandlerContext) {
        guard let progress, let head = progress.head else { return }
        self.progress = nil
        progress.timer.cancel()
        // The rest of a refused body would be parsed as the next request.
        let isLast = !progress.isSent || !head.isKeepAlive
        // Completes the answer before closing, because closing fails unsent writes.
        progress.answer.succeed(HTTPAnswer(head: head, body: progress.body, isLast: isLast))
        if isLast { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(HTTPFailure.closed)
        context.fireChannelInactive()
    }

    private func fail(_ error: any Error) {
        progress?.timer.cancel()
        progress?.answer.fail(error)
        progress = nil
    }
}
