import HTTPTypes
import NIOCore

/// Small requests: the event loop drives their machines, asks services and sends the responses. The only hops are to
/// the broker's thread and back.
extension RequestHandler {
    func answerOnLoop(_ request: SmallRequest, _ context: ChannelHandlerContext) {
        guard let front else { return }
        if let file = front.file(for: request) { return send(file, nil, context) }
        // The time in which a body arrived is the client's.
        var exchange = front.begin(
            request.head, URI(request.head.path ?? ""), over: context.channel,
            start: request.body.count > 0 ? .now : request.start)
        if request.body.count > 0 { exchange.machine.received(request.body.bytes) }
        switch exchange.machine.next() {
        case .ask(let message):
            ask(message, front, &exchange, context)
            // The reply comes later, on this event loop.
            self.exchange = consume exchange
        case let action: follow(action, front, exchange, context)
        }
    }

    private func ask(
        _ message: ServiceMessage, _ front: HTTPFront, _ exchange: inout RequestExchange,
        _ context: ChannelHandlerContext
    ) {
        guard let traffic else { return }
        isWorking = true
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        front.ask(message, of: &exchange, over: traffic) { result in
            let (handler, context) = bound.value
            handler.resume(with: result, context)
        }
    }

    private func follow(
        _ action: RequestMachine.Action, _ front: HTTPFront, _ exchange: RequestExchange,
        _ context: ChannelHandlerContext
    ) {
        switch action {
        case .respond(let answer): finish(answer, front, exchange, context)
        case .needsTask(let onLoop): startTask(context, onLoop: onLoop) { await front.complete(exchange) }
        // Cannot happen: the event loop asks one service per request, and `perform` is only for tasks.
        case .ask, .perform: startTask(context, onLoop: false) { await front.complete(exchange) }
        }
    }

    private func finish(
        _ answer: ParseResponse, _ front: HTTPFront, _ exchange: RequestExchange, _ context: ChannelHandlerContext
    ) {
        // A task sends a large response in parts, as the client takes it.
        guard answer.stream == nil, answer.bodyBytes <= HTTPFront.loopAnswerBytesMax,
            !front.compressesSlowly(answer, to: exchange)
        else {
            return startTask(context, onLoop: false) {
                front.outgoing(answer, to: exchange, bytesMax: CapacitySettings.smallBytes)
            }
        }
        let outgoing = front.outgoing(answer, to: exchange, bytesMax: HTTPFront.loopAnswerBytesMax)
        if case .response(let response) = outgoing, case .stream = response.body {
            return startTask(context, onLoop: false) { outgoing }
        }
        send(outgoing, exchange.hold, context)
    }

    /// The service has replied to the present request.
    private func resume(with result: ServiceResult, _ context: ChannelHandlerContext) {
        guard let front, var exchange = self.exchange.take() else { return }
        isWorking = false
        let action = exchange.machine.resume(with: result)
        guard !isClosed, context.channel.isActive else {
            // A change was made, although its client has gone.
            if exchange.head.method != .get, case .respond(let answer) = action { front.count(answer, to: exchange) }
            return leave()
        }
        follow(action, front, exchange, context)
        continueReading(context)
    }

    /// - Parameter hold: the response's share of the memory; nil for a file of the pages, which is always in memory.
    private func send(_ outgoing: OutgoingResponse, _ hold: ByteHold?, _ context: ChannelHandlerContext) {
        var sent: EventLoopPromise<Void>?
        if let hold, outgoing.count > CapacitySettings.smallBytes {
            // Given back when the client has it.
            sent = context.eventLoop.makePromise()
            sent?.futureResult.whenComplete { _ in withExtendedLifetime(hold) {} }
        }
        write(outgoing, sent, context)
        answeredOnLoop(context)
    }

    /// Writes a response that has no stream.
    func write(_ outgoing: OutgoingResponse, _ sent: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        switch outgoing {
        case .bytes(let first, let more):
            outlet.send(first, more, promise: sent) { context.write(wrapOutboundOut(.sent), promise: nil) }
        case .response(let response):
            context.write(wrapOutboundOut(.head(response.head)), promise: nil)
            if case .whole(let buffer) = response.body, buffer.readableBytes > 0 {
                context.write(wrapOutboundOut(.body(buffer)), promise: nil)
            }
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
        }
    }
}

/// A small request, until it is complete.
struct SmallRequest {
    let head: HTTPRequest
    /// The time at which its head arrived.
    let start: ContinuousClock.Instant
    var body: HeldBody

    /// - Parameter bodyBytes: as `HTTPFront.loopBodyBytes` says.
    init(_ head: HTTPRequest, bodyBytes: Int) {
        self.head = head
        start = .now
        body = HeldBody(count: bodyBytes)
    }
}
