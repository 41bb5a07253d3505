import HTTPTypes
import NIOCore

/// The last of a connection's handlers: answers the requests of the connection one after the other
/// (`ConnectionRequests`).
///
/// It lives on the connection's event loop. The loop begins each small request, and answers it if one message to one
/// service is enough; otherwise it hands the request's machine to a task (`RequestHandler+Loop`). Every other request
/// gets a task when the present read is complete. The task also reads the body (`RequestBody`) and answers through
/// `ResponseBodyWriter`. While enough parts wait, the socket is not read. When the client disconnects, the task
/// continues: it completes a change that has begun, and `ServiceClient` refuses its further reads
/// (`ByteHold.isAbandoned`).
package final class RequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPRequestPart
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    /// Makes the response to a request of a connection.
    ///
    /// Throws `HTTPParserError` when the rest of the request is invalid HTTP: the handler answers 400 and closes the
    /// connection. Any other error closes it without a response.
    package typealias Respond = @Sendable (_ request: Request, _ connection: any Channel) async throws -> Response

    /// Nil where tasks answer every request.
    let front: HTTPFront?
    private let respond: @Sendable (Request, any Channel) async throws -> OutgoingResponse
    let outlet = ResponseOutlet()
    private(set) var traffic: LoopTraffic?
    private let connections: OpenConnections
    private var registration: OpenConnections.Registration?
    private var requests = ConnectionRequests()
    /// A small request, until it is complete.
    private var held: SmallRequest?
    /// The request that waits for a service's reply on the event loop.
    var exchange: RequestExchange?
    /// The body of the request that a task answers.
    private var body: RequestBody?
    /// A request whose task starts when all parts of the present read have arrived.
    private var waitingForTask: Request?
    /// A task works for the request, or a service has to reply.
    var isWorking = false
    /// The head of the response was sent.
    private var hasSentHead = false
    /// The response is written, and waits in the connection's buffer for the client.
    private var isAwaitingClient = false
    /// The handler pauses, so that the event loop serves other connections.
    private var isPaused = false
    /// Responses that the event loop made since it last read, paused or received a service's reply.
    private var answeredInRow = 0
    /// The task that waits for room to write.
    private var writing: CheckedContinuation<Void, any Error>?
    /// The channel asked for more while enough parts waited.
    private var wantsRead = false
    private(set) var isClosed = false

    /// The handler pauses after this many responses in a row, about some hundred microseconds of work. Without the
    /// pause, a client that sends thousands of requests would delay all other connections of the event loop.
    private static let rowMax = 16
    /// The pause after such a row. Without a delay the event loop would continue before it reads other connections.
    private static let pause = TimeAmount.milliseconds(1)

    /// Answers every request in a task.
    /// - Parameter connections: the open connections of the server, to which this one is added.
    package convenience init(_ connections: OpenConnections, respond: @escaping Respond) {
        self.init(connections, front: nil) { .response(try await respond($0, $1)) }
    }

    /// Answers small requests on the event loop.
    convenience init(_ connections: OpenConnections, _ front: HTTPFront) {
        self.init(connections, front: front) { request, channel in
            try await front.response(to: request, over: channel)
        }
    }

    private init(
        _ connections: OpenConnections, front: HTTPFront?,
        respond: @escaping @Sendable (Request, any Channel) async throws -> OutgoingResponse
    ) {
        self.connections = connections
        self.front = front
        self.respond = respond
    }

    // MARK: Life

    package func handlerAdded(context: ChannelHandlerContext) {
        registration = connections.enter(context.channel)
        if registration == nil { context.close(promise: nil) }
        guard let front else { return }
        traffic = front.traffic(of: context.eventLoop)
        // Fails for a closed connection, over which nothing will be sent.
        try? context.pipeline.syncOperations.addHandler(outlet, position: .first)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        close()
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) { close() }

    private func close() {
        guard !isClosed else { return }
        isClosed = true
        requests.closed()
        held = nil
        waitingForTask = nil
        body?.finish(nil)
        body = nil
        writing?.resume(throwing: ChannelError.ioOnClosedChannel)
        writing = nil
        leave()
    }

    /// Leaves the open connections when the connection is closed and no task works for it.
    func leave() {
        guard isClosed, !isWorking, let registration else { return }
        connections.leave(registration)
        self.registration = nil
    }

    // MARK: In

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        requests.arrived(unwrapInboundIn(data))
        processParts(context)
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        answeredInRow = 0
        startPreparedTask(context)
        context.fireChannelReadComplete()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        requests.inputEnded(.failed(error))
        processParts(context)
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event {
            requests.inputEnded(.closed)
            processParts(context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    package func read(context: ChannelHandlerContext) {
        wantsRead = true
        readIfAllowed(context)
    }

    private func readIfAllowed(_ context: ChannelHandlerContext) {
        guard wantsRead, !isPaused, !requests.isFull, body?.isFull != true else { return }
        wantsRead = false
        context.read()
    }

    private func processParts(_ context: ChannelHandlerContext) {
        while !isPaused, let action = requests.next() { perform(action, context) }
        readIfAllowed(context)
    }

    private func perform(_ action: ConnectionRequests.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .begin(let head):
            if let bodyBytes = front?.loopBodyBytes(head) {
                held = SmallRequest(head, bodyBytes: bodyBytes)
            } else {
                prepareTask(for: head, context)
            }
        case .body(let part):
            guard let step = held?.body.add(part.readableBytesView) else {
                body?.add(part)
                break
            }
            if step == .mismatch {
                giveUpHeld(context)
                body?.add(part)
            }
        case .bodyEnds(let error): bodyEnds(error, context)
        case .refuse:
            let fields: HTTPFields = [.connection: "close", .contentLength: "0"]
            context.write(wrapOutboundOut(.head(HTTPResponse(status: .badRequest, headerFields: fields))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            context.close(mode: .output, promise: nil)
        case .end: context.close(mode: .output, promise: nil)
        case .close: context.close(promise: nil)
        }
    }

    /// Prepares the body of a request that a task answers. `startPreparedTask` starts the task.
    private func prepareTask(for head: HTTPRequest, _ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        let loop = context.eventLoop
        let body = RequestBody {
            loop.execute {
                let (handler, context) = bound.value
                if !handler.isClosed { handler.readIfAllowed(context) }
            }
        }
        self.body = body
        waitingForTask = Request(head: head, body: body)
    }

    /// If a small request's body does not have the announced length, a task answers it. Does nothing without a small
    /// request.
    private func giveUpHeld(_ context: ChannelHandlerContext) {
        guard let request = held.take() else { return }
        prepareTask(for: request.head, context)
        if !request.body.bytes.isEmpty { body?.add(ByteBuffer(bytes: request.body.bytes)) }
    }

    private func bodyEnds(_ error: (any Error)?, _ context: ChannelHandlerContext) {
        if error == nil, held?.body.ended() == .whole, let request = held.take() {
            answerOnLoop(request, context)
        } else {
            giveUpHeld(context)
            body?.finish(error)
            startPreparedTask(context)
        }
    }

    private func startPreparedTask(_ context: ChannelHandlerContext) {
        guard let request = waitingForTask else { return }
        waitingForTask = nil
        let channel = context.channel
        startTask(context, onLoop: false) { [respond] in try await respond(request, channel) }
    }

    /// Starts the task that answers the present request.
    /// - Parameter onLoop: whether the task runs on the event loop's own thread.
    func startTask(
        _ context: ChannelHandlerContext, onLoop: Bool,
        _ make: @escaping @Sendable () async throws -> OutgoingResponse
    ) {
        isWorking = true
        hasSentHead = false
        let writer = ResponseBodyWriter(self, context)
        if onLoop, let executor = traffic?.executor {
            Task(executorPreference: executor) { await writer.send(make) }
        } else {
            Task { await writer.send(make) }
        }
    }

    // MARK: Out

    /// Sends the head of a response whose body follows in parts.
    func sendHead(_ head: HTTPResponsePart, _ context: ChannelHandlerContext) {
        hasSentHead = true
        if !isClosed { context.writeAndFlush(wrapOutboundOut(head), promise: nil) }
    }

    /// - Parameter written: resumed when the client has taken most of it.
    func write(
        _ part: ByteBuffer, _ written: CheckedContinuation<Void, any Error>, _ context: ChannelHandlerContext
    ) {
        if !isClosed { context.writeAndFlush(wrapOutboundOut(.body(part)), promise: nil) }
        // The write may have closed the connection.
        if isClosed {
            written.resume(throwing: ChannelError.ioOnClosedChannel)
        } else if context.channel.isWritable {
            written.resume()
        } else {
            writing = written
        }
    }

    /// Sends the end of a response whose body was sent in parts.
    func end(_ context: ChannelHandlerContext) {
        finish(context) { context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil) }
    }

    /// Sends the last bytes of a response by `write`.
    func finish(_ context: ChannelHandlerContext, _ write: () -> Void) {
        isWorking = false
        if !isClosed { write() }
        guard !isClosed else { return leave() }
        // A client that does not read its responses gets no further ones.
        isAwaitingClient = !context.channel.isWritable
        if !isAwaitingClient { answered(context) }
    }

    /// The task failed. Before the head was sent the client may still get 400; otherwise the connection is closed.
    func fail(_ error: any Error, _ context: ChannelHandlerContext) {
        isWorking = false
        guard !isClosed else { return leave() }
        body?.drop()
        body = nil
        if let action = requests.failed(error, hasSentHead: hasSentHead) { perform(action, context) }
        processParts(context)
    }

    private func answered(_ context: ChannelHandlerContext) {
        body?.drop()
        body = nil
        if let action = requests.answered() { perform(action, context) }
        processParts(context)
        // The next pipelined request.
        startPreparedTask(context)
    }

    /// The event loop has sent the response to the present request.
    func answeredOnLoop(_ context: ChannelHandlerContext) {
        // `ConnectionGuard` closes the connection of a client that reads nothing.
        isAwaitingClient = !isClosed && !context.channel.isWritable
        if !isAwaitingClient, let action = requests.answered() { perform(action, context) }
        answeredInRow += 1
        guard answeredInRow >= Self.rowMax, !isPaused else { return }
        isPaused = true
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.pause) {
            let (handler, context) = bound.value
            handler.isPaused = false
            if !handler.isClosed { handler.continueReading(context) }
        }
    }

    /// Processes the parts that have arrived while a service replied or the handler paused.
    func continueReading(_ context: ChannelHandlerContext) {
        answeredInRow = 0
        processParts(context)
        startPreparedTask(context)
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, !isClosed {
            writing?.resume()
            writing = nil
            if isAwaitingClient {
                isAwaitingClient = false
                answered(context)
            }
        }
        context.fireChannelWritabilityChanged()
    }
}
