import HTTPTypes
import NIOCore
import NIOHTTP1
import ParseProtocol

/// Guards one connection: checks the limit on connections, the pace of requests, and that the client reads its
/// responses. Closes the connection when it is idle, and when the gateway stops and all requests are answered
/// (`ConnectionUse`).
///
/// It also answers `Expect: 100-continue`, with which curl and PHP ask whether a large body is welcome (RFC 9110,
/// section 10.1.1); without a response they wait for a second. Every body is welcome: a request is refused after its
/// body, so the connection stays usable.
///
/// The clock runs only while a request or response is incomplete, so a quick request starts no clock. The guard
/// precedes `RequestHandler`, so it sees its responses. It adds `LiveUpgrade` behind itself with the first request for
/// an upgrade, because on all other connections each part would pass that handler in vain.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// Bytes of a body that the server drops after the response: many clients read a response only when they have sent
    /// everything.
    private static let droppedBytesMax = 128 << 20

    /// Seconds in which a client has to read the rest of its response when its connection is to be closed: a supervisor
    /// waits 10 for the whole process.
    private static let leavingSecondsMax = 5

    /// Longer than common clients and proxies keep an idle connection themselves.
    private static let idleMax = TimeAmount.seconds(75)

    private let gate: ConnectionGate
    /// Nil when the handler is in the channel.
    private var makeUpgrade: (() -> LiveUpgrade)?
    private var registration: ConnectionGate.Registration?
    private var pace: RequestPace
    private var clock: RepeatedTask?
    /// Also counts the requests without a response.
    private var use = ConnectionUse(idleMax: idleMax, now: .now())
    private var nextCheck: Scheduled<Void>?
    /// The head of a response was written, but not its end.
    private var isAnswering = false
    /// Whether the server waits for bytes of the client.
    private var isReading = false
    /// The connection is closed as soon as the client has read the written bytes.
    private var isLeaving = false
    private var stalledSeconds = 0
    private var droppedBytes = 0
    /// A head was refused; the next handlers get nothing more of this connection.
    private var isRefused = false

    init(_ gate: ConnectionGate, makeUpgrade: @escaping () -> LiveUpgrade) {
        self.gate = gate
        self.makeUpgrade = makeUpgrade
        pace = RequestPace(
            graceSeconds: gate.settings.graceSeconds, bytesPerSecondMin: gate.settings.bodyBytesPerSecondMin)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        // The bytes of headers are visible only before they are decoded.
        try? context.pipeline.syncOperations.addHandler(ByteWatch(self), position: .first)
        // Fails for a closed connection, over which nothing arrives.
        try? OldClientHandler.add(to: context.pipeline.syncOperations)
        if context.channel.isActive { enter(context) }
        perform(.check(at: use.end), context)
    }

    func channelActive(context: ChannelHandlerContext) {
        enter(context)
        context.fireChannelActive()
    }

    private func enter(_ context: ChannelHandlerContext) {
        guard registration == nil else { return }
        registration = gate.enter(context.channel.remoteAddress)
        if registration == nil { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        nextCheck?.cancel()
        nextCheck = nil
        leave()
    }

    private func leave() {
        clock?.cancel()
        clock = nil
        if let registration { gate.leave(registration) }
        registration = nil
    }

    // MARK: In

    fileprivate func bytesArrived() {
        isReading = false
        pace.bytesArrived()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            guard !isRefused else { return }
            use.headArrived(now: .now())
            droppedBytes = 0
            pace.headArrived()
            if Self.exceedsMarkLimit(head) {
                isRefused = true
                return context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
            }
            // A client that pipelines gets no 100: it would be sent within the response to the earlier request.
            if use.open == 1, head.headerFields[.expect]?.lowercased() == "100-continue" {
                context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
            }
            if use.open == 1, LiveUpgrade.isAsked(by: head), let upgrade = makeUpgrade.take() {
                // Fails for a closed connection, over which nothing is sent.
                try? context.pipeline.syncOperations.addHandler(upgrade(), position: .after(self))
            }
        case .body(let buffer):
            use.bodyArrived(now: .now())
            pace.bodyArrived(buffer.readableBytes)
            if use.open == 0 {
                droppedBytes += buffer.readableBytes
                if droppedBytes > Self.droppedBytesMax { return context.close(promise: nil) }
            }
        case .end:
            use.endArrived(now: .now())
            pace.endArrived()
        }
        if !isRefused { context.fireChannelRead(data) }
    }

    /// Whether a head has a text that is costly to compare or look up (`CombiningMarks`). URLs and headers of HTTP are
    /// ASCII; therefore such a head is refused like invalid HTTP.
    private static func exceedsMarkLimit(_ head: HTTPRequest) -> Bool {
        head.path?.exceedsMarkLimit == true || head.headerFields.contains { $0.value.exceedsMarkLimit }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if pace.isWatching { watch(context) }
        context.fireChannelReadComplete()
    }

    /// A client that closes its side before its response has begun counts as gone, as in nginx: the guard closes the
    /// connection. Its reads are abandoned, its changes are completed.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { return perform(use.ends(), context) }
        if case ChannelEvent.inputClosed = event, use.open > 0, !isAnswering, !pace.isWatching {
            context.close(promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func read(context: ChannelHandlerContext) {
        isReading = true
        context.read()
    }

    // MARK: Out

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head: isAnswering = true
        case .body: break
        case .end, .sent:
            isAnswering = false
            let step = use.answered(now: .now())
            context.write(data, promise: promise)
            if step == .close { context.flush() }
            return perform(step, context)
        }
        context.write(data, promise: promise)
    }

    private func perform(_ step: ConnectionUse.Step, _ context: ChannelHandlerContext) {
        switch step {
        case .goesOn: break
        case .close: close(context: context, mode: .all, promise: nil)
        case .check(let time):
            guard nextCheck == nil else { break }
            let bound = NIOLoopBound(Watched(handler: self, context: context), eventLoop: context.eventLoop)
            nextCheck = context.eventLoop.scheduleTask(deadline: time) {
                let (handler, context) = (bound.value.handler, bound.value.context)
                handler.nextCheck = nil
                handler.perform(handler.use.checked(now: .now()), context)
            }
        }
    }

    /// Delays closing until the socket has taken all written bytes. NIO drops unwritten bytes when it closes a
    /// connection; it also does so when it closes the output of a half-closed one. An empty write completes after all
    /// writes before it.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode != .input, !isAnswering, context.channel.isActive else {
            return context.close(mode: mode, promise: promise)
        }
        isLeaving = true
        context.writeAndFlush(wrapOutboundOut(.body(ByteBuffer()))).assumeIsolated().whenComplete { _ in
            self.isLeaving = false
            context.close(mode: mode, promise: promise)
        }
        if isLeaving { watch(context) }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        stalledSeconds = 0
        if !context.channel.isWritable { watch(context) }
        context.fireChannelWritabilityChanged()
    }

    // MARK: The clock

    private func watch(_ context: ChannelHandlerContext) {
        guard clock == nil, context.channel.isActive else { return }
        let bound = NIOLoopBound(Watched(handler: self, context: context), eventLoop: context.eventLoop)
        clock = context.eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { _ in
            bound.value.handler.secondPassed(bound.value.context)
        }
    }

    private struct Watched {
        let handler: ConnectionGuard
        let context: ChannelHandlerContext
    }

    private func secondPassed(_ context: ChannelHandlerContext) {
        let isStalled = isLeaving || !context.channel.isWritable
        stalledSeconds = isStalled ? stalledSeconds + 1 : 0
        let stallMax = isLeaving ? min(Self.leavingSecondsMax, gate.settings.stallSeconds) : gate.settings.stallSeconds
        if stalledSeconds > stallMax { return context.close(promise: nil) }
        if isReading, pace.secondPassed() == .tooSlow { return refuse(context) }
        guard !isStalled, !pace.isWatching else { return }
        clock?.cancel()
        clock = nil
    }

    /// Closes a connection whose request does not arrive. Sends the reason, unless another response is under way.
    private func refuse(_ context: ChannelHandlerContext) {
        // If an earlier request has no response yet, the client would take the 408 for that response.
        guard use.open == (pace.isInBody ? 1 : 0) else { return context.close(promise: nil) }
        let body = ByteBuffer(bytes: ParseError(.timeout, "The request came too slowly.").body.serialized)
        let fields: HTTPFields = [
            .contentType: "application/json; charset=utf-8", .contentLength: String(body.readableBytes),
            .connection: "close",
        ]
        let head = HTTPResponse(status: .requestTimeout, headerFields: fields)
        for part in [HTTPResponsePart.head(head), .body(body)] {
            context.write(wrapOutboundOut(part), promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenComplete { _ in
            context.close(promise: nil)
        }
    }
}

/// Reports bytes to the guard before they are decoded.
private final class ByteWatch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let handler: ConnectionGuard

    init(_ handler: ConnectionGuard) { self.handler = handler }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        handler.bytesArrived()
        context.fireChannelRead(data)
    }
}
