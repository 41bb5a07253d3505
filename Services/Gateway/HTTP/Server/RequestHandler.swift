import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// The last of a connection's handlers: has each request answered by a task of its own, one after the other
/// (`RequestLine`).
///
/// It lives on the connection's event loop. The task reads the body through `RequestBody` and answers through
/// `ResponseBodyWriter`. The socket is read as long as what came is taken. A request whose client has gone is worked on
/// to its end: what it changes may be half done.
package final class RequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPRequestPart
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    /// Makes the answer to a request of a connection.
    ///
    /// Throws `HTTPParserError` when the rest of the request is no HTTP, which is answered with 400 and the
    /// connection's end. Anything else ends it without an answer.
    package typealias Respond = @Sendable (_ request: Request, _ connection: any Channel) async throws -> Response

    private let respond: Respond
    private let connections: OpenConnections
    private var place: OpenConnections.Place?
    private var line = RequestLine()
    /// The body of the request that is being answered.
    private var body: RequestBody?
    /// A request whose task begins as soon as there is what came together with it.
    private var beginning: Request?
    /// A task is at work.
    private var isWorking = false
    /// Something of the answer was sent.
    private var hasBegun = false
    /// The answer is written, and the client has yet to take it.
    private var isAwaitingClient = false
    /// The task that waits for room to write.
    private var writing: CheckedContinuation<Void, any Error>?
    /// The channel asked for more while enough was there.
    private var wantsRead = false
    private var isClosed = false

    /// - Parameter connections: to which this one belongs.
    package init(_ connections: OpenConnections, respond: @escaping Respond) {
        self.connections = connections
        self.respond = respond
    }

    // MARK: Life

    package func handlerAdded(context: ChannelHandlerContext) {
        place = connections.enter(context.channel)
        if place == nil { context.close(promise: nil) }
    }

    package func channelInactive(context: ChannelHandlerContext) {
        close()
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) { close() }

    private func close() {
        guard !isClosed else { return }
        isClosed = true
        line.closed()
        beginning = nil
        body?.finish(nil)
        body = nil
        writing?.resume(throwing: ChannelError.ioOnClosedChannel)
        writing = nil
        leave()
    }

    /// A connection is over when nobody works for it any more.
    private func leave() {
        guard isClosed, !isWorking, let place else { return }
        connections.leave(place)
        self.place = nil
    }

    // MARK: In

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        line.arrived(unwrapInboundIn(data))
        goOn(context)
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        start(context)
        context.fireChannelReadComplete()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        line.inputEnded(.failed(error))
        goOn(context)
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event {
            line.inputEnded(.closed)
            goOn(context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    package func read(context: ChannelHandlerContext) {
        wantsRead = true
        readOn(context)
    }

    private func readOn(_ context: ChannelHandlerContext) {
        guard wantsRead, !line.isFull, body?.isFull != true else { return }
        wantsRead = false
        context.read()
    }

    private func goOn(_ context: ChannelHandlerContext) {
        while let action = line.next() { perform(action, context) }
        readOn(context)
    }

    private func perform(_ action: RequestLine.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .begin(let head):
            let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
            let loop = context.eventLoop
            let body = RequestBody {
                loop.execute {
                    let (handler, context) = bound.value
                    if !handler.isClosed { handler.readOn(context) }
                }
            }
            self.body = body
            beginning = Request(head: head, body: body)
        case .body(let part): body?.add(part)
        case .bodyEnds(let error):
            body?.finish(error)
            start(context)
        case .refuse:
            let fields: HTTPFields = [.connection: "close", .contentLength: "0"]
            context.write(wrapOutboundOut(.head(HTTPResponse(status: .badRequest, headerFields: fields))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            context.close(mode: .output, promise: nil)
        case .end: context.close(mode: .output, promise: nil)
        case .close: context.close(promise: nil)
        }
    }

    private func start(_ context: ChannelHandlerContext) {
        guard let request = beginning else { return }
        beginning = nil
        isWorking = true
        hasBegun = false
        let (writer, channel) = (ResponseBodyWriter(self, context), context.channel)
        Task { [respond] in await writer.send { try await respond(request, channel) } }
    }

    // MARK: Out

    /// Begins an answer whose body comes by and by.
    func begin(_ head: HTTPResponsePart, _ context: ChannelHandlerContext) {
        hasBegun = true
        if !isClosed { context.writeAndFlush(wrapOutboundOut(head), promise: nil) }
    }

    /// - Parameter written: resumed when the client has taken most of it.
    func write(
        _ part: ByteBuffer, _ written: CheckedContinuation<Void, any Error>, _ context: ChannelHandlerContext
    ) {
        if !isClosed { context.writeAndFlush(wrapOutboundOut(.body(part)), promise: nil) }
        // Writing may have closed it.
        if isClosed {
            written.resume(throwing: ChannelError.ioOnClosedChannel)
        } else if context.channel.isWritable {
            written.resume()
        } else {
            writing = written
        }
    }

    /// Sends the last parts of an answer, and its end.
    func finish(_ parts: [HTTPResponsePart], _ context: ChannelHandlerContext) {
        isWorking = false
        if !isClosed {
            for part in parts { context.write(wrapOutboundOut(part), promise: nil) }
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
        guard !isClosed else { return leave() }
        // A client that takes no answers gets no further ones.
        isAwaitingClient = !context.channel.isWritable
        if !isAwaitingClient { answered(context) }
    }

    /// There will be no answer, or no more of it.
    func fail(_ error: any Error, _ context: ChannelHandlerContext) {
        isWorking = false
        guard !isClosed else { return leave() }
        body?.drop()
        body = nil
        if let action = line.failed(error, hasBegun: hasBegun) { perform(action, context) }
        goOn(context)
    }

    private func answered(_ context: ChannelHandlerContext) {
        body?.drop()
        body = nil
        if let action = line.answered() { perform(action, context) }
        goOn(context)
        // What came together with the last request begins here.
        start(context)
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
