import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Answers plain reads of objects where their connection lives: on its event loop, without a task. The only hops are to
/// the broker's thread and back. Every other request goes on to Hummingbird and `HTTPFront.respond`.
///
/// A connection has one request under way: what comes behind a read waits here, and no more is taken from the socket.
final class DirectReader: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let front: HTTPFront
    /// The head of a request that may be answered here, until it is complete.
    private var held: HTTPRequest?
    private var isAsking = false
    /// Requests that went on and have no answer yet. None is answered here before them.
    private var passed = 0
    private var waiting = CircularBuffer<HTTPRequestPart>()
    /// The client's end of the stream, or what is no HTTP, that comes behind a read.
    private var waitingError: (any Error)?
    /// The channel asked for more while a read was under way.
    private var wantsMore = false

    init(_ front: HTTPFront) { self.front = front }

    // MARK: In

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        if isAsking { waiting.append(part) } else { take(part, context) }
    }

    private func take(_ part: HTTPRequestPart, _ context: ChannelHandlerContext) {
        if case .head(let head) = part, passed == 0, front.mayBeDirect(head) {
            held = head
            return
        }
        guard let head = held else { return pass(part, context) }
        held = nil
        if case .end(nil) = part, begin(head, context) { return }
        pass(.head(head), context)
        pass(part, context)
    }

    private func pass(_ part: HTTPRequestPart, _ context: ChannelHandlerContext) {
        if case .head = part { passed += 1 }
        context.fireChannelRead(wrapInboundOut(part))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if isAsking { waitingError = error } else { context.fireErrorCaught(error) }
    }

    /// Reading goes on when the answer is there.
    func read(context: ChannelHandlerContext) {
        if isAsking { wantsMore = true } else { context.read() }
    }

    // MARK: The read

    /// - Returns: whether the request is answered here.
    private func begin(_ head: HTTPRequest, _ context: ChannelHandlerContext) -> Bool {
        guard let exchange = front.direct(head, over: context.channel) else { return false }
        if let answer = front.kept(exchange) {
            send(exchange, answer, context)
            return true
        }
        isAsking = true
        let loop = context.eventLoop
        let bound = NIOLoopBound((reader: self, context: context), eventLoop: loop)
        front.ask(exchange) { reply in
            loop.execute { bound.value.reader.finish(exchange, reply, bound.value.context) }
        }
        return true
    }

    private func finish(_ exchange: DirectExchange, _ reply: DirectRead.Reply, _ context: ChannelHandlerContext) {
        isAsking = false
        guard context.channel.isActive else { return }
        if let answer = front.answer(exchange, reply) {
            send(exchange, answer, context)
        } else {
            pass(.head(exchange.head), context)
            pass(.end(nil), context)
        }
        while !isAsking, let part = waiting.popFirst() { take(part, context) }
        guard !isAsking else { return }
        if let error = waitingError {
            waitingError = nil
            context.fireErrorCaught(error)
        }
        if passed > 0 { context.fireChannelReadComplete() }
        if wantsMore {
            wantsMore = false
            context.read()
        }
    }

    private func send(_ exchange: DirectExchange, _ answer: ParseResponse, _ context: ChannelHandlerContext) {
        let (head, body) = front.finish(exchange, answer)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if let body { context.write(wrapOutboundOut(.body(body)), promise: nil) }
        guard let body, body.readableBytes > CapacitySettings.smallBytes else {
            return context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
        // What it takes of the memory for answers is given back when the client has it; `ConnectionGuard` closes the
        // connection of one that does not take it.
        let hold = exchange.hold
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.whenComplete { _ in withExtendedLifetime(hold) {} }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
    }

    // MARK: Out

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data), passed > 0 { passed -= 1 }
        context.write(data, promise: promise)
    }
}
