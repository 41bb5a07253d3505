import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Answers plain reads, changes of single objects, downloads of short files and requests for files of the pages where
/// their connection lives: on its event loop, without a task. The only hops are to the broker's thread and back. Every
/// other request goes on to `RequestHandler` and `HTTPFront.response`.
///
/// A connection has one request under way: what comes behind one that is answered here waits here, and no more is
/// taken from the socket once something does. The same holds for a client that does not take its answers: what it was
/// sent stays as little as its socket holds.
final class DirectHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// Answers from memory in a row, some hundred microseconds: a client that sends thousands of requests at once
    /// leaves the other connections of the loop their turns.
    private static let rowMax = 16
    /// The rest after such a row. A task without a delay would come before what other connections have sent.
    private static let rest = TimeAmount.milliseconds(1)

    /// Room for parts that a quiet connection keeps; thousands of requests at once leave megabytes.
    private static let keptParts = 64

    private let front: HTTPFront
    private let outlet = AnswerOutlet()
    private var traffic: LoopTraffic?
    /// A request that may be answered here, until it is complete.
    private var held: HeldRequest?
    /// A service is asked.
    private var isAsking = false
    /// The client has yet to take what it was sent.
    private var isFull = false
    /// Others have their turn.
    private var isResting = false
    private var answeredInRow = 0
    /// Requests that went on and have no answer yet. None is answered here before them.
    private var passed = 0
    /// The last request that went on with what a service brought.
    private var handedOver: HTTPRequest?
    /// A request that went on is the last one of the connection.
    private var isEnding = false
    private var waiting = CircularBuffer<HTTPRequestPart>()
    /// The client's end of the stream, or what is no HTTP, that comes behind a read.
    private var waitingError: (any Error)?
    /// The channel asked for more while it had to wait.
    private var wantsMore = false

    private var mustWait: Bool { isAsking || isFull || isResting }
    /// Whether the socket may be read. To stop and begin again would be two calls of the kernel for every read, for
    /// clients that send nothing before they have their answer: what others send meanwhile is read once.
    private var mayRead: Bool { !isFull && !isResting && (!isAsking || waiting.isEmpty && waitingError == nil) }

    init(_ front: HTTPFront) { self.front = front }

    func handlerAdded(context: ChannelHandlerContext) {
        traffic = front.traffic(of: context.eventLoop)
        // Fails for a connection that is closed already, over which nothing will be sent.
        try? context.pipeline.syncOperations.addHandler(outlet, position: .first)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        // In case that nobody comes for it any more.
        if let handedOver { _ = front.lookedReads.take(handedOver) }
        handedOver = nil
    }

    // MARK: In

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        if mustWait { waiting.append(part) } else { take(part, context) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        answeredInRow = 0
        context.fireChannelReadComplete()
    }

    private func take(_ part: HTTPRequestPart, _ context: ChannelHandlerContext) {
        if case .head(let head) = part, passed == 0, !isEnding, let bodyBytes = front.directBodyBytes(head) {
            held = HeldRequest(head, bodyBytes: bodyBytes)
            return
        }
        guard var request = held.take() else { return pass(part, context) }
        let step = request.add(part)
        if step == .more {
            held = request
        } else if step == .unfit || !begin(&request, context) {
            for part in request.parts { pass(part, context) }
            pass(part, context)
        }
    }

    private func pass(_ part: HTTPRequestPart, _ context: ChannelHandlerContext) {
        if case .head(let head) = part {
            passed += 1
            if head.headerFields[.connection]?.lowercased() == "close" { isEnding = true }
        }
        context.fireChannelRead(wrapInboundOut(part))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if mustWait { waitingError = error } else { fail(error, context) }
    }

    /// What is held will not be complete: it goes on as far as it came, as a request of the long way would.
    private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
        if let request = held.take() { for part in request.parts { pass(part, context) } }
        context.fireErrorCaught(error)
    }

    /// Reading goes on when nothing stands in line.
    func read(context: ChannelHandlerContext) {
        if mayRead { context.read() } else { wantsMore = true }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        context.fireChannelWritabilityChanged()
        guard isFull, context.channel.isWritable else { return }
        isFull = false
        goOn(context)
    }

    /// Takes what waits, and asks for more when nothing has to wait any longer.
    private func goOn(_ context: ChannelHandlerContext) {
        answeredInRow = 0
        while !mustWait, let part = waiting.popFirst() { take(part, context) }
        guard !mustWait else { return }
        if waiting.capacity > Self.keptParts { waiting = CircularBuffer() }
        if let error = waitingError {
            waitingError = nil
            fail(error, context)
        }
        if passed > 0 { context.fireChannelReadComplete() }
        if wantsMore {
            wantsMore = false
            context.read()
        }
    }

    // MARK: The request

    /// - Returns: whether the request is answered here.
    private func begin(_ request: inout HeldRequest, _ context: ChannelHandlerContext) -> Bool {
        request.body.count == 0 ? read(&request, context) : change(request, context)
    }

    private func read(_ request: inout HeldRequest, _ context: ChannelHandlerContext) -> Bool {
        if let file = front.file(for: request) {
            send(file, nil, context)
            restAfterRow(context)
            return true
        }
        guard let traffic, let (exchange, read) = front.direct(&request, over: context.channel) else { return false }
        switch read {
        case .answer(let answer):
            send(exchange, answer, context)
            restAfterRow(context)
        case .question(let question):
            isAsking = true
            let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
            front.ask(question, of: exchange, over: traffic) { reply in
                let (handler, context) = bound.value
                handler.finish(exchange, question, reply, context)
            }
        }
        return true
    }

    private func finish(
        _ exchange: DirectExchange, _ question: DirectRead.Question, _ reply: DirectRead.Reply,
        _ context: ChannelHandlerContext
    ) {
        isAsking = false
        guard context.channel.isActive else { return }
        switch front.outcome(of: question, reply, to: exchange) {
        case .answer(let answer): send(exchange, answer, context)
        case .handedOver(let read):
            var head = exchange.head
            front.lookedReads.leave(read, with: &head)
            handedOver = head
            pass(.head(head), context)
            pass(.end(nil), context)
        }
        goOn(context)
    }

    private func change(_ request: HeldRequest, _ context: ChannelHandlerContext) -> Bool {
        guard let traffic, let (exchange, change) = front.directChange(request, over: context.channel) else {
            return false
        }
        isAsking = true
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        front.make(change, of: exchange, over: traffic) { answer in
            let (handler, context) = bound.value
            handler.finish(exchange, answer, context)
        }
        return true
    }

    private func finish(_ exchange: DirectExchange, _ answer: ParseResponse, _ context: ChannelHandlerContext) {
        isAsking = false
        // The change was made, whoever hears of it.
        guard context.channel.isActive else { return front.note(answer, to: exchange) }
        send(exchange, answer, context)
        goOn(context)
    }

    private func restAfterRow(_ context: ChannelHandlerContext) {
        answeredInRow += 1
        guard answeredInRow >= Self.rowMax else { return }
        isResting = true
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.rest) {
            let (handler, context) = bound.value
            handler.isResting = false
            if context.channel.isActive { handler.goOn(context) }
        }
    }

    private func send(_ exchange: DirectExchange, _ answer: ParseResponse, _ context: ChannelHandlerContext) {
        send(front.finish(exchange, answer), exchange.hold, context)
    }

    /// - Parameter hold: the memory for answers that it takes; nil for one that is there all the time.
    private func send(_ answer: DirectAnswer, _ hold: ByteHold?, _ context: ChannelHandlerContext) {
        // `ConnectionGuard` closes the connection of a client that goes on taking nothing.
        defer { isFull = !context.channel.isWritable }
        var sent: EventLoopPromise<Void>?
        if let hold, answer.count > CapacitySettings.smallBytes {
            // Given back when the client has it.
            sent = context.eventLoop.makePromise()
            sent?.futureResult.whenComplete { _ in withExtendedLifetime(hold) {} }
        }
        switch answer {
        case .bytes(let first, let more):
            outlet.send(first, more, promise: sent) { context.write(wrapOutboundOut(.end(nil)), promise: nil) }
        case .parts(let head, let body):
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            if let body { context.write(wrapOutboundOut(.body(body)), promise: nil) }
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
        }
    }

    // MARK: Out

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data), passed > 0 { passed -= 1 }
        context.write(data, promise: promise)
    }
}
